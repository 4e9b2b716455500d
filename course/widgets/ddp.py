"""Pictures of lesson 03: how gradients fill buckets, and what ZeRO saves."""

from __future__ import annotations

from collections.abc import Sequence

from course.widgets.style import INK, Picture, draw_arrow

_BUCKETS = ("#2a78b5", "#d1730f", "#4a9d5b", "#8e5ea2")
_BYTES = {"weights": "#2a78b5", "gradients": "#9cc4e4", "optimizer": "#d1730f"}


def draw_buckets(layers: Sequence[tuple[str, float]], limit: float) -> Picture:
    """Layers from first to last, with their MB; buckets are filled from the last one on."""
    figure = Picture(figsize=(9, 1.9), layout="constrained")
    axes = figure.subplots()
    at, filled, bucket = 0.0, 0.0, 0
    starts = [0.0]
    for name, size in reversed(layers):
        if filled and filled + size > limit:
            bucket, filled = bucket + 1, 0.0
            starts.append(at)
        colour = _BUCKETS[bucket % len(_BUCKETS)]
        axes.barh(0, size, left=at, height=0.5, color=colour, edgecolor="white")
        axes.text(
            at + size / 2, 0, f"{name}\n{size:g} MB", ha="center", va="center", color="white",
            fontsize=9,
        )  # fmt: skip
        at, filled = at + size, filled + size
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], at], strict=True)):
        text = f"bucket {number}: {end - start:g} MB"
        axes.text((start + end) / 2, 0.36, text, ha="center", fontsize=9, color=INK)
    draw_arrow(axes, (0, -0.42), (at, -0.42))
    text = "order in which backward makes the gradients"
    axes.text(at / 2, -0.52, text, ha="center", va="top", fontsize=9, color=INK)
    axes.set(xlim=(-0.01 * at, 1.01 * at), ylim=(-0.85, 0.6))
    axes.set_axis_off()
    return figure


def draw_state(ranks: int) -> Picture:
    """Bytes that a rank keeps for each weight, with Adam in mixed precision: DDP and ZeRO-1."""
    figure = Picture(figsize=(8, 2.3), layout="constrained")
    axes = figure.subplots()
    for row, optimizer in enumerate((12.0, 12.0 / ranks)):
        left = 0.0
        sizes = (2.0, 2.0, optimizer)
        for (what, colour), size in zip(_BYTES.items(), sizes, strict=True):
            label = what if row == 0 else None
            axes.barh(row, size, left=left, color=colour, edgecolor="white", label=label)
            axes.text(
                left + size / 2, row, f"{size:g}", ha="center", va="center",
                color=INK if what == "gradients" else "white",
            )  # fmt: skip
            left += size
        axes.text(left + 0.2, row, f"{left:g} bytes", va="center", color=INK)
    axes.set_yticks([0, 1], ["DDP", f"ZeRO-1, {ranks} ranks"])
    axes.set(ylim=(1.5, -0.5), xlim=(0, 18.5), xlabel="bytes for each weight, on each rank")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", left=False)
    axes.legend(loc="lower right", frameon=False)
    return figure
