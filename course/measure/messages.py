"""The point-to-point messages of a run, put together from its ranks' logs of calls."""

from __future__ import annotations

import dataclasses
import graphlib
import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course.ranks.outcome import Call, Run

SENDS = ("send", "isend")
RECEIVES = ("recv", "irecv")
BLOCKING = ("send", "recv")


@dataclass(frozen=True)
class Transfer:
    """One end of a message: the call that began it, and when it was known to be done.

    ``number`` is its place among the rank's own sends (or receives). ``done`` is when the
    call returned, for a blocking one, and when its handle was waited on, for the others:
    infinite if that never happened.
    """

    rank: int
    call: Call
    number: int
    done: float


@dataclass(frozen=True)
class Message:
    """A send and the receive that took it."""

    sent: Transfer
    received: Transfer

    @property
    def source(self) -> int:
        return self.sent.rank

    @property
    def target(self) -> int:
        return self.received.rank

    @property
    def bytes(self) -> int:
        return self.sent.call.bytes


def sends(run: Run, rank: int) -> list[Transfer]:
    """The rank's sends, in the order in which it issued them."""
    return _transfers(run, rank, SENDS)


def receives(run: Run, rank: int) -> list[Transfer]:
    """The rank's receives, in the order in which it issued them."""
    return _transfers(run, rank, RECEIVES)


def messages(run: Run) -> list[Message]:
    """The messages that were both sent and received, by the time at which they were sent.

    Between two ranks, messages arrive in the order in which they were sent. A receive that
    names no source takes the oldest message that no other receive has a claim to.
    """
    waiting: defaultdict[tuple[int, int], deque[Transfer]] = defaultdict(deque)
    for rank in range(len(run)):
        for sent in sends(run, rank):
            if sent.call.peer is not None:
                waiting[rank, sent.call.peer].append(sent)
    found = []
    for rank in range(len(run)):
        from_anyone = []
        for received in receives(run, rank):
            if received.call.peer is None:
                from_anyone.append(received)
            elif queue := waiting[received.call.peer, rank]:
                found.append(Message(queue.popleft(), received))
        left = sorted(
            (sent for (_, target), queue in waiting.items() if target == rank for sent in queue),
            key=lambda sent: sent.call.begin,
        )
        found += [Message(s, r) for s, r in zip(left, from_anyone, strict=False)]
    return sorted(found, key=lambda message: message.sent.call.begin)


def rounds(found: Sequence[Message]) -> list[int]:
    """The round in which each message can travel at the earliest; the first round is 1.

    In one round a rank sends at most one message and receives at most one, in the order of
    its calls. A message travels after every transfer that either of its ranks had completed
    before it began this one: what a blocking call has returned from, or a wait has ended.
    """
    before: dict[int, set[int]] = {
        i: {
            j
            for j, other in enumerate(found)
            if any(_precedes(o, t) for o in _ends(other) for t in _ends(message))
        }
        for i, message in enumerate(found)
    }
    try:
        order = list(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError:  # only issue order can close a cycle; then take time's order
        order = sorted(before, key=lambda i: min(t.done for t in _ends(found[i])))
    first: dict[int, int] = {}
    for i in order:
        first[i] = 1 + max((first.get(j, 0) for j in before[i]), default=0)
    return [first[i] for i in range(len(found))]


def _ends(message: Message) -> tuple[Transfer, Transfer]:
    return message.sent, message.received


def _precedes(one: Transfer, other: Transfer) -> bool:
    if one.rank != other.rank or one is other:
        return False
    same_way = (one.call.op in SENDS) == (other.call.op in SENDS)
    return one.done <= other.call.begin or (same_way and one.number < other.number)


def _transfers(run: Run, rank: int, ops: tuple[str, ...]) -> list[Transfer]:
    found: list[Transfer] = []
    unwaited: defaultdict[tuple[Any, ...], deque[int]] = defaultdict(deque)
    for call in run[rank].calls:
        if call.op in ops:
            blocking = call.op in BLOCKING
            if not blocking:
                unwaited[call.op, call.peer, call.shape].append(len(found))
            done = call.end if blocking and call.end is not None else math.inf
            found.append(Transfer(rank, call, len(found), done))
        elif call.waits_for in ops and call.end is not None:
            # Of handles that look the same, the oldest: they complete in this order.
            if started := unwaited[call.waits_for, call.peer, call.shape]:
                place = started.popleft()
                found[place] = dataclasses.replace(found[place], done=call.end)
    return found
