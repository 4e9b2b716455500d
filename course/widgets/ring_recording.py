"""A recording of a learner's own all-reduce: what each rank's chunks hold after each step.

The function runs once on real ranks, on numbers that say whose they are
(:mod:`course.widgets.trace`). From what was in its messages and in what it returned follows
what each rank did with what arrived: nothing of the function's code is looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from course.measure.messages import Message, messages, rounds
from course.ranks import launch
from course.ranks.outcome import Run
from course.widgets import trace
from course.widgets.trace import Counts, Reader

ADDED, REPLACED, IGNORED = "added", "replaces", "not used"
Holds = Counts | None  # None: no sum of the ranks' numbers


@dataclass(frozen=True)
class Travel:
    """A chunk on its way: which ranks' numbers were in it, and what became of it."""

    source: int
    target: int
    chunk: int
    counts: Counts
    effect: str  # ADDED, REPLACED or IGNORED
    sent_at: int | None = None  # lines of the caller's code
    received_at: int | None = None


@dataclass(frozen=True)
class Recording:
    """An all-reduce, step by step. In a step, a rank sends and receives at most one message.

    ``boards[k][rank][chunk]`` is how often each rank's number is in that chunk after k steps,
    None where it is no sum of the ranks' numbers. ``travels[k]`` are the chunks that travelled
    in step k + 1. ``bytes_sent[k][rank]`` is what the rank has sent in the first k steps.
    ``chunks`` are the elements of each chunk: neighbours that were always treated alike.
    """

    run: Run
    size: int
    chunks: tuple[range, ...]
    boards: tuple[tuple[tuple[Holds, ...], ...], ...]
    travels: tuple[tuple[Travel, ...], ...]
    bytes_sent: tuple[tuple[int, ...], ...]

    @property
    def ranks(self) -> int:
        return len(self.run)

    @property
    def steps(self) -> int:
        return len(self.travels)

    @property
    def tensor_bytes(self) -> int:
        return 8 * self.size

    def complete(self, step: int) -> int:
        """How many squares (rank and chunk) hold the whole sum after ``step`` steps."""
        return sum(is_complete(held) for row in self.boards[step] for held in row)


def is_complete(held: Holds) -> bool:
    """Whether every rank is in the sum, once."""
    return held is not None and set(held) == {1}


def record(
    function: Callable[..., Any], ranks: int = 4, size: int | None = None, timeout: float = 30.0
) -> Recording:
    """Run an all-reduce on real ranks and record what it sends.

    Args:
        function: takes a float64 tensor of shape (size,), and returns the sum over the ranks.
            It sends by dist.send and dist.isend, also through batch_isend_irecv.
        ranks: 1 to 8.
        size: elements of the tensor; three for each rank if not given.
        timeout: seconds after which the ranks are ended.

    Returns:
        The recording. If the run failed, ``run.failure`` says why and there are no steps.

    Raises:
        ValueError: the numbers make no sense.
    """
    if not 1 <= ranks <= trace.MAX_RANKS:
        raise ValueError(f"ranks is {ranks}; a ring of 1 to {trace.MAX_RANKS} can be recorded.")
    size = 3 * ranks if size is None else size
    if size < 1:
        raise ValueError(f"size is {size}; the tensor needs at least one element.")
    traced = functools.partial(trace.run_traced, function, size=size)
    return recording_of(launch(traced, ranks, backend="gloo", timeout=timeout), size)


def recording_of(run: Run, size: int) -> Recording:
    """The recording of a run whose ranks called :func:`course.widgets.trace.run_traced`."""
    seen = _see(run, size)
    ranks = range(len(run))
    told = [[_tell(seen, rank, element) for rank in ranks] for element in range(size)]
    carriers = [tuple(i for i, there in enumerate(seen.there) if e in there) for e in range(size)]
    chunks = _alike(list(zip(told, carriers, strict=True)))
    after = range(seen.steps + 1)
    return Recording(
        run,
        size,
        chunks,
        tuple(
            tuple(tuple(told[chunk.start][rank].after(step) for chunk in chunks) for rank in ranks)
            for step in after
        ),
        tuple(tuple(_travels(step, chunks, seen, told)) for step in after[1:]),
        tuple(tuple(seen.bytes_sent(rank, step) for rank in ranks) for step in after),
    )


@dataclass(frozen=True)
class _Seen:
    """The messages of a run, the step of each, and whose numbers were in each for an element."""

    run: Run
    size: int
    found: list[Message]
    step: list[int]
    there: list[dict[int, Counts]]

    @property
    def steps(self) -> int:
        return max(self.step, default=0)

    def bytes_sent(self, rank: int, steps: int) -> int:
        pairs = zip(self.found, self.step, strict=True)
        return sum(m.bytes for m, step in pairs if m.source == rank and step <= steps)


