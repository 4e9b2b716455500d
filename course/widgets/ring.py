"""The ring widget: chunks on their way through a learner's own all-reduce.

from course.widgets import ring

ring.show(ring_all_reduce)               # 4 ranks, step by step
recording = ring.record(ring_all_reduce, ranks=3, size=10)
ring.draw_ring(recording, step=2)        # one picture, without a widget
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.ranks.outcome import Run
from course.widgets.controls import Pictures, View, step_through
from course.widgets.ring_recording import (
    ADDED,
    IGNORED,
    REPLACED,
    Holds,
    Recording,
    Travel,
    is_complete,
    record,
)
from course.widgets.style import (
    ALARM,
    EMPTY,
    INK,
    MUTED,
    Picture,
    draw_arrow,
    name_ranks,
    rank_colour,
)

__all__ = ["Recording", "draw_ring", "record", "show"]

_ROW = 1.0  # from one rank to the next; a square is lower, so that arrows have room
_SQUARE = 0.56
_STUB = 0.3  # of the arrows that go round from the last rank to the first


def show(
    ring: Callable[..., Any] | Recording, ranks: int = 4, size: int | None = None
) -> View | Run:
    """Step through an all-reduce: which chunk goes where, and whose numbers are in it.

    Args:
        ring: the function, which is run on real ranks and recorded; or a recording of it.
        ranks, size: as for :func:`record`.

    Returns:
        The widget; or the run, which says what is wrong, if it failed.
    """
    recording = ring if isinstance(ring, Recording) else record(ring, ranks, size)
    if not recording.run.ok:
        return recording.run
    return step_through(
        Pictures(
            count=recording.steps + 1,
            draw=lambda step: _one(recording, step),
            describe=lambda step: describe(recording, step),
            whole=lambda: _all(recording),
            text=describe(recording, recording.steps),
        )
    )


def draw_ring(recording: Recording, step: int | None = None) -> Picture:
    """What every rank holds after a step, and the chunks that travelled in it.

    A square is one rank's copy of one chunk. In it there is a place for each rank, filled with
    its colour and number when its numbers are in the sum. Outlined squares have just changed.

    Args:
        recording: of an all-reduce.
        step: 0 (the start) to ``recording.steps``. All of them, in small, if None.
    """
    if step is None:
        return _all(recording)
    return _one(recording, step)


def describe(recording: Recording, step: int) -> str:
    """A step in words."""
    squares = recording.ranks * len(recording.chunks)
    complete = f"{recording.complete(step)} of {squares} squares hold the whole sum."
    if not recording.steps:
        why = "nothing to send" if recording.ranks == 1 else "no send was recorded"
        return f"No message travelled: {why}. {complete}"
    if step == 0:
        return f"At the start every rank holds its own numbers. {recording.steps} steps follow."
    travels = recording.travels[step - 1]
    effects = [t.effect for t in travels]
    what = {ADDED: "added to", REPLACED: "written over", IGNORED: "not put into"}
    does = " or ".join(what[e] for e in what if e in effects)
    chunks = "1 chunk travels" if len(travels) == 1 else f"{len(travels)} chunks travel"
    lines = _lines([t.sent_at for t in travels], [t.received_at for t in travels])
    used = f" and {'is' if len(travels) == 1 else 'are'} {does} what was there" if does else ""
    return f"Step {step} of {recording.steps}: {chunks}{used}{lines}. {complete}"


def _lines(sent: Sequence[int | None], received: Sequence[int | None]) -> str:
    def text(lines: Sequence[int | None]) -> str:
        known = sorted({line for line in lines if line is not None})
        return f"line{'s' * (len(known) > 1)} {', '.join(map(str, known))}" if known else ""

    parts = [
        (f"sent at {text(sent)}", text(sent)),
        (f"received at {text(received)}", text(received)),
    ]
    said = ", ".join(part for part, known in parts if known)
    return f" ({said})" if said else ""


# --------------------------------------------------------------------------------- drawing


def _one(recording: Recording, step: int) -> Picture:
    if not 0 <= step <= recording.steps:
        raise ValueError(f"step is {step}; this recording has steps 0 to {recording.steps}.")
    n = recording.ranks
    figure = Picture(figsize=(7.5, 1.1 + 0.72 * n), layout="constrained")
    axes = figure.subplots()
    _paint(axes, recording, step, large=True)
    name_ranks(axes, n, [_ROW * rank + _SQUARE / 2 for rank in range(n)])
    for rank, sent in enumerate(recording.bytes_sent[step]):
        at = (recording.size * 1.02, _ROW * rank + _SQUARE / 2)
        text = f"{sent / recording.tensor_bytes:.2f} × tensor"
        axes.annotate(text, at, va="center", fontsize=9, color=INK, annotation_clip=False)
    top = (recording.size * 1.02, -0.18)
    axes.annotate("sent so far", top, va="center", fontsize=9, color=MUTED, annotation_clip=False)
    axes.set_xlim(0, recording.size * 1.2)
    return figure


def _all(recording: Recording) -> Picture:
    n, boards = recording.ranks, recording.steps + 1
    columns = min(boards, 4)
    rows = -(-boards // columns)
    figure = Picture(figsize=(2.35 * columns, rows * (0.6 + 0.36 * n)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for step, axes in enumerate(panels):
        axes.set_visible(step < boards)
        if step < boards:
            _paint(axes, recording, step, large=False)
            axes.set_yticks([])
            if step % columns == 0:
                name_ranks(axes, n, [_ROW * rank + _SQUARE / 2 for rank in range(n)])
    return figure


def _paint(axes: Axes, recording: Recording, step: int, large: bool) -> None:
    n = recording.ranks
    travels = recording.travels[step - 1] if step else ()
    changed = {(t.target, t.chunk) for t in travels if t.effect != IGNORED}
    for rank, row in enumerate(recording.boards[step]):
        for c, held in enumerate(row):
            chunk = recording.chunks[c]
            _square(axes, chunk, rank, held, n, large)
            if (rank, c) in changed:
                _outline(axes, chunk, rank)
    for travel in travels:
        _travel(axes, recording, travel, large)
    name = f"after step {step} of {recording.steps}" if step else "at the start"
    axes.set_title(name, fontsize=11 if large else 9, loc="left" if large else "center")
    axes.set_xlim(0, recording.size)
    axes.set_ylim(_ROW * (n - 1) + _SQUARE + _STUB + 0.08, -_STUB - 0.08)
    middles = [(chunk.start + chunk.stop) / 2 for chunk in recording.chunks]
    axes.set_xticks(middles, [f"chunk {c}" if large else str(c) for c in range(len(middles))])
    axes.tick_params(axis="both", length=0, labelsize=9 if large else 7)
    axes.spines[:].set_visible(False)


def _square(axes: Axes, chunk: range, rank: int, held: Holds, n: int, large: bool) -> None:
    """A chunk on a rank: a place for each rank whose numbers may be in it."""
    left, width, top = chunk.start + _gap(chunk), len(chunk) - 2 * _gap(chunk), _ROW * rank
    done = is_complete(held)
    axes.add_patch(Rectangle((left, top), width, _SQUARE, facecolor=EMPTY, linewidth=0))
    if held is None:
        middle = (left + width / 2, top + _SQUARE / 2)
        axes.text(*middle, "?", ha="center", va="center", color=ALARM, fontweight="bold")
        return
    for other, count in enumerate(held):
        if not count:
            continue
        at = left + width * other / n
        colour = rank_colour(other)
        axes.add_patch(Rectangle((at, top), width / n, _SQUARE, facecolor=colour, linewidth=0))
        if large or n <= 4:
            text = " ".join([str(other)] * count) if count < 4 else f"{count} × {other}"
            axes.text(
                at + width / n / 2, top + _SQUARE / 2, text, ha="center", va="center",
                color="white", fontsize=(10 if n <= 5 else 7) if large else 7,
                fontweight="bold" if done or count > 1 else "normal",
            )  # fmt: skip


def _outline(axes: Axes, chunk: range, rank: int) -> None:
    left, width = chunk.start + _gap(chunk), len(chunk) - 2 * _gap(chunk)
    axes.add_patch(
        Rectangle((left, _ROW * rank), width, _SQUARE, fill=False, edgecolor=INK, linewidth=1.8)
    )


def _travel(axes: Axes, recording: Recording, travel: Travel, large: bool) -> None:
    """An arrow from the square that was sent to the one that it came to."""
    chunk, last = recording.chunks[travel.chunk], recording.ranks - 1
    x = (chunk.start + chunk.stop) / 2
    style = {"linewidth": 1.4, "linestyle": ":" if travel.effect == IGNORED else "-"}
    above, below = _ROW * travel.source, _ROW * travel.source + _SQUARE
    step = travel.target - travel.source
    if last > 1 and (travel.source, travel.target) in ((last, 0), (0, last)):
        _round_the_ring(axes, x, travel, last, large, style)
    elif step == 1:
        draw_arrow(axes, (x, below), (x, below + _ROW - _SQUARE), **style)
    elif step == -1:
        draw_arrow(axes, (x, above), (x, above - _ROW + _SQUARE), **style)
    else:  # to no neighbour: beside the squares in between
        x = chunk.stop - 2 * _gap(chunk)
        tail = (x, below if step > 0 else above)
        head = (x, _ROW * travel.target + (0 if step > 0 else _SQUARE))
        bend = -0.12 if step > 0 else 0.12
        draw_arrow(axes, tail, head, connectionstyle=f"arc3,rad={bend}", **style)


def _round_the_ring(
    axes: Axes, x: float, travel: Travel, last: int, large: bool, style: dict[str, Any]
) -> None:
    """Between the first and the last rank: out at one edge of the picture, in at the other."""
    bottom = _ROW * last + _SQUARE
    if travel.source == last:
        draw_arrow(axes, (x, bottom), (x, bottom + _STUB), **style)
        draw_arrow(axes, (x, -_STUB), (x, 0), **style)
    else:
        draw_arrow(axes, (x, 0), (x, -_STUB), **style)
        draw_arrow(axes, (x, bottom + _STUB), (x, bottom), **style)
    if large:
        place: dict[str, Any] = {"fontsize": 8, "color": MUTED, "va": "center"}
        low, high = bottom + _STUB * 0.55, -_STUB * 0.55
        target, source = ("to", "from") if travel.source == last else ("from", "to")
        axes.text(x, low, f"  {target} rank 0", **place)
        axes.text(x, high, f"  {source} rank {last}", **place)


def _gap(chunk: range) -> float:
    """Left and right of a square, in elements."""
    return 0.06 * min(len(chunk), 2)
