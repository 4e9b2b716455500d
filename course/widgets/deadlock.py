"""The deadlock widget: who waits for whom, at which line, and the calls that led there.

from course.widgets import deadlock

run = launch(swap, 2)
deadlock.show(run)
deadlock.draw_deadlock(run)      # the end of it as one picture, without a widget
"""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from course.ranks.markup import brief
from course.ranks.outcome import Run
from course.widgets.controls import Pictures, View, step_through
from course.widgets.style import ALARM, INK, MUTED, Picture, draw_arrow, rank_colour
from course.widgets.waiting import GONE, WAITS, Moment, moments, sentences

__all__ = ["draw_deadlock", "moments", "show"]

_NODE = 0.24  # radius; the ranks stand on a circle of radius 1


def show(run: Run) -> View:
    """Step through a run's calls, up to the state in which it ended.

    Args:
        run: what ``launch`` returned, also one that was no deadlock.
    """
    found = moments(run)
    return step_through(
        Pictures(
            count=len(found),
            draw=lambda step: _draw(found, step),
            describe=lambda step: describe(found, step),
            whole=lambda: _draw(found, len(found) - 1),
            text=describe(found, len(found) - 1),
            start=len(found) - 1,
            name="call",
            numbered=False,
        )
    )


def draw_deadlock(run: Run, step: int | None = None) -> Picture:
    """Ranks, and an arrow from each that waits to those it waits for; red where in a circle.

    Args:
        run: what ``launch`` returned.
        step: the moment, from 0 to ``len(moments(run)) - 1``; the end of the run if None.
    """
    found = moments(run)
    return _draw(found, len(found) - 1 if step is None else step)


def describe(found: list[Moment], step: int) -> str:
    """A moment in words."""
    moment = found[step]
    return f"{_title(found, step)}. {' '.join(sentences(moment))}"


def _title(found: list[Moment], step: int) -> str:
    moment = found[step]
    if moment.rank is None:
        return "How it ended" if len(found) > 1 else "How it ended; no call was made"
    return f"Call {step + 1} of {len(found) - 1}: {moment.what}"


# --------------------------------------------------------------------------------- drawing


def _draw(found: list[Moment], step: int) -> Picture:
    if not 0 <= step < len(found):
        raise ValueError(f"step is {step}; this run has steps 0 to {len(found) - 1}.")
    moment = found[step]
    n = len(moment.stands)
    height = max(2.3, 0.4 + 0.52 * n)
    figure = Picture(figsize=(8.6, height), layout="constrained")
    side = min(height, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=[side, 8.6 - side])
    _ranks_and_arrows(left, moment)
    _lines(right, moment, n)
    figure.suptitle(
        brief(_title(found, step), 90), x=0.01, ha="left", fontsize=11, parse_math=False
    )
    return figure


def place_of(rank: int, n: int) -> tuple[float, float]:
    """Where a rank stands: two side by side, more on a circle, clockwise from the top."""
    if n == 1:
        return 0.0, 0.0
    angle = math.pi if n == 2 else math.pi / 2
    angle -= 2 * math.pi * rank / n
    return math.cos(angle), math.sin(angle)


def _ranks_and_arrows(axes: Axes, moment: Moment) -> None:
    n, circle = len(moment.stands), moment.circle
    round_it = set(zip(circle, [*circle[1:], *circle[:1]], strict=True))
    edges = moment.edges
    for who, whom in edges:
        in_circle = (who, whom) in round_it
        bend = 0.28 if (whom, who) in edges else 0.0
        tail, head = _between(place_of(who, n), place_of(whom, n), bend)
        draw_arrow(
            axes,
            tail,
            head,
            color=ALARM if in_circle else INK,
            linewidth=2.4 if in_circle else 1.1,
            mutation_scale=16 if in_circle else 11,
            connectionstyle=f"arc3,rad={bend}",
        )
    for stand in moment.stands:
        x, y = place_of(stand.rank, n)
        colour, gone = rank_colour(stand.rank), stand.state == GONE
        face = "white" if gone else colour
        axes.add_patch(
            Circle(
                (x, y), _NODE, facecolor=face, edgecolor=colour, linewidth=1.8,
                linestyle="--" if gone else "-", zorder=3,
            )
        )  # fmt: skip
        ink = colour if gone else "white"
        axes.text(
            x, y, str(stand.rank), ha="center", va="center", color=ink, fontweight="bold", zorder=4
        )
    room = 1 + _NODE + 0.06
    axes.set_xlim(-room, room)
    axes.set_ylim(-room, room)
    axes.set_aspect("equal")
    axes.axis("off")


def _between(
    one: tuple[float, float], other: tuple[float, float], bend: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """From the edge of one rank's disc to the edge of the other's, on the side of the bend."""
    angle = math.atan2(other[1] - one[1], other[0] - one[0])
    out, back, far = angle - 2 * bend, angle + math.pi + 2 * bend, _NODE + 0.05
    return (
        (one[0] + far * math.cos(out), one[1] + far * math.sin(out)),
        (other[0] + far * math.cos(back), other[1] + far * math.sin(back)),
    )


def _lines(axes: Axes, moment: Moment, n: int) -> None:
    """A row for each rank: what it does, and the line of code at which it does it."""
    for stand in moment.stands:
        colour = rank_colour(stand.rank)
        muted = stand.state != WAITS
        axes.text(0, stand.rank, f"rank {stand.rank}", color=colour, fontweight="bold")
        axes.text(
            0.13, stand.rank, brief(stand.note, 70), color=MUTED if muted else INK,
            fontsize=10, parse_math=False,
        )  # fmt: skip
        if stand.line:
            code = brief(stand.code, 58)
            axes.text(
                0.13, stand.rank + 0.36, f"line {stand.line}  {code}".rstrip(), color=MUTED,
                fontsize=8.5, family="monospace", parse_math=False,
            )  # fmt: skip
    axes.set_xlim(0, 1)
    spare = max(0.0, (2.3 - 0.4) / 0.52 - n) / 2  # few ranks: in the middle of the picture
    axes.set_ylim(n - 0.4 + spare, -0.5 - spare)
    axes.axis("off")
