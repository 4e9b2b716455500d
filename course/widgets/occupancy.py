"""The occupancy widget: how full a kernel makes an SM, and what is in the way.

from course.widgets import occupancy

occupancy.show(registers=40)                       # sliders
occupancy.show(figures(text, "sm_90")[0])          # a kernel of yours, with ptxas' figures
occupancy.draw_occupancy(40, 0, 256, H100)         # the picture alone
"""

from __future__ import annotations

from typing import Any

from course.cuda.occupancy import ADA, CARDS, H100, WARP, Limits, occupancy, registers_of_block
from course.cuda.registers import Figures
from course.widgets.controls import View, caption_html, picture_box, set_picture
from course.widgets.style import ALARM, INK, LINE, MUTED, Picture, png

SIZES = range(WARP, 1025, WARP)  # of blocks
_COLOURS = {
    "threads": "#2a78b5",
    "blocks": "#8e5ea2",
    "registers": "#d1730f",
    "shared memory": "#4a9d5b",
}


def draw_occupancy(
    registers: int, shared: int, block: int, limits: Limits = H100, shared_per_thread: int = 0
) -> Picture:
    """Left: resident warps against the block's size. Right: blocks that each resource allows.

    A bar's colour is the resource that decides; the block in question is outlined. Sizes
    without a bar cannot be launched.
    """
    figure = Picture(figsize=(9.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2.1, 1))
    for size in SIZES:
        found = occupancy(registers, shared + size * shared_per_thread, size, limits)
        colour = _COLOURS[found.limited_by[0]]
        edge = INK if size == block else "none"
        left.bar(size, found.warps, 26, color=colour, edgecolor=edge, linewidth=1.6)
        if not found.warps:
            left.plot(size, limits.warps * 0.02, "x", color=ALARM, markersize=4)
    left.axhline(limits.warps, color=MUTED, linewidth=1, linestyle="--")
    left.set(xlim=(8, 1048), ylim=(0, limits.warps * 1.12), xticks=range(0, 1025, 128))
    left.set_xlabel("threads a block (× cannot be launched)")
    left.set_ylabel("resident warps an SM")
    left.set_title(
        f"{limits.name}: {registers} registers, {shared + block * shared_per_thread:,} bytes of "
        "shared memory",
        loc="left",
        fontsize=10,
    )
    found = occupancy(registers, shared + block * shared_per_thread, block, limits)
    names = list(found.by)
    counts = [min(count, 2 * limits.blocks) for count in found.by.values()]  # the bars' lengths
    right.barh(names, counts, color=[_COLOURS[name] for name in names], height=0.6)
    for row, count in enumerate(found.by.values()):
        text = f"{count:,}" if counts[row] == count else f"→ {count:,}"
        right.text(counts[row] + 0.8, row, text, va="center", fontsize=9, color=INK)
    right.axvline(found.blocks, color=INK, linewidth=1.2)
    right.set(xlim=(0, 2.35 * limits.blocks), ylim=(len(names) - 0.5, -0.5))
    right.set_xlabel("blocks an SM that it allows")
    right.set_title(f"block of {block}: {found.share:.0%} occupancy", loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y" if axes is left else "x", color=LINE, linewidth=0.5)
        axes.set_axisbelow(True)
    return figure


def describe(registers: int, shared: int, block: int, limits: Limits) -> str:
    """The picture in words."""
    found = occupancy(registers, shared, block, limits)
    if not found.blocks:
        needed = registers_of_block(registers, block)
        why = f"{shared:,} bytes of shared memory of {limits.shared_block:,}"
        if not found.by["registers"]:
            why = f"{needed:,} registers of {limits.registers:,}"
        return f"A block of {block} threads cannot be launched on {limits.name}: it needs {why}."
    best = max(SIZES, key=lambda size: occupancy(registers, shared, size, limits).warps)
    return (
        f"{found.blocks} block{'s' * (found.blocks > 1)}, {found.warps} of {limits.warps} warps "
        f"({found.share:.0%}), limited by {' and '.join(found.limited_by)}. Most warps with blocks "
        f"of {best}."
    )


def show(
    kernel: Figures | None = None,
    registers: int = 32,
    shared: int = 0,
    block: int = 256,
    card: str = "sm_90",
) -> View:
    """Move block, registers and shared memory, and see what limits the occupancy.

    Args:
        kernel: figures from ptxas; its registers, shared memory and card are then the start.
        card: sm_80, sm_86, sm_89 or sm_90.
    """
    if kernel is not None:
        registers, shared, card = kernel.registers, kernel.shared, kernel.arch or card
    limits = CARDS.get(card, ADA)
    start = (block, registers, shared)

    def whole() -> Picture:
        return draw_occupancy(registers, shared, block, limits)

    text = describe(registers, shared, block, limits)
    return View(_widget(start, card), whole, text)


def _widget(start: tuple[int, int, int], card: str) -> Any:
    try:
        import ipywidgets
    except ImportError:
        return None
    names = {limits.name: limits for limits in CARDS.values()}
    which = ipywidgets.Dropdown(options=list(names), value=CARDS[card].name, description="card")
    ranges = (
        ("block", WARP, 1024, WARP),
        ("registers", 16, 255, 1),
        ("shared", 0, 227 * 1024, 1024),
    )
    sliders = [
        ipywidgets.IntSlider(value, low, high, step, description=name, continuous_update=False)
        for value, (name, low, high, step) in zip(start, ranges)
    ]
    image, caption = picture_box(), ipywidgets.HTML()

    def update(change: Any) -> None:
        block, registers, shared = (slider.value for slider in sliders)
        limits = names[which.value]
        figure = draw_occupancy(registers, shared, block, limits)
        set_picture(image, png(figure))
        caption.value = caption_html(describe(registers, shared, block, limits))

    for control in (which, *sliders):
        control.observe(update, "value")
    update(None)
    return ipywidgets.VBox(
        [ipywidgets.HBox([which, sliders[0]]), ipywidgets.HBox(sliders[1:]), image, caption]
    )
