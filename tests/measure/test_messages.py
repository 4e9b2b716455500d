"""Messages from logs of calls, and the rounds that they need."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.measure.messages import messages, receives, rounds, sends
from course.ranks.outcome import RETURNED, Call, Outcome, Run


class Log:
    """Writes down by hand, in the order of time, what the ranks of a run did."""

    def __init__(self, size: int) -> None:
        self._calls: list[list[Call]] = [[] for _ in range(size)]
        self._now = 0.0

    def blocking(self, source: int, target: int, anyone: bool = False) -> Log:
        begin, end = self._tick(), self._tick()
        self._add(source, Call("send", begin, end, (4,), "float32", 16, peer=target))
        peer = None if anyone else source
        self._add(target, Call("recv", begin, end, (4,), "float32", 16, peer=peer))
        return self

    def start(self, rank: int, op: str, peer: int, shape: tuple[int, ...] = (4,)) -> Log:
        self._add(rank, Call(op, self._tick(), self._tick(), shape, "float32", 16, peer=peer))
        return self

    def wait(self, rank: int, op: str, peer: int, shape: tuple[int, ...] = (4,)) -> Log:
        begin, end = self._tick(), self._tick()
        self._add(rank, Call("wait", begin, end, shape, "float32", peer=peer, waits_for=op))
        return self

    def run(self) -> Run:
        outcomes = (Outcome(r, RETURNED, calls=tuple(c)) for r, c in enumerate(self._calls))
        return Run(tuple(outcomes), self._now)

    def _tick(self) -> float:
        self._now += 1.0
        return self._now

    def _add(self, rank: int, call: Call) -> None:
        self._calls[rank].append(call)


def pairs(run: Run) -> list[tuple[int, int]]:
    return [(m.source, m.target) for m in messages(run)]


def needed(run: Run) -> int:
    return max(rounds(messages(run)), default=0)


def test_between_two_ranks_messages_arrive_in_the_order_of_sending():
    log = Log(2).start(0, "isend", 1, (1,)).start(0, "isend", 1, (2,))
    log.start(1, "recv", 0, (1,)).start(1, "recv", 0, (2,))
    found = messages(log.run())
    assert [(m.sent.call.shape, m.received.call.shape) for m in found] == [
        ((1,), (1,)),
        ((2,), (2,)),
    ]


def test_a_receive_from_anyone_takes_what_no_other_receive_claims():
    log = Log(3).start(0, "isend", 2).start(1, "isend", 2)
    log.start(2, "recv", 1)
    run = log.run()
    anyone = Call("recv", 9.0, 10.0, (4,), "float32", 16)
    last = Outcome(2, RETURNED, calls=(anyone, *run[2].calls))
    assert pairs(Run((run[0], run[1], last), 10.0)) == [(0, 2), (1, 2)]


def test_a_send_that_nobody_received_is_no_message():
    log = Log(2).start(0, "isend", 1)
    assert messages(log.run()) == []
    assert len(sends(log.run(), 0)) == 1


def test_a_transfer_is_done_when_its_handle_was_waited_on():
    log = Log(2).start(0, "isend", 1).start(0, "isend", 1).wait(0, "isend", 1)
    log.start(1, "irecv", 0)
    run = log.run()
    first, second = sends(run, 0)
    assert first.done == run[0].calls[-1].end
    assert second.done == float("inf")
    assert receives(run, 1)[0].done == float("inf")


def chain(size: int) -> Run:
    log = Log(size)
    for rank in range(size - 1):
        log.blocking(rank, rank + 1)
    return log.run()


def flat(size: int) -> Run:
    log = Log(size)
    for rank in range(1, size):
        log.blocking(0, rank)
    return log.run()


def tree(size: int, source: int, order: Iterable[int]) -> Run:
    """A binomial tree; ``order`` says in which order the messages of a round are logged."""
    log, holders = Log(size), 1
    while holders < size:
        senders = [r for r in range(holders) if r + holders < size]
        for rank in sorted(senders, key=lambda r: list(order).index(r)):
            log.blocking((rank + source) % size, (rank + holders + source) % size)
        holders *= 2
    return log.run()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_a_chain_and_a_flat_broadcast_need_a_round_for_every_message(size):
    assert needed(chain(size)) == size - 1
    assert needed(flat(size)) == size - 1


@given(st.data(), st.integers(1, 17))
def test_a_tree_needs_log2_rounds_in_whatever_order_its_messages_travel(data, size):
    source = data.draw(st.integers(0, size - 1))
    order = data.draw(st.permutations(range(size)))
    run = tree(size, source, order)
    assert len(messages(run)) == size - 1
    assert needed(run) == (size - 1).bit_length()


def test_sends_started_together_leave_one_after_the_other():
    log = Log(4)
    for rank in (1, 2, 3):
        log.start(0, "isend", rank)
    for rank in (3, 1, 2):
        log.start(rank, "recv", 0)
    for rank in (1, 2, 3):
        log.wait(0, "isend", rank)
    assert needed(log.run()) == 3


@pytest.mark.parametrize(("size", "steps"), [(2, 1), (3, 4), (5, 8)])
def test_a_ring_step_is_one_round_when_sends_and_receives_overlap(size, steps):
    log = Log(size)
    for _ in range(steps):
        for rank in range(size):
            log.start(rank, "isend", (rank + 1) % size)
        for rank in range(size):
            log.start(rank, "recv", (rank - 1) % size)
        for rank in range(size):
            log.wait(rank, "isend", (rank + 1) % size)
    assert needed(log.run()) == steps


def test_blocking_exchange_takes_two_rounds_by_parity_and_n_in_a_chain():
    by_parity = Log(4).blocking(0, 1).blocking(2, 3).blocking(1, 2).blocking(3, 0)
    assert needed(by_parity.run()) == 2
    one_by_one = Log(4).blocking(3, 0).blocking(2, 3).blocking(1, 2).blocking(0, 1)
    assert needed(one_by_one.run()) == 4


def test_orders_that_contradict_each_other_are_counted_all_the_same():
    log = Log(2)
    log.start(0, "isend", 1, (1,)).start(0, "isend", 1, (2,))
    run = log.run()
    late = Call("irecv", 9.0, 9.1, (2,), peer=0), Call("irecv", 9.2, 9.3, (1,), peer=0)
    run = Run((run[0], Outcome(1, RETURNED, calls=late)), 10.0)
    first, second = messages(run)
    swapped = [type(first)(first.sent, second.received), type(first)(second.sent, first.received)]
    assert sorted(rounds(swapped)) == [1, 2]
