"""The memory hierarchy: of three GPUs from their documents, and of this machine as measured.

from course.widgets import hierarchy

hierarchy.draw_levels()        # registers to host memory, on three cards
hierarchy.show()               # measures, and lets a slider move over the sizes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.measure.bandwidth import Point, caches, measure
from course.widgets.controls import Pictures, View, step_through
from course.widgets.style import ALARM, INK, LINE, MUTED, Picture

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
LEVELS = ("registers", "L1 and shared", "L2", "global", "host, over PCIe")


@dataclass(frozen=True)
class Card:
    """Sizes (bytes, whole card), bandwidths (bytes a second) and latencies (cycles), by level.

    None is what nobody publishes, or what makes no sense.
    """

    name: str
    colour: str
    sizes: tuple[float | None, ...]
    rates: tuple[float | None, ...]
    cycles: tuple[float | None, ...]


def _card(
    name: str, colour: str, sms: int, ghz: float, l1_kib: int, l2_mib: int, memory_gb: int,
    global_rate: float, pcie: float, cycles: tuple[float | None, ...],
) -> Card:  # fmt: skip
    """Registers and L1 are so many an SM; shared memory gives 128 bytes a cycle and SM."""
    return Card(
        name,
        colour,
        (sms * 256 * _KIB, sms * l1_kib * _KIB, l2_mib * _MIB, memory_gb * 1e9, None),
        (None, sms * 128 * ghz * 1e9, None, global_rate, pcie),
        cycles,
    )


# SMs, boost clocks, caches, memory: NVIDIA's A100, Ada and H100 architecture whitepapers and data
# sheets. 128 bytes a cycle and SM: 32 banks of 4 bytes (CUDA C++ Programming Guide). PCIe 4 and 5
# with 16 lanes: 32 and 64 GB/s each way. Latencies, rounded: Luo and others, "Benchmarking and
# Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024.
CARDS = (
    _card(
        "A100 SXM", "#9cc4e4", 108, 1.41, 192, 40, 80, 2039e9, 32e9, (None, 30, 260, 470, None)
    ),
    _card(
        "RTX 4090", "#2a78b5", 128, 2.52, 128, 72, 24, 1008e9, 32e9, (None, 30, 270, 540, None)
    ),
    _card(
        "H100 SXM", "#d1730f", 132, 1.98, 256, 50, 80, 3350e9, 64e9, (None, 30, 260, 480, None)
    ),
)  # fmt: skip


def draw_levels() -> Picture:
    """Three panels, a row a level: how large, how fast, and how far away, on logarithmic axes."""
    figure = Picture(figsize=(9.6, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    _bars(panels[0], [card.sizes for card in CARDS], "size on the whole card", _bytes_text)
    _bars(panels[1], [card.rates for card in CARDS], "bandwidth", _rate_text)
    _bars(panels[2], [card.cycles for card in CARDS], "latency, cycles", lambda c: f"{c:g}")
    panels[0].set_yticks(range(len(LEVELS)), LEVELS)
    panels[0].set_ylim(len(LEVELS) - 0.5, -0.5)
    handles = [Rectangle((0, 0), 1, 1, color=card.colour) for card in CARDS]
    figure.legend(
        handles, [card.name for card in CARDS], loc="outside upper left", ncols=3, frameon=False
    )
    return figure


def _bars(axes: Axes, values: Sequence[Sequence[float | None]], title: str, text) -> None:  # type: ignore[no-untyped-def]
    known = [v for of_card in values for v in of_card if v is not None]
    least = min(known) / 4
    for number, (card, of_card) in enumerate(zip(CARDS, values)):
        for level, value in enumerate(of_card):
            at = level + (number - 1) * 0.26
            if value is None:
                continue
            axes.barh(at, value, 0.24, color=card.colour)
            axes.text(value * 1.15, at, text(value), va="center", fontsize=7.5, color=INK)
    for level, of_level in enumerate(zip(*values)):
        if set(of_level) == {None}:
            axes.text(least * 1.3, level, "no figure", va="center", fontsize=7.5, color=MUTED)
    axes.set_xscale("log")
    axes.set(xlim=(least, max(known) * 12))
    axes.set_title(title, loc="left", fontsize=10)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _bytes_text(count: float) -> str:
    return f"{count / 1e9:.0f} GB" if count > 1e9 else f"{count / _MIB:.0f} MiB"


def _rate_text(rate: float) -> str:
    return f"{rate / 1e12:.1f} TB/s" if rate >= 1e12 else f"{rate / 1e9:.0f} GB/s"


def size_text(count: float) -> str:
    """``16 KiB``, ``2 MiB``."""
    for unit, of in (("GiB", _GIB), ("MiB", _MIB), ("KiB", _KIB)):
        if count >= of:
            return f"{count / of:.3g} {unit}"
    return f"{count:g} bytes"


def draw_bandwidth(
    points: Sequence[Point], levels: dict[str, int] | None = None, mark: int | None = None,
    title: str = "",
) -> Picture:  # fmt: skip
    """Measured bandwidth against the size of the tensor, and where each cache ends."""
    figure = Picture(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    sizes, rates = [p.bytes for p in points], [p.bytes_per_second / 1e9 for p in points]
    axes.plot(sizes, rates, "-o", color="#2a78b5", markersize=4)
    top = 1.25 * max(rates)
    for name, size in (levels or {}).items():
        if sizes[0] <= size <= sizes[-1]:
            axes.axvline(size, color=MUTED, linestyle="--", linewidth=1)
            text = f"{name}, {size_text(size)} "
            axes.text(size, top * 0.98, text, ha="right", va="top", fontsize=9, color=MUTED)
    if mark is not None:
        axes.plot(sizes[mark], rates[mark], "o", color=ALARM, markersize=9)
        text = f"{size_text(sizes[mark])}: {rates[mark]:.1f} GB/s"
        side = "left" if mark < len(sizes) / 2 else "right"
        where = (sizes[mark], rates[mark])
        axes.annotate(text, where, (0, 9), textcoords="offset points", ha=side, color=ALARM)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[::2], [size_text(size) for size in sizes[::2]])
    axes.set(ylim=(0, top), xlabel="bytes that are read over and over", ylabel="GB/s")
    axes.grid(axis="y", color=LINE, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title or f"bandwidth of {_device()}, measured", loc="left", fontsize=11)
    return figure


def _device() -> str:
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else "one core of this CPU"


def describe(points: Sequence[Point], levels: dict[str, int], position: int) -> str:
    """One size in words: how fast, and where so much has room."""
    point = points[position]
    fits = [name for name, size in levels.items() if point.bytes <= size]
    where = f"it has room in {fits[0]}" if fits else "it has room in no cache"
    best = max(p.bytes_per_second for p in points)
    share = point.bytes_per_second / best
    return (
        f"{size_text(point.bytes)}: {point.bytes_per_second / 1e9:.1f} GB/s, {share:.0%} of the "
        f"fastest; {where}." + ("" if levels else " (The sizes of the caches are not known here.)")
    )


def show(points: Sequence[Point] | None = None) -> View:
    """Move over the sizes; measures first (about a second) if nothing was measured."""
    measured = measure() if points is None else list(points)
    levels = caches()
    last = len(measured) - 1
    return step_through(
        Pictures(
            count=len(measured),
            draw=lambda position: draw_bandwidth(measured, levels, position),
            describe=lambda position: describe(measured, levels, position),
            whole=lambda: draw_bandwidth(measured, levels),
            text=describe(measured, levels, last),
            start=last // 2,
            name="size",
            numbered=False,
        )
    )
