"""The pictures: what is in them, without looking. (How they look was looked at.)"""

from __future__ import annotations

import pytest

from course.ranks.outcome import RETURNED, STUCK, Call, Outcome, Run
from course.widgets.messages import _ring_boards, draw_messages, draw_ring_plan


def legend(figure) -> set[str]:
    drawn = figure.axes[0].get_legend()
    return {text.get_text() for text in drawn.get_texts()} if drawn else set()


def arrows(figure) -> int:
    return sum(text.arrow_patch is not None for text in figure.axes[0].texts)


def test_a_message_is_an_arrow_and_time_in_calls_is_a_bar():
    sent = Call("send", 1.0, 1.5, (4,), "float32", 16, peer=1)
    received = Call("recv", 1.4, 1.5, (4,), "float32", 16, peer=0)
    barrier = Call("barrier", 0.1, 0.9)
    run = Run(
        (
            Outcome(0, RETURNED, calls=(barrier, sent)),
            Outcome(1, RETURNED, calls=(barrier, received)),
        ),
        2.0,
    )
    figure = draw_messages(run, "title")
    assert arrows(figure) == 1
    assert len(figure.axes[0].patches) == 2  # the barrier is no message
    assert legend(figure) == {"in send", "in recv"}


def test_a_call_that_never_came_back_is_drawn_to_the_end_of_the_run():
    stuck = Call("send", 1.0, None, (4,), "float32", 16, peer=1)
    run = Run((Outcome(0, STUCK, calls=(stuck,), ended=2.0), Outcome(1, RETURNED, ended=0.5)), 2.0)
    figure = draw_messages(run)
    (bar,) = figure.axes[0].patches
    assert bar.get_width() == pytest.approx(1000)
    assert legend(figure) == {"in send,\nfor ever"}


def test_a_run_without_messages_is_drawn_too():
    assert arrows(draw_messages(Run((Outcome(0, RETURNED),), 0.1))) == 0


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_the_plan_of_a_ring_adds_and_then_replaces(n):
    boards = list(_ring_boards(n))
    everyone = set(range(n))
    complete = [sum(ranks == everyone for row in holds for ranks in row) for _, holds, _ in boards]
    assert complete == [0] * (n - 1) + [n * k for k in range(1, n + 1)]
    assert all(sorted(leaving) == list(range(n)) for _, _, leaving in boards[:-1])
    assert boards[-1][2] == []


def test_the_plan_has_a_panel_for_each_step():
    figure = draw_ring_plan(4)
    assert len([axes for axes in figure.axes if axes.get_visible()]) == 7
    figure.canvas.draw()
