"""Pictures of messages: a recorded run over time, and the plan of a ring all-reduce."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle

from course.measure.messages import RECEIVES, SENDS, messages
from course.ranks.outcome import Call, Run
from course.widgets.style import INK, LINE, Picture

SEND, RECEIVE = "#d1730f", "#2a78b5"
COMPLETE, PARTIAL = "#bfe3c2", "#f4f4f4"


def draw_messages(run: Run, title: str = "") -> Picture:
    """A run's point-to-point messages over time: a line a rank, an arrow a message.

    Bars are the time that a rank spent inside a call; a call that never came back is hatched
    to the end of the run. Calls that are no part of a message are left out.
    """
    figure = Picture(figsize=(9, 1 + 0.5 * len(run)), layout="constrained")
    axes = figure.subplots()
    calls = [call for outcome in run for call in outcome.calls if _kind(call)]
    start = min((call.begin for call in calls), default=0.0)
    end = max((call.end or call.begin for call in calls), default=0.0)
    if any(call.end is None for call in calls):
        end = max(end, *(outcome.ended for outcome in run))
    drawn: set[str] = set()
    for outcome in run:
        axes.axhline(outcome.rank, color=LINE, linewidth=1, zorder=0)
        for call in filter(_kind, outcome.calls):
            kind = _kind(call)
            label = f"in {kind}" if call.end is not None else f"in {kind},\nfor ever"
            axes.barh(
                outcome.rank,
                ((end if call.end is None else call.end) - call.begin) * 1e3,
                left=(call.begin - start) * 1e3,
                height=0.34,
                color=SEND if kind == "send" else RECEIVE,
                alpha=0.6,
                hatch="////" if call.end is None else None,
                edgecolor="white",
                linewidth=0,
                label=label if label not in drawn else "",
            )
            drawn.add(label)
    for message in messages(run):
        leaves = max(message.sent.call.begin, message.received.call.begin)
        _draw_arrow(
            axes,
            ((leaves - start) * 1e3, message.source),
            ((min(message.received.done, end) - start) * 1e3, message.target),
        )
    axes.set_yticks(range(len(run)), [f"rank {rank}" for rank in range(len(run))])
    axes.set_ylim(len(run) - 0.5, -0.5)
    axes.set_xlabel("milliseconds since the first call")
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    if drawn:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return figure


def draw_ring_plan(n: int = 4) -> Picture:
    """What each rank's chunks hold in the course of a ring all-reduce.

    The numbers in a square are the ranks whose contributions are summed in it; green squares
    are complete. Arrows show what is sent in the step that follows, always to the next rank.
    """
    figure = Picture(figsize=(2.25 * n, 1.35 * n), layout=ConstrainedLayoutEngine(h_pad=0.08))
    panels = figure.subplots(2, n, squeeze=False)
    boards = list(_ring_boards(n))
    places = [*panels[0], *panels[1][: len(boards) - n]]
    for number, (axes, (title, holds, leaving)) in enumerate(zip(places, boards, strict=True)):
        for rank, row in enumerate(holds):
            for chunk, ranks in enumerate(row):
                colour = COMPLETE if len(ranks) == n else PARTIAL
                axes.add_patch(Rectangle((chunk, rank), 1, 1, facecolor=colour, edgecolor="white"))
                text = "+".join(str(r) for r in sorted(ranks)) if len(ranks) < n else "all"
                axes.text(chunk + 0.5, rank + 0.45, text, ha="center", va="center", fontsize=8)
        for rank, chunk in enumerate(leaving):
            _draw_arrow(axes, (chunk + 0.5, rank + 0.66), (chunk + 0.5, rank + 1.2))
        axes.set_title(title, fontsize=10)
        axes.set_xlim(0, n)
        axes.set_ylim(n + 0.25, 0)
        axes.set_aspect("equal")
        axes.set_xticks([chunk + 0.5 for chunk in range(n)], [f"chunk {c}" for c in range(n)])
        axes.tick_params(length=0, labelsize=7)
        names = [f"rank {rank}" for rank in range(n)] if number % n == 0 else []
        axes.set_yticks([rank + 0.5 for rank in range(len(names))], names, fontsize=9)
        axes.spines[:].set_visible(False)
    for axes in panels[1][len(boards) - n :]:
        axes.set_visible(False)
    return figure


def _ring_boards(n: int) -> Iterator[tuple[str, list[list[set[int]]], list[int]]]:
    """After each step: a title, whose numbers each rank's chunks hold, and what leaves next."""
    holds = [[{rank} for _ in range(n)] for rank in range(n)]
    for step in range(2 * n - 1):
        leaving = [(rank - step) % n for rank in range(n)] if step < 2 * (n - 1) else []
        yield f"after step {step}" if step else "at the start", holds, leaving
        arrived = [[set(ranks) for ranks in row] for row in holds]
        for rank, chunk in enumerate(leaving):
            to = (rank + 1) % n
            arrived[to][chunk] = holds[rank][chunk] | (holds[to][chunk] if step < n - 1 else set())
        holds = arrived


def _kind(call: Call) -> str:
    """``send`` or ``recv`` for a call that is part of a message, also for a wait on one."""
    name = call.waits_for or call.op
    return "send" if name in SENDS else "recv" if name in RECEIVES else ""


def _draw_arrow(axes: Axes, tail: tuple[float, float], head: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
    axes.annotate("", xy=head, xytext=tail, arrowprops=style)
