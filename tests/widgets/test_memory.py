"""The memory widget: its pictures' numbers, and its controls moved as a learner moves them."""

from __future__ import annotations

import time

import pytest

from course.measure.memory import GIB, WAYS, Config, account, fits_table, largest_batch
from course.widgets import memory

SMALL = Config(model="BERT-base", card=8, batch=12, length=64)


def bars(figure) -> dict[int, float]:
    """The length of each row's bars together."""
    found: dict[int, float] = {}
    for patch in figure.axes[0].patches:
        if patch.get_height() == pytest.approx(0.62):
            row = round(patch.get_y() + 0.31)
            found[row] = found.get(row, 0) + patch.get_width()
    return found


def words(figure) -> str:
    axes = figure.axes[0]
    texts = [*axes.texts, *axes.get_yticklabels(), axes.title, *axes.get_title(loc="left")]
    return " | ".join(getattr(text, "get_text", lambda t=text: t)() for text in texts)


@pytest.mark.parametrize("way", WAYS)
def test_a_bar_is_as_long_as_the_device_needs(way):
    found = account(Config(model="BERT-base", card=8, batch=90, way=way))
    figure = memory.draw_memory(found)
    drawn = bars(figure)
    assert len(drawn) == 4
    for one in found.devices:
        assert drawn[one.device] == pytest.approx(one.peak / GIB)
        assert f"{one.peak / GIB:.1f}" in words(figure)
    assert figure.axes[0].get_xlim()[1] > 8
    legend = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
    assert ("DDP buckets" in legend) == (way != "DP")
    figure.canvas.draw()


def test_who_needs_more_than_the_card_is_drawn_in_another_colour():
    found = account(Config(model="BERT-base", card=8, batch=128))
    assert [one.device for one in found.devices if one.runs_out] == [0]
    bold = [
        t.get_text() for t in memory.draw_memory(found).axes[0].texts if t.get_weight() == "bold"
    ]
    assert bold == [f"{found.devices[0].peak / GIB:.1f}"]


def test_a_device_without_rows_says_so():
    assert "nothing to do" in words(memory.draw_memory(account(Config(model="BERT-base", batch=9))))


def test_the_table_has_its_numbers_in_it():
    table = fits_table(lengths=(64,), precisions=("fp32",), start=SMALL)
    figure = memory.draw_fits(table)
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == sorted(str(f.batch) for f in table)
    assert sorted(bar.get_width() for bar in axes.patches) == sorted(f.batch for f in table)
    figure.canvas.draw()


def test_the_sentence_ends_with_the_largest_batch():
    most = largest_batch(SMALL)
    assert memory.describe(account(SMALL)).endswith(f"is {most}, {-(-most // 4)} on a GPU.")
    assert memory.describe(account(Config(model="BERT-base", card=1))).endswith("No batch fits.")


MOVES = [
    ("batch", 64),
    ("devices", 8),
    ("way", "DDP"),
    ("optimizer", "SGD"),
    ("card", 40),
    ("length", 128),
    ("precision", "autocast"),
    ("head", "classes"),
    ("model", "GPT-2 small"),
]


@pytest.mark.parametrize(("name", "value"), MOVES)
def test_each_control_changes_picture_and_words(name, value):
    controls = memory._Controls(SMALL)
    _, image, caption = controls.box.children
    before = bytes(image.value), caption.value
    controls.by_name[name].value = value
    assert bytes(image.value) != before[0] and caption.value != before[1]
    assert bytes(image.value).startswith(b"\x89PNG")
    controls.by_name[name].value = getattr(SMALL, name)
    assert (bytes(image.value), caption.value) == before


def test_texts_are_offered_as_long_as_the_model_can_read():
    controls = memory._Controls(SMALL)
    model, length = controls.by_name["model"], controls.by_name["length"]
    assert max(length.options) == 512
    assert length.value == SMALL.length
    model.value = "GPT-2 small"
    assert (max(length.options), length.value) == (1024, SMALL.length)
    length.value = 1024
    model.value = SMALL.model
    assert (max(length.options), length.value) == (512, 512)
    picture = bytes(controls.box.children[1].value)
    length.value = 384
    assert bytes(controls.box.children[1].value) != picture


@pytest.mark.parametrize(
    ("way", "said"),
    [("DDP", "batch 1, filled up to 4, of 128 words"), ("DP", "batch 1 of 128 words")],
)
def test_a_batch_that_ddp_fills_up_says_so(way, said):
    found = account(Config(model="BERT-base", card=8, batch=1, way=way))
    assert said in memory.draw_memory(found).axes[0].get_title(loc="left")


def test_changes_that_need_no_new_model_take_less_than_a_second():
    """And generously so: the limit here is for a machine busy with other things."""
    controls = memory._Controls(SMALL)
    controls.by_name["devices"].value = 3
    began = time.perf_counter()
    for batch in (20, 21, 22):
        controls.by_name["batch"].value = batch
    assert (time.perf_counter() - began) / 3 < 3


def test_without_ipywidgets_there_is_the_picture(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    view = memory.show(SMALL)
    assert view.widget is None
    data, _ = view._repr_mimebundle_()
    assert data["image/png"] and data["text/plain"].startswith("It fits.")


def test_a_start_that_no_control_offers_is_offered():
    controls = memory._Controls(Config(model="BERT-base", card=11, length=100, batch=300))
    assert controls.by_name["card"].value == 11
    assert controls.by_name["length"].value == 100
    assert controls.by_name["batch"].max == 300
    assert memory.show(SMALL).widget is not None
