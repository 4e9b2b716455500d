"""A picture of what each collective does: what the ranks hold before and afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.widgets.style import EMPTY, INK, MUTED, Picture, draw_arrow, paler, rank_colour

Slot = tuple[str, int | None]  # what is written in a square, and whose it is; None: a sum


@dataclass(frozen=True)
class _Plan:
    """A collective on n ranks: the squares of each rank before and afterwards."""

    name: str
    before: list[list[Slot]]
    after: list[list[Slot]]


def draw_collectives(n: int = 3) -> Picture:
    """Broadcast, all-gather, all-reduce, reduce-scatter and all-to-all, before and after.

    A row is a rank, a square a tensor: A is rank 0's, B rank 1's; A1 is its chunk 1. A Σ is a
    sum over all ranks. A square's colour says whose numbers are in it.
    """
    figure = Picture(figsize=(9, 1.1 + 0.92 * n), layout="constrained")
    panels = figure.subplots(2, 3)
    for axes, plan in zip(panels.flat, _plans(n), strict=False):
        _draw(axes, plan)
    panels.flat[-1].set_visible(False)
    return figure


def _plans(n: int) -> list[_Plan]:
    names = [chr(ord("A") + rank) for rank in range(n)]
    nothing: list[Slot] = []
    own: list[list[Slot]] = [[(names[r], r)] for r in range(n)]
    chunks: list[list[Slot]] = [[(f"{names[r]}{i}", r) for i in range(n)] for r in range(n)]
    return [
        _Plan("broadcast (from rank 0)", [own[0], *[nothing] * (n - 1)], [own[0]] * n),
        _Plan("all_reduce", own, [[("Σ", None)]] * n),
        _Plan("all_gather", own, [[slot for row in own for slot in row]] * n),
        _Plan("reduce_scatter", chunks, [[(f"Σ{r}", None)] for r in range(n)]),
        _Plan("all_to_all", chunks, [[chunks[i][r] for i in range(n)] for r in range(n)]),
    ]


def _draw(axes: Axes, plan: _Plan) -> None:
    n = len(plan.before)
    width = max(1, *(len(row) for row in plan.before))
    for left, rows in ((0.0, plan.before), (width + 1.4, plan.after)):
        for rank, row in enumerate(rows):
            for i in range(max(1, len(row))):
                _square(axes, left + i, rank, row[i] if row else None)
    draw_arrow(axes, (width + 0.3, n / 2), (width + 1.1, n / 2))
    axes.set_title(plan.name, fontsize=10, loc="left")
    axes.set_xlim(0, 2 * n + 1.4)
    axes.set_ylim(n, 0)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([r + 0.5 for r in range(n)], [f"rank {r}" for r in range(n)], fontsize=8)
    for rank, label in enumerate(axes.get_yticklabels()):
        label.set_color(rank_colour(rank))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _square(axes: Axes, x: float, y: float, slot: Slot | None) -> None:
    text, owner = slot or ("", None)
    colour = EMPTY if slot is None else MUTED if owner is None else rank_colour(owner)
    face = EMPTY if slot is None else paler(colour, 0.7)
    axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, facecolor=face, edgecolor="none"))
    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9, color=INK)
