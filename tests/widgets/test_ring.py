"""The ring widget: what a recording of an all-reduce on real ranks says, and its pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from autograder import notebooks
from autograder.exercises import collectives
from course.ranks.outcome import Run
from course.widgets import ring
from course.widgets.ring_recording import ADDED, IGNORED, REPLACED
from course.widgets.trace import MAX_RANKS, Reader, tracing_input

RIGHT = sorted(Path("tests/answers/ring_all_reduce").glob("right_*.py"))


def defined(text: str, name: str = "ring_all_reduce"):
    namespace: dict = {"__name__": "a_notebook"}
    exec(collectives.LESSON.prelude + text, namespace)
    return namespace[name]


@pytest.fixture(scope="module")
def recording():
    return ring.record(defined(notebooks.reference("ring_all_reduce")), ranks=4, size=10)


@pytest.mark.parametrize("ranks", [1, 2, 3, MAX_RANKS])
def test_a_number_tells_its_element_and_how_often_each_rank_is_in_it(ranks):
    reader = Reader(ranks, 5)
    counts = [(rank + 1) % 4 for rank in range(ranks)]
    total = sum(c * tracing_input(rank, ranks, 5) for rank, c in enumerate(counts))
    assert [reader.read(number) for number in total.tolist()] == [
        (element, tuple(counts)) for element in range(5)
    ]


@pytest.mark.parametrize("number", [0.0, -1.0, 0.5, 1.0, float("nan"), float("inf"), 2.0**60])
def test_other_numbers_tell_nothing(number):
    assert Reader(3, 5).read(number) is None


def test_the_reference_adds_n_minus_1_times_and_then_replaces(recording):
    n = recording.ranks
    assert recording.steps == 2 * (n - 1)
    effects = [{travel.effect for travel in step} for step in recording.travels]
    assert effects == [{ADDED}] * (n - 1) + [{REPLACED}] * (n - 1)
    assert all(len(step) == n for step in recording.travels)
    assert all(t.target == (t.source + 1) % n for step in recording.travels for t in step)
    assert [recording.complete(step) for step in range(recording.steps + 1)] == [
        0, 0, 0, 4, 8, 12, 16,
    ]  # fmt: skip


def test_chunks_and_bytes_are_those_of_the_messages(recording):
    assert [len(chunk) for chunk in recording.chunks] == [3, 3, 2, 2]
    sent = recording.bytes_sent[recording.steps]
    assert sum(sent) == 2 * 3 * recording.tensor_bytes  # 2(n − 1)/n of the tensor, n times
    assert all(a <= b for a, b in zip(recording.bytes_sent[2], sent, strict=True))


def test_the_lines_are_those_of_the_learners_sends(recording):
    lines = notebooks.reference("ring_all_reduce").split("\n")
    first = collectives.LESSON.prelude.count("\n")
    for travel in recording.travels[0]:
        assert "send" in lines[travel.sent_at - 1 - first]


@pytest.mark.parametrize("path", RIGHT, ids=lambda p: p.stem)
def test_other_right_answers_end_with_the_sum_everywhere(path):
    recording = ring.record(defined(path.read_text(encoding="utf-8")), ranks=3, size=7)
    assert recording.complete(recording.steps) == 3 * len(recording.chunks)


def everybody_to_rank_0(x: torch.Tensor) -> torch.Tensor:
    """Sums nothing: rank 0 receives and forgets."""
    if dist.get_rank() == 0:
        for source in range(1, dist.get_world_size()):
            dist.recv(torch.empty_like(x), source)
    else:
        dist.send(x, 0)
    return x


def test_what_is_received_and_not_used_is_told():
    recording = ring.record(everybody_to_rank_0, ranks=3)
    assert {t.effect for step in recording.travels for t in step} == {IGNORED}
    assert recording.complete(recording.steps) == 0


def returns_garbage(x: torch.Tensor) -> torch.Tensor:
    everybody_to_rank_0(x)
    return torch.full_like(x, 0.5)


def test_what_is_no_sum_of_the_ranks_numbers_is_a_question_mark():
    recording = ring.record(returns_garbage, ranks=2)
    assert recording.boards[-1] == ((None,), (None,))
    texts = [t.get_text() for t in ring.draw_ring(recording, recording.steps).axes[0].texts]
    assert texts.count("?") == 2


@pytest.mark.parametrize(("ranks", "size", "sentence"), [(0, 3, "ranks is 0"), (9, 3, "ranks is 9"),
                                                         (2, 0, "size is 0")])  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(ranks, size, sentence):
    with pytest.raises(ValueError, match=sentence):
        ring.record(everybody_to_rank_0, ranks, size)


def test_a_picture_for_each_step_and_one_of_all(recording):
    for step in range(recording.steps + 1):
        figure = ring.draw_ring(recording, step)
        texts = [t.get_text() for t in figure.axes[0].texts]
        assert sum("× tensor" in text for text in texts) == recording.ranks
    assert "1.50 × tensor" in " ".join(texts)
    visible = [axes for axes in ring.draw_ring(recording).axes if axes.get_visible()]
    assert len(visible) == recording.steps + 1
    with pytest.raises(ValueError, match="this recording has steps 0 to 6"):
        ring.draw_ring(recording, 7)


def test_the_widget_steps_through_it(recording):
    view = ring.show(recording)
    controls, image, caption = view.widget.children
    slider = controls.children[1]
    pictures = []
    for step in range(recording.steps + 1):
        slider.value = step
        pictures.append(image.value)
        assert (f"Step {step} of 6" in caption.value) == (step > 0)
    assert len(set(pictures)) == len(pictures)
    assert "image/png" in view._repr_mimebundle_()[0]


def test_a_function_that_fails_shows_its_run():
    assert isinstance(ring.show(lambda x: x / None), Run)
