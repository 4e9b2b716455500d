"""Picture of a timeline: what each rank computed and exchanged, and when."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course.measure.timeline import COMMUNICATION, Span, exposed
from course.widgets.style import INK, LINE, MUTED

FORWARD, BACKWARD, EXCHANGE = "#9cc4e4", "#2a78b5", "#d1730f"
_LANE = 0.36  # of the distance between two ranks
_COLOURS = {"forward": FORWARD, "backward": BACKWARD, "exchange of gradients": EXCHANGE}


def draw_timeline(
    spans: Sequence[Span], title: str = "", milliseconds: float | None = None
) -> Figure:
    """Two lanes for each rank: computation above, communication below.

    ``milliseconds`` is where the axis ends, to make several pictures comparable.
    """
    ranks = 1 + max((span.rank for span in spans), default=0)
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.62 * ranks), layout="constrained")
    draw_spans(axes, spans, milliseconds)
    axes.set_title(title, loc="left", fontsize=11)
    return figure


def draw_spans(axes: Axes, spans: Sequence[Span], milliseconds: float | None = None) -> None:
    """The same, into axes that are there."""
    ranks = 1 + max((span.rank for span in spans), default=0)
    end = milliseconds or 1.02e3 * max((span.end for span in spans), default=1e-3)
    for rank in range(ranks):
        axes.axhline(rank, color=LINE, linewidth=0.5, zorder=0)
    for name, colour in _COLOURS.items():
        part = [span for span in spans if _kind(span) == name]
        axes.barh(
            [_lane(span) for span in part],
            [span.seconds * 1e3 for span in part],
            left=[span.begin * 1e3 for span in part],
            height=_LANE,
            color=colour,
            edgecolor="white",
            linewidth=0.6,
            label=name,
        )
    for span in spans:
        text = span.label.removeprefix("forward ").removeprefix("backward ")
        if span.kind != COMMUNICATION and span.seconds * 1e3 > end * (0.012 + 0.009 * len(text)):
            middle = (span.begin + span.end) / 2e-3
            colour = INK if _kind(span) == "forward" else "white"
            axes.text(middle, _lane(span), text, ha="center", va="center", fontsize=7, color=colour)
    for rank in range(ranks):
        last = max((span.end for span in spans if span.rank == rank), default=0.0)
        text = f"  {exposed(spans, rank) * 1e3:.0f} ms of exchange alone"
        axes.text(last * 1e3, rank, text, va="center", fontsize=8, color=MUTED)
    axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.set_xlim(0, end * 1.18)
    axes.set_xlabel("milliseconds")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", left=False)
    axes.legend(loc="lower left", bbox_to_anchor=(0.35, 1.0), ncols=3, frameon=False, fontsize=8)


def _kind(span: Span) -> str:
    if span.kind == COMMUNICATION:
        return "exchange of gradients"
    return "forward" if span.label.startswith("forward") else "backward"


def _lane(span: Span) -> float:
    return span.rank + (0.5 if span.kind == COMMUNICATION else -0.5) * _LANE