def _see(run: Run, size: int) -> _Seen:
    found = messages(run) if run.ok else []
    reader = Reader(len(run), size)
    there = []
    for message in found:
        sent = run[message.source].value["sent"]
        at = message.sent.number
        read = map(reader.read, sent[at].tolist()) if at < len(sent) else ()
        there.append(dict(known for known in read if known is not None))
    return _Seen(run, size, found, rounds(found), there)


def _travels(
    step: int, chunks: Sequence[range], seen: _Seen, told: list[list[_Story]]
) -> Iterator[Travel]:
    found = sorted(enumerate(seen.found), key=lambda pair: (pair[1].source, pair[0]))
    for i, message in found:
        for c, chunk in enumerate(chunks):
            first = chunk.start
            if seen.step[i] == step and first in seen.there[i]:
                yield Travel(
                    message.source,
                    message.target,
                    c,
                    seen.there[i][first],
                    told[first][message.target].effects[i],
                    message.sent.call.line,
                    message.received.call.line,
                )


def _alike(elements: Sequence[Any]) -> tuple[range, ...]:
    """Stretches of neighbours that are equal."""
    starts = [0]
    for _, stretch in groupby(elements):
        starts.append(starts[-1] + len(list(stretch)))
    return tuple(range(a, b) for a, b in pairwise(starts))


# ------------------------------------------------------ one element's story on one rank


@dataclass(frozen=True)
class _Event:
    """What was seen of an element on a rank. ``step`` is the last step that had passed then."""

    kind: str  # "arrives", "leaves", "returned"
    counts: Holds
    step: int
    message: int = -1


@dataclass
class _Story:
    """What a rank held of one element: (step, counts) in order, and what arrivals did."""

    holds: list[tuple[int, Holds]]
    effects: dict[int, str]

    def after(self, step: int) -> Holds:
        return [held for at, held in self.holds if at <= step][-1]


def _tell(seen: _Seen, rank: int, element: int) -> _Story:
    timed: list[tuple[float, _Event]] = []
    for i, message in enumerate(seen.found):
        counts, step = seen.there[i].get(element), seen.step[i]
        if counts is not None and message.source == rank:
            timed.append((message.sent.call.begin, _Event("leaves", counts, step - 1)))
        if counts is not None and message.target == rank:
            timed.append((message.received.done, _Event("arrives", counts, step, i)))
    events = [event for _, event in sorted(timed, key=lambda pair: pair[0])]
    ranks = len(seen.run)
    value = seen.run[rank].value["value"] if seen.steps else None
    if value is not None and value.numel() == seen.size:
        read = Reader(ranks, seen.size).read(value[element].item())
        in_place = read is not None and read[0] == element
        events.append(_Event("returned", read[1] if read and in_place else None, seen.steps))
    return likeliest(tuple(int(r == rank) for r in range(ranks)), events)


def likeliest(own: Counts, events: Iterable[_Event]) -> _Story:
    """The simplest account of an element that began as ``own`` and was seen at these events.

    What arrives is added, or replaces what was there, or is not used; which one shows in what
    the rank sends or returns later. Of all accounts the one with the smallest cost is taken
    (the Viterbi algorithm over what the rank may hold).
    """
    paths: dict[Holds, _Path] = {own: _Path(0.0, ((0, own),), (), None)}
    for event in events:
        following: dict[Holds, _Path] = {}
        for held, path in paths.items():
            for new, cost, effect in _ways(event, held, path.arrived):
                longer = path.then(event, new, cost, effect)
                if new not in following or longer.cost < following[new].cost:
                    following[new] = longer
        few = sorted(following.items(), key=lambda item: item[1].cost)[:_MOST_PATHS]
        paths = dict(few)
    best = min(paths.values(), key=lambda path: path.cost)
    return _Story(list(best.holds), dict(best.effects))


_MOST_PATHS = 64


@dataclass(frozen=True)
class _Path:
    cost: float
    holds: tuple[tuple[int, Holds], ...]
    effects: tuple[tuple[int, str], ...]
    arrived: Holds  # what arrived last

    def then(self, event: _Event, held: Holds, cost: float, effect: str) -> _Path:
        arrives = event.kind == "arrives"
        return _Path(
            self.cost + cost,
            (*self.holds, (event.step, held)),
            (*self.effects, (event.message, effect)) if arrives else self.effects,
            event.counts if arrives else self.arrived,
        )


def _ways(event: _Event, held: Holds, arrived: Holds) -> Iterator[tuple[Holds, float, str]]:
    """What the rank may hold after an event, how odd that would be, and the arrival's effect."""
    seen = event.counts
    if event.kind == "arrives":
        assert seen is not None
        if held is not None:
            total = tuple(a + b for a, b in zip(held, seen, strict=True))
            yield total, 0.4 if max(total) > 1 else 0.0, ADDED
        yield seen, 0.1, REPLACED
        yield held, 1.0, IGNORED
    elif seen == held:
        yield held, 0.0, ""
    elif event.kind == "leaves" and seen == arrived:
        yield held, 0.6, ""  # passed on as it came; what the rank holds is another tensor
    else:
        yield seen, 3.0, ""
