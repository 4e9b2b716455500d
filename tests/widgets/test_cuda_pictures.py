"""Lesson 01's pictures: what is in them, without looking. (How they look was looked at.)"""

from __future__ import annotations

import pytest

from autograder import notebooks
from course.cuda.cells import NoCell
from course.cuda.occupancy import A100, ADA, CARDS
from course.cuda.registers import Figures
from course.measure.bandwidth import Point
from course.widgets import grid, hierarchy, occupancy

VEC_ADD = notebooks.reference("vec_add")


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


# --- grid ---------------------------------------------------------------------------------------


def test_a_launch_names_each_threads_element_and_those_that_have_none():
    (axes,) = grid.draw_launch(n=40, blocks=3, threads=16).axes
    shown = texts(axes)
    assert [f"block {b}" in shown for b in range(3)] == [True] * 3
    assert {"39"} <= set(shown)
    assert "40" not in shown
    assert shown.count("–") == 8  # 48 threads, 40 elements
    assert "48 threads for 40 elements" in axes.get_title(loc="left")
    assert "8 threads have no element, and must do nothing." in shown


@pytest.mark.parametrize(
    ("n", "blocks", "threads", "last", "words"),
    [
        (1, 1, 1, "0", ""),
        (1000, 4, 256, "–", "24 threads have no element, and must do nothing."),
        (10**6, 3907, 256, "–", "192 threads have no element, and must do nothing."),
        (1000, 3, 256, "767", "Nobody works on elements 768 to 999."),
        (97, 3, 32, "95", "Nobody works on element 96."),
    ],
)
def test_the_last_block_and_its_last_thread_are_always_shown(n, blocks, threads, last, words):
    figure = grid.draw_launch(n, blocks, threads)
    figure.canvas.draw()
    shown = texts(figure.axes[0])
    assert f"block {blocks - 1:,}" in shown and "block 0" in shown
    assert shown[-3:] == [str(threads - 1), last, words]
    assert len(figure.axes[0].patches) < 70


def test_of_too_many_the_first_and_the_last_are_shown():
    assert grid.first_and_last(4, 4) == [0, 1, 2, 3]
    assert grid.first_and_last(9, 5) == [0, 1, 2, None, 8]
    assert grid.first_and_last(256, 9) == [0, 1, 2, 3, 4, None, 253, 254, 255]


