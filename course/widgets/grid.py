"""Grid, block and thread: the picture of a launch, and of which thread touched which element.

from course.widgets import grid

grid.draw_launch(n=40, blocks=3, threads=16)       # what should happen
grid.show("vec_add", n=40, blocks=3, threads=16)   # what your kernel did, with sliders
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course import cuda
from course.cuda.cells import cpp, last_cell
from course.cuda.outcome import CudaRun
from course.widgets.controls import View, caption_html, picture_box, set_picture
from course.widgets.style import ALARM, EMPTY, INK, MUTED, Picture, paler, png, rank_colour

_MOST_BLOCKS, _MOST_SQUARES = 5, 56  # beside each other in a picture of a launch
_WIDTH, _DIGIT = 800, 6  # of that picture, and of a digit in it: CSS pixels
_MOST_NAMED = 8  # blocks in a legend
_ROW = 32  # elements in a row of the picture: the threads of a warp

HARNESS = r"""
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
    int n = atoi(argv[1]), blocks = atoi(argv[2]), threads = atoi(argv[3]);
    std::vector<float> h(n, 1.0f);
    float *a, *b, *c;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&c, n * sizeof(float));
    cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    CALL
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
"""
RESULTS = {"vec_add": "c", "grid_stride": "out"}
CALLS = {
    "vec_add": "vec_add<<<blocks, threads>>>(a, b, c, n);",
    "grid_stride": "grid_stride<<<blocks, threads>>>(2.0f, a, b, c, n);",
}


def draw_launch(n: int, blocks: int, threads: int) -> Picture:
    """A launch as it is meant: blocks side by side, a thread a square, its element below it.

    Threads whose number is n or more have no element: a dash. Of many blocks, and of many
    threads in a block, the first and the last are shown.
    """
    figure = Picture(figsize=(9, 2.5), layout="constrained")
    axes = figure.subplots()
    shown = first_and_last(blocks, _MOST_BLOCKS)
    squares = first_and_last(threads, _MOST_SQUARES // len(shown))
    every = _label_every(len(shown) * len(squares), len(str(blocks * threads)))
    at = 0.0
    for block in shown:
        if block is None:
            axes.text(at, 0.46, "…", ha="center", va="center", color=MUTED, fontsize=14)
            at += 1.2
        else:
            _draw_block(axes, at, (block, threads, n), squares, every)
            at += len(squares) + 1.2
    title = f"kernel<<<{blocks:,}, {threads:,}>>>: {blocks * threads:,} threads for {n:,} elements"
    axes.set_title(title, loc="left", fontsize=11)
    axes.text(0, -1.75, _left_over(n, blocks * threads), color=ALARM, fontsize=9, va="top")
    axes.set(xlim=(-0.7, at - 0.5), ylim=(-2.4, 2.3))
    axes.set_axis_off()
    return figure


def first_and_last(count: int, most: int) -> list[int | None]:
    """0 to count − 1; if these are too many, the first and the last, and None in between."""
    if count <= most:
        return list(range(count))
    last = max(most // 3, 1)
    return [*range(most - last - 1), None, *range(count - last, count)]


def _label_every(squares: int, digits: int) -> int:
    """At which distance numbers of so many digits have room, in 7-point type."""
    return -(-digits * _DIGIT * squares // _WIDTH)


def _left_over(n: int, threads: int) -> str:
    """What the launch does not match, in words; nothing where it does."""
    if threads > n:
        have = "thread has" if threads - n == 1 else "threads have"
        return f"{threads - n:,} {have} no element, and must do nothing."
    if threads == n - 1:
        return f"Nobody works on element {n - 1:,}."
    return f"Nobody works on elements {threads:,} to {n - 1:,}." if threads < n else ""


def _draw_block(
    axes: Axes, at: float, of: tuple[int, int, int], squares: list[int | None], every: int
) -> None:
    block, threads, n = of
    colour = rank_colour(block)
    style: Any = {"ha": "center", "va": "center", "fontsize": 7}
    frame = Rectangle((at - 0.3, -0.4), len(squares) + 0.6, 1.8, facecolor="none", edgecolor=colour)
    axes.add_patch(frame)
    axes.text(at, 1.55, f"block {block:,}", color=colour, fontsize=9, fontweight="bold")
    for place, thread in enumerate(squares):
        middle = at + place + 0.46
        if thread is None:
            axes.text(middle, 0.46, "…", color=MUTED, **style)
            continue
        element = block * threads + thread
        has = element < n
        face = paler(colour, 0.35) if has else EMPTY
        axes.add_patch(Rectangle((at + place, 0), 0.92, 0.92, facecolor=face))
        if (place if place == thread else len(squares) - 1 - place) % every == 0:
            axes.text(middle, 0.46, str(thread), color=INK if has else MUTED, **style)
            text = str(element) if has else "–"
            axes.text(middle, -0.9, text, color=INK if has else ALARM, **style)


def draw_touched(run: CudaRun, pointer: str, n: int, title: str = "") -> Picture:
    """Which thread wrote which element: a square an element, in the colour of its block.

    The number in a square is the thread's in its block, in brackets if others wrote there, too.
    White squares were never written. A warp's 32 elements make a row.
    """
    writers = written_by(run, pointer)
    rows = -(-n // _ROW)
    figure = Picture(figsize=(9, 0.95 + 0.27 * rows), layout="constrained")
    axes = figure.subplots()
    for element in range(n):
        x, y = element % _ROW, element // _ROW
        found = writers.get(element, [])
        face: Any = "white" if not found else paler(rank_colour(found[-1][0]), 0.35)
        axes.add_patch(
            Rectangle((x, y), 0.94, 0.94, facecolor=face, edgecolor=MUTED, linewidth=0.4)
        )
        if found:
            text = str(found[-1][1]) if len(set(found)) == 1 else f"({len(found)})"
            axes.text(x + 0.47, y + 0.5, text, ha="center", va="center", fontsize=6.5, color=INK)
    axes.set_yticks(
        [row + 0.5 for row in range(rows)], [f"{row * _ROW} …" for row in range(rows)], fontsize=8
    )
    axes.set(xlim=(-0.2, _ROW + 0.2), ylim=(rows + 0.1, -0.1), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for block in sorted({b for w in writers.values() for b, _ in w})[:_MOST_NAMED]:
        label = f"block {block}"
        axes.add_patch(Rectangle((0, 0), 0, 0, facecolor=rank_colour(block), label=label))
    if writers:
        axes.legend(
            loc="upper left", bbox_to_anchor=(0, 0), ncols=_MOST_NAMED, frameon=False, fontsize=8
        )
    axes.set_title(title or f"who wrote {pointer}", loc="left", fontsize=11)
    return figure


def written_by(run: CudaRun, pointer: str) -> Mapping[int, list[tuple[int, int]]]:
    """For each element (4 bytes) that was written, the (block, thread) of each write, in order."""
    rows = cuda.touched(run, pointer)
    rows = rows[(rows["write"] > 0) & (rows["space"] == 1)]
    found: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        found.setdefault(int(row["offset"]) // 4, []).append(
            (int(row["block"]), int(row["thread"]))
        )
    return found


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def describe(run: CudaRun, n: int, blocks: int, threads: int) -> str:
    """The picture in words."""
    if run.errors or not run.ok:
        return run.failure
    writers = written_by(run, "c")
    busy = {w for found in writers.values() for w in found}
    idle = blocks * threads - len(busy)
    warps = blocks * -(-threads // 32) - len({(block, thread // 32) for block, thread in busy})
    missing = n - len([e for e in writers if e < n])
    most = np.bincount([len(found) for found in writers.values()] or [0]).size - 1
    written = "1 was written" if n - missing == 1 else f"{n - missing:,} were written"
    parts = [f"{_counted(blocks * threads, 'thread')}, {_counted(n, 'element')}: {written}"]
    parts += [f"{missing:,} {'was' if missing == 1 else 'were'} not"] * bool(missing)
    parts += [f"some {most} times"] * (most > 1)
    parts += [f"{_counted(idle, 'thread')} wrote nothing"] * bool(idle)
    parts += [f"among them {_counted(warps, 'whole warp')}"] * bool(warps)
    return ", ".join(parts) + "."


def try_out(kernel: str, cell: str | None = None) -> Callable[[int, int, int], CudaRun]:
    """A function of n, blocks and threads that runs the kernel of a cell and records what it does.

    ``cell`` is the text; without one, the cell that was run last and defines the kernel.

    Raises:
        NoCell: no cell defines it.
        CompileError: the cell is no CUDA C++.
    """
    source = cpp(last_cell(kernel) if cell is None else cell)
    program = cuda.build(source, harness=HARNESS.replace("CALL", CALLS[kernel]), backend="cpu")

    def run(n: int, blocks: int, threads: int) -> CudaRun:
        args = (str(n), str(blocks), str(threads))
        return cuda.run(program, args=args, touches=True, time_limit=2.0)

    return run


def show(
    kernel: str, n: int = 40, blocks: int = 3, threads: int = 16, cell: str | None = None
) -> View | CudaRun:
    """Launch a kernel of yours, and see which of its threads wrote which element.

    Returns:
        The widget, whose sliders set the launch; without ipywidgets the picture.
    """
    launch = try_out(kernel, cell)

    def draw(n: int, blocks: int, threads: int) -> tuple[Picture, str]:
        run = launch(n, blocks, threads)
        title = f"{kernel}<<<{blocks}, {threads}>>>, {n} elements: who wrote {RESULTS[kernel]}"
        return draw_touched(run, "c", n, title), describe(run, n, blocks, threads)

    def whole() -> Picture:
        return draw(n, blocks, threads)[0]

    text = describe(launch(n, blocks, threads), n, blocks, threads)
    return View(_widget(draw, n, blocks, threads), whole, text)


def _widget(draw: Callable[[int, int, int], tuple[Picture, str]], *start: int) -> Any:
    try:
        import ipywidgets
    except ImportError:
        return None
    names = (("elements", 256), ("blocks", 8), ("threads", 128))
    sliders = [
        ipywidgets.IntSlider(value, 1, most, description=name, continuous_update=False)
        for value, (name, most) in zip(start, names)
    ]
    image, caption = picture_box(), ipywidgets.HTML()

    def update(change: Any) -> None:
        figure, words = draw(*(slider.value for slider in sliders))
        set_picture(image, png(figure))
        caption.value = caption_html(words)

    for slider in sliders:
        slider.observe(update, "value")
    update(None)
    return ipywidgets.VBox([ipywidgets.HBox(sliders), image, caption])
