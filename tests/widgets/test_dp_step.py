"""The pictures of a step of DataParallel, and its slider."""

from __future__ import annotations

import pytest

from course.measure.dp_step import STAGES, example
from course.virtual import sizes
from course.widgets import dp_step
from course.widgets.ledger import draw_ledger
from course.widgets.memory import KIND_COLOURS


@pytest.fixture(scope="module")
def step():
    return example(devices=3, rows=6)


def arrows(axes) -> int:
    return sum(getattr(text, "arrow_patch", None) is not None for text in axes.texts)


@pytest.mark.parametrize("stage", range(len(STAGES)))
def test_an_arrow_for_each_pair_with_its_bytes(step, stage):
    figure = dp_step.draw_step(step, stage)
    (axes,) = figure.axes
    pairs = {(move.source, move.target) for move in step.stages[stage].moves}
    assert arrows(axes) == len(pairs)
    texts = {text.get_text() for text in axes.texts}
    assert {"GPU 0", "GPU 1", "GPU 2"} <= texts
    for pair in pairs:
        size = sum(m.bytes for m in step.stages[stage].moves if (m.source, m.target) == pair)
        assert sizes.text(size) in texts
    assert axes.get_title(loc="left") == f"{stage + 1}. {STAGES[stage]}"
    figure.canvas.draw()


def test_what_is_held_is_drawn_to_scale(step):
    figure = dp_step.draw_step(step, 2)
    bars = [p for p in figure.axes[0].patches if p.get_height() == pytest.approx(0.28)]
    drawn = sum(bar.get_width() for bar in bars)
    held = sum(sum(kinds.values()) for kinds in step.stages[2].held)
    assert drawn == pytest.approx(2.8 * held / step.peak(0))


def test_all_stages_in_one_figure(step):
    figure = dp_step.draw_step(step)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title.split(": ")[0] for title in titles] == [
        f"{i + 1}. {name}" for i, name in enumerate(STAGES)
    ]
    assert titles[2].endswith("nothing moves")
    figure.canvas.draw()


@pytest.mark.parametrize("stage", [None, 0])
def test_every_colour_of_bars_and_arrows_is_in_the_legend(step, stage):
    (legend,) = dp_step.draw_step(step, stage).legends
    names = [text.get_text() for text in legend.get_texts()]
    moved = {move.kind for one in step.stages for move in one.moves}
    assert "others" in moved  # the pieces of the batch
    assert {"parameters", "gradients", "optimizer state", "activations", "outputs"} < set(names)
    assert {"the batch", "the stage's peak"} < set(names)


def test_a_stage_that_is_not_there_is_refused(step):
    with pytest.raises(ValueError, match="there are stages 0 to 7"):
        dp_step.draw_step(step, 8)


def test_the_slider_shows_each_stage(step):
    view = dp_step.show(step)
    controls, image, caption = view.widget.children
    slider = controls.children[1]
    seen = set()
    for stage, name in enumerate(STAGES):
        slider.value = stage
        assert name.capitalize() in caption.value
        seen.add(bytes(image.value))
    assert len(seen) == len(STAGES)
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"].startswith("A step of DataParallel on 3 GPUs: ")
    assert data["image/png"]


def test_words_say_how_much_moves_and_is_held(step):
    said = dp_step.describe(step, 6)
    assert said.startswith("Reduce. All gradients come to GPU 0")
    assert sizes.text(step["reduce"].moved) in said and "gradients" in said
    assert "each other 0 bytes" in said


@pytest.mark.parametrize("devices", [(0, 1), (2,)])
def test_the_ledger_shows_the_peak_of_each_device(step, devices):
    figure = draw_ledger(step, devices)
    assert len(figure.axes) == len(devices)
    for axes, device in zip(figure.axes, devices):
        peak = step.peak(device) / 2**20
        (said,) = [t.get_text() for t in axes.texts if t.get_text().startswith("peak")]
        whole, parts = said.split(": ")
        assert whole == f"peak {peak:.1f} MiB"
        sizes_said = [float(part.split()[-1]) for part in parts.split(", ")]
        assert sizes_said == sorted(sizes_said, reverse=True)
        assert sum(sizes_said) == pytest.approx(peak, abs=0.3)
        highest = max(path.vertices[:, 1].max() for c in axes.collections for path in c.get_paths())
        assert highest == pytest.approx(peak)
    assert set(STAGES) <= {text.get_text() for text in figure.axes[0].texts}
    assert {t.get_text() for t in figure.legends[0].get_texts()} <= set(KIND_COLOURS)
    figure.canvas.draw()