def test_every_element_of_a_right_kernel_has_the_colour_of_its_block():
    run = grid.try_out("vec_add", VEC_ADD)(40, 3, 16)
    writers = grid.written_by(run, "c")
    assert writers == {i: [(i // 16, i % 16)] for i in range(40)}
    (axes,) = grid.draw_touched(run, "c", 40).axes
    assert {t.get_text() for t in axes.get_legend().get_texts()} == {
        "block 0",
        "block 1",
        "block 2",
    }
    assert texts(axes)[:17] == [str(i) for i in range(16)] + ["0"]
    words = grid.describe(run, 40, 3, 16)
    assert words == "48 threads, 40 elements: 40 were written, 8 threads wrote nothing."


def test_elements_without_a_writer_and_with_several_are_told():
    wrong = VEC_ADD.replace("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x")
    run = grid.try_out("vec_add", wrong)(40, 3, 16)
    assert "24 were not, some 3 times" in grid.describe(run, 40, 3, 16)
    (axes,) = grid.draw_touched(run, "c", 40).axes
    assert texts(axes) == ["(3)"] * 16


def test_a_kernel_that_fails_is_told_in_the_kernels_own_words():
    run = grid.try_out("vec_add", VEC_ADD.replace("if (i < n) ", ""))(40, 3, 16)
    assert "element 40" in grid.describe(run, 40, 3, 16)
    grid.draw_touched(run, "c", 40)


def test_a_strided_kernel_is_drawn_as_well():
    view = grid.show("grid_stride", 100, 2, 16, cell=notebooks.reference("grid_stride"))
    assert repr(view) == "32 threads, 100 elements: 100 were written."
    data, _ = view._repr_mimebundle_()
    assert "image/png" in data


def test_without_a_cell_one_is_told_to_run_it():
    with pytest.raises(NoCell, match="vec_add is not defined yet"):
        grid.show("vec_add")


# --- occupancy ----------------------------------------------------------------------------------


def test_a_bar_for_every_block_and_a_cross_where_none_can_be():
    left, right = occupancy.draw_occupancy(96, 0, 256, A100).axes
    heights = {round(b.get_x() + b.get_width() / 2): b.get_height() for b in left.patches}
    assert len(heights) == 32
    assert heights[256] == 16
    assert sum(height == 0 for height in heights.values()) == len(left.lines) - 1 > 0
    assert "25%" in right.get_title(loc="left")


@pytest.mark.parametrize("limits", CARDS.values(), ids=CARDS)
def test_every_card_is_drawn(limits):
    occupancy.draw_occupancy(255, 90_000, 1024, limits).canvas.draw()


def test_words_say_what_limits_and_what_cannot_be_launched():
    assert "limited by registers" in occupancy.describe(96, 0, 512, A100)
    assert "needs 131,072 registers of 65,536" in occupancy.describe(128, 0, 1024, A100)
    assert "needs 73,728 registers" in occupancy.describe(65, 0, 1024, A100)  # whole units
    assert "bytes of shared memory" in occupancy.describe(32, 101 * 1024, 128, ADA)


def test_the_best_block_is_the_highest_bar():
    left, _ = occupancy.draw_occupancy(32, 100_000, 256, A100).axes
    highest = max(left.patches, key=lambda bar: bar.get_height())
    assert round(highest.get_x() + highest.get_width() / 2) == 1024
    assert "with blocks of 1024." in occupancy.describe(32, 100_000, 256, A100)


def test_the_widget_starts_with_the_kernels_own_figures():
    kernel = Figures("k", "k", registers=96, shared=2048, arch="sm_89")
    view = occupancy.show(kernel, block=128)
    assert repr(view) == occupancy.describe(96, 2048, 128, ADA)
    sliders = view.widget.children[1].children
    assert [slider.value for slider in sliders] == [96, 2048]
    before = bytes(view.widget.children[2].value)
    sliders[0].value = 255
    assert bytes(view.widget.children[2].value) != before


# --- hierarchy ----------------------------------------------------------------------------------

POINTS = [Point(16 << 10, 80e9), Point(1 << 20, 40e9), Point(64 << 20, 8e9)]
CACHES = {"L1": 32 << 10, "L3": 32 << 20}


def test_three_cards_from_registers_to_the_host():
    panels = hierarchy.draw_levels().axes
    assert [t.get_text() for t in panels[0].get_yticklabels()] == list(hierarchy.LEVELS)
    assert [len(panel.patches) for panel in panels] == [12, 9, 9]
    assert "3.4 TB/s" in texts(panels[1])


def test_measured_points_with_the_caches_that_lie_between():
    (axes,) = hierarchy.draw_bandwidth(POINTS, CACHES, mark=1).axes
    assert axes.lines[0].get_ydata().tolist() == [80, 40, 8]
    assert any(text.startswith("L1, 32 KiB") for text in texts(axes))
    assert "1 MiB: 40.0 GB/s" in texts(axes)


def test_words_say_where_a_size_has_room():
    assert "it has room in L1" in hierarchy.describe(POINTS, CACHES, 0)
    assert "it has room in L3" in hierarchy.describe(POINTS, CACHES, 1)
    assert "it has room in no cache" in hierarchy.describe(POINTS, CACHES, 2)
    assert "10% of the fastest" in hierarchy.describe(POINTS, CACHES, 2)
    assert "not known" in hierarchy.describe(POINTS, {}, 0)


def test_a_slider_moves_over_the_sizes():
    view = hierarchy.show(POINTS)
    assert view.widget is not None
    assert "64 MiB" in repr(view)
