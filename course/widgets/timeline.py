"""The timeline widget: what each rank computed and exchanged, and when.

from course.widgets.timeline import draw_timeline, show_buckets

show_buckets(BucketedDDP)        # bucket size and overlap can be moved; each change is measured
draw_timeline(timeline(run))     # one picture of a recording
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes

from course.measure.ddp_step import Setting, record_step
from course.measure.timeline import COMMUNICATION, Shares, Span, exposed, joined, shares, timeline
from course.ranks.outcome import Run
from course.widgets.controls import View, caption_html, picture_box, set_picture
from course.widgets.style import INK, LINE, MUTED, Picture, png

FORWARD, BACKWARD, EXCHANGE = "#9cc4e4", "#2a78b5", "#d1730f"
_LANE = 0.36  # of the distance between two ranks
_COLOURS = {"forward": FORWARD, "backward": BACKWARD, "exchange of gradients": EXCHANGE}
BUCKETS_MB = (0.1, 0.6, 1.2, 2.4, 25.0)  # each makes another number of messages
SETTING = Setting()


def show_buckets(
    ddp: Callable[..., Any],
    sizes: Sequence[float] = BUCKETS_MB,
    start: float = 0.6,
    setting: Setting = SETTING,
) -> View | Run:
    """Move the bucket size, switch overlap on and off, and see a step of your own DDP.

    Each change trains on real ranks and takes well under a second. Without overlap the same
    messages are sent, but take the link only when they are waited for.

    Args:
        ddp: ``ddp(model, bucket_mb)``, as the exercise ``BucketedDDP`` asks for.
        sizes: bucket sizes to choose from, in MB of 1024 × 1024 bytes; ``start`` among them.
        setting: the model and the pretended link.

    Returns:
        The widget; or the run, which says what is wrong, if the first one failed.
    """
    first = dataclasses.replace(setting, bucket_mb=start)
    run = record_step(ddp, first)
    if not run.ok:
        return run
    spans = timeline(run)
    text = describe_step(first, spans)
    return View(_buckets_widget(ddp, sizes, first, spans), lambda: draw_step(first, spans), text)


def _buckets_widget(
    ddp: Callable[..., Any], sizes: Sequence[float], first: Setting, spans: Sequence[Span]
) -> Any:
    try:
        import ipywidgets
    except ImportError:
        return None
    size = ipywidgets.SelectionSlider(
        options=[(f"{mb:g} MB", mb) for mb in sizes],
        value=first.bucket_mb,
        description="bucket_mb",
        continuous_update=False,
    )
    overlap = ipywidgets.Checkbox(value=True, description="overlap", indent=False)
    image, caption = picture_box(), ipywidgets.HTML()

    def show(setting: Setting, spans: Sequence[Span]) -> None:
        set_picture(image, png(draw_step(setting, spans)))
        caption.value = caption_html(describe_step(setting, spans))

    def measure(_: Any) -> None:
        setting = dataclasses.replace(first, bucket_mb=size.value, overlap=overlap.value)
        run = record_step(ddp, setting)
        if run.ok:
            show(setting, timeline(run))
        else:
            caption.value = caption_html(str(run.failure))

    size.observe(measure, "value")
    overlap.observe(measure, "value")
    show(first, spans)
    return ipywidgets.VBox([ipywidgets.HBox([size, overlap]), image, caption])


def draw_step(setting: Setting, spans: Sequence[Span]) -> Picture:
    """A recorded step with its setting in the title."""
    figure = Picture(figsize=(9, 1.15 + 0.62 * setting.ranks), layout="constrained")
    axes = figure.subplots()
    draw_spans(axes, spans)
    how = "overlap" if setting.overlap else "no overlap"
    _title(axes, f"buckets of {setting.bucket_mb:g} MB, {how}")
    return figure


def describe_step(setting: Setting, spans: Sequence[Span]) -> str:
    """The milliseconds of communication, in words; of the rank that took longest."""
    of_ranks = [shares(spans, rank) for rank in range(setting.ranks)]
    rank = max(range(setting.ranks), key=lambda r: of_ranks[r].seconds)
    slowest: Shares = of_ranks[rank]
    link, alone = (
        part * slowest.seconds * 1e3 for part in (slowest.communication, slowest.exposed)
    )
    sent = [s for s in spans if s.rank == 0 and s.kind == COMMUNICATION]
    messages = "1 message" if len(sent) == 1 else f"{len(sent)} messages"
    return (
        f"The step took {slowest.seconds * 1e3:.0f} ms on rank {rank}. For {link:.0f} ms of it "
        f"gradients were on the link ({messages}, {sum(s.bytes for s in sent) / 2**20:.1f} MB from "
        f"each rank), and for {alone:.0f} ms rank {rank} computed nothing meanwhile: that is "
        "exposed communication."
    )


def draw_timeline(
    spans: Sequence[Span], title: str = "", milliseconds: float | None = None
) -> Picture:
    """Two lanes for each rank: computation above, communication below.

    ``milliseconds`` is where the axis ends, to make several pictures comparable.
    """
    ranks = 1 + max((span.rank for span in spans), default=0)
    figure = Picture(figsize=(9, 1.15 + 0.62 * ranks), layout="constrained")
    axes = figure.subplots()
    draw_spans(axes, spans, milliseconds)
    _title(axes, title)
    return figure


def _title(axes: Axes, text: str) -> None:
    """Above the legend, which stands above the picture."""
    axes.set_title(text, loc="left", fontsize=11, pad=22)


def draw_spans(axes: Axes, spans: Sequence[Span], milliseconds: float | None = None) -> None:
    """The same, into axes that are there."""
    ranks = 1 + max((span.rank for span in spans), default=0)
    end = milliseconds or 1.02e3 * max((span.end for span in spans), default=1e-3)
    spans = joined(spans)
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
    for span in _widest(spans):
        text = span.label.removeprefix("forward ").removeprefix("backward ")
        if span.kind != COMMUNICATION and span.seconds * 1e3 > end * (0.012 + 0.009 * len(text)):
            middle = (span.begin + span.end) / 2e-3
            colour = INK if _kind(span) == "forward" else "white"
            axes.text(middle, _lane(span), text, ha="center", va="center", fontsize=7, color=colour)
    for rank in range(ranks):
        last = max((span.end for span in spans if span.rank == rank), default=0.0)
        text = f"{exposed(spans, rank) * 1e3:.0f} ms of exchange alone"
        axes.annotate(
            text, (last * 1e3, rank), (6, 0), textcoords="offset points", va="center", fontsize=8,
            color=MUTED, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.set_xlim(0, end * 1.18)
    axes.set_xlabel("milliseconds")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", left=False)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize=8,
        borderpad=0.2, borderaxespad=0.0, columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip


def _widest(spans: Sequence[Span]) -> list[Span]:
    """Of the stretches that have one label on one rank, the longest."""
    widest: dict[tuple[int, str], Span] = {}
    for span in spans:
        key = span.rank, span.label
        if key not in widest or span.seconds > widest[key].seconds:
            widest[key] = span
    return list(widest.values())


def _kind(span: Span) -> str:
    if span.kind == COMMUNICATION:
        return "exchange of gradients"
    return "forward" if span.label.startswith("forward") else "backward"


def _lane(span: Span) -> float:
    return span.rank + (0.5 if span.kind == COMMUNICATION else -0.5) * _LANE
