"""The deadlock widget: who waits for whom, on logs written by hand and on real ranks."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from course.ranks import launch
from course.ranks.outcome import RETURNED, STUCK, Call, Outcome, Run
from course.widgets import deadlock
from course.widgets.waiting import GONE, RUNS, WAITS, moments, sentences


def stuck(rank: int, *calls: Call) -> Outcome:
    return Outcome(rank, STUCK, calls=calls, ended=9.0)


def message(op: str, peer: int | None, begin: float, end: float | None = None) -> Call:
    return Call(op, begin, end, (4,), "float32", 16, peer=peer, line=7)


def collective(op: str, begin: float, end: float | None = None) -> Call:
    return Call(op, begin, end, (4,), "float32", 16, line=3, group_size=3)


def end_of(*outcomes: Outcome):
    return moments(Run(outcomes, 9.0))[-1]


def test_a_circle_of_sends():
    end = end_of(*(stuck(r, message("send", (r + 1) % 3, 1.0)) for r in range(3)))
    assert end.edges == [(0, 1), (1, 2), (2, 0)]
    assert end.circle == [0, 1, 2]
    assert {stand.line for stand in end.stands} == {7}
    assert list(sentences(end))[-1] == (
        "A circle: rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 0."
    )


def test_a_chain_is_no_circle_and_ends_at_the_rank_that_is_gone():
    end = end_of(
        stuck(0, message("recv", 1, 1.0)),
        stuck(1, message("recv", 2, 1.0)),
        Outcome(2, RETURNED, ended=2.0),
    )
    assert end.edges == [(0, 1), (1, 2)]
    assert end.circle == []
    assert [stand.state for stand in end.stands] == [WAITS, WAITS, GONE]


def test_in_a_collective_those_are_missing_who_have_not_called_it():
    end = end_of(
        stuck(0, collective("barrier", 1.0)),
        stuck(1, collective("all_reduce", 1.0)),
        stuck(2, collective("barrier", 1.5)),
    )
    assert set(end.edges) == {(0, 1), (2, 1), (1, 0), (1, 2)}
    assert end.circle == [0, 1]


def test_collectives_are_matched_by_their_number():
    done = collective("all_reduce", 1.0, 2.0)
    end = end_of(
        stuck(0, done, collective("all_reduce", 3.0)),
        stuck(1, done, collective("all_reduce", 3.0)),
        stuck(2, collective("all_reduce", 1.0)),
    )
    assert set(end.edges) == {(0, 2), (1, 2)}


def test_every_call_is_a_moment_and_before_it_began_a_rank_runs():
    run = Run(
        (
            Outcome(0, RETURNED, calls=(message("send", 1, 1.0, 2.0),), ended=3.0),
            Outcome(1, RETURNED, calls=(message("recv", 0, 1.5, 2.0),), ended=3.0),
        ),
        3.0,
    )
    first, second, end = moments(run)
    assert [stand.state for stand in first.stands] == [WAITS, RUNS]
    assert first.edges == [(0, 1)]
    assert second.edges == [(0, 1), (1, 0)]
    assert end.edges == []
    assert moments(run, most=2)[0].rank == 1


def in_a_circle():
    numbers = torch.ones(4)
    dist.send(numbers, (dist.get_rank() + 1) % dist.get_world_size())


@pytest.fixture(scope="module")
def circle():
    return launch(in_a_circle, 3, backend="gloo")


def test_a_real_deadlock_is_drawn_with_its_lines(circle):
    figure = deadlock.draw_deadlock(circle)
    texts = " ".join(t.get_text() for axes in figure.axes for t in axes.texts)
    assert "waits in send to rank 1" in texts
    line = in_a_circle.__code__.co_firstlineno + 2
    assert f"line {line}  dist.send(numbers" in texts
    with pytest.raises(ValueError, match="this run has steps 0 to"):
        deadlock.draw_deadlock(circle, 99)


def test_the_widget_begins_at_the_end_and_steps_back(circle):
    view = deadlock.show(circle)
    controls, image, caption = view.widget.children
    slider = controls.children[1]
    assert slider.value == slider.max
    assert "A circle: rank 0 waits for rank 1" in caption.value
    at_the_end = image.value
    slider.value = 0
    assert "A circle" not in caption.value
    assert image.value != at_the_end


def test_a_run_that_was_no_deadlock_is_shown_too():
    assert "has returned" in repr(deadlock.show(launch(abs, 1, -1)))
