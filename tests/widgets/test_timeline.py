"""The timeline widget: its picture, its words, and its controls moved from Python."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

from autograder import notebooks
from autograder.exercises import ddp
from course.measure.ddp_step import Setting
from course.measure.timeline import COMMUNICATION, COMPUTE, Link, Span
from course.ranks.outcome import Run
from course.widgets.timeline import (
    BACKWARD,
    EXCHANGE,
    FORWARD,
    describe_step,
    draw_timeline,
    show_buckets,
)

SPANS = [
    Span(0, COMPUTE, "forward 0", 0.000, 0.010),
    Span(0, COMPUTE, "backward 0", 0.010, 0.030),
    Span(0, COMMUNICATION, "all_reduce", 0.025, 0.040, 2**20),
    Span(1, COMPUTE, "forward 0", 0.000, 0.030),
]


def test_a_span_is_a_bar_of_its_length_and_kind():
    axes = draw_timeline(SPANS, "title").axes[0]
    bars = {
        (to_hex(p.get_facecolor()), round(p.get_x()), round(p.get_width())) for p in axes.patches
    }
    assert bars == {(FORWARD, 0, 10), (BACKWARD, 10, 20), (EXCHANGE, 25, 15), (FORWARD, 0, 30)}
    texts = [text.get_text() for text in axes.texts]
    assert "10 ms of exchange alone" in texts  # 30 to 40
    assert "0 ms of exchange alone" in texts
    assert [t.get_text() for t in axes.get_yticklabels()] == ["rank 0", "rank 1"]


def test_a_recording_without_spans_is_drawn_too():
    assert len(draw_timeline([]).axes[0].patches) == 0


def test_the_milliseconds_are_told_of_the_slowest_rank():
    assert describe_step(Setting(), SPANS) == (
        "The step took 40 ms on rank 0. For 15 ms of it gradients were on the link (1 message, "
        "1.0 MB from each rank), and for 10 ms rank 0 computed nothing meanwhile: that is exposed "
        "communication."
    )


def test_the_legend_does_not_lie_on_the_title():
    axes = draw_timeline(SPANS, "a title as long as those of the lesson: it begins at the left")
    figure, axes = axes, axes.axes[0]
    figure.draw_without_rendering()
    title, legend = axes._left_title.get_window_extent(), axes.get_legend().get_window_extent()
    assert not title.overlaps(legend)


def test_a_layer_is_one_bar_with_one_number_though_each_of_its_parameters_was_recorded():
    parts = [
        Span(0, COMPUTE, "backward 1", 0.000, 0.010),
        Span(0, COMPUTE, "backward 1", 0.010, 0.012),
        Span(0, COMPUTE, "backward 0", 0.012, 0.020),
    ]
    axes = draw_timeline(parts).axes[0]
    assert sorted(round(p.get_width()) for p in axes.patches) == [8, 12]
    assert [t.get_text() for t in axes.texts if t.get_text() in "01"] == ["1", "0"]


@pytest.fixture(scope="module")
def bucketed_ddp():
    namespace: dict = {"__name__": "a_notebook"}
    exec(ddp.LESSON.prelude + notebooks.reference("BucketedDDP"), namespace)
    return namespace["BucketedDDP"]


SMALL = Setting(layers=3, width=64, rows=8, link=Link(1e-3, 1e9))  # 16 KB a layer


def test_moving_the_controls_measures_anew(bucketed_ddp):
    view = show_buckets(bucketed_ddp, sizes=(0.001, 0.02, 25.0), start=0.02, setting=SMALL)
    controls, image, caption = view.widget.children
    size, overlap = controls.children
    seen = [(image.value, caption.value)]

    def after(control, value) -> str:
        control.value = value
        seen.append((image.value, caption.value))
        return caption.value

    assert "(3 messages" in caption.value  # a weight and a bias each
    assert "(6 messages" in after(size, 0.001)
    assert "(1 message," in after(size, 25.0)
    shown = after(overlap, False)
    assert "(1 message," in shown
    assert len({picture for picture, _ in seen}) == len(seen)
    data, metadata = view._repr_mimebundle_()
    assert {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"} <= set(data)
    assert metadata["image/png"]["width"] == 864


def test_a_ddp_that_fails_shows_its_run_and_later_its_failure(bucketed_ddp):
    class Fails(bucketed_ddp):
        def finish(self):
            if len(self._buckets) == 1:
                raise RuntimeError("only one bucket")
            super().finish()

    assert isinstance(show_buckets(Fails, start=25.0, setting=SMALL), Run)
    view = show_buckets(Fails, sizes=(0.02, 25.0), start=0.02, setting=SMALL)
    view.widget.children[0].children[0].value = 25.0
    assert "only one bucket" in view.widget.children[2].value
