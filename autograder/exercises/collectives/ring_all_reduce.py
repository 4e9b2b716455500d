"""The ring all-reduce: the sum, its path and its bytes."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    call_and_show_input,
    collectives_used,
    comparison,
    input_changed,
    is_same,
    kind_text,
    not_a_tensor,
    numbers_text,
    peers_text,
    place_values,
    places_of,
    ranks_of,
    ranks_text,
    unequal_ends,
    unwaited,
    what_is_shown,
)
from autograder.exercises.collectives.sums import Counts, contributions, who_text
from autograder.verdict import Finding, Table
from course.measure.messages import SENDS, sends
from course.ranks.outcome import Run

_TOTAL = "every rank has the sum, and x is as it was"
_NEIGHBOURS = "messages go to ring neighbours only"
_BYTES = "2(n−1)/n of the tensor sent by each rank"


def call_transposed(
    answer: Callable[..., Any], x: torch.Tensor, transposed: bool
) -> dict[str, Any]:
    """Turn x on its side in the rank: how a tensor lies in memory does not travel with it."""
    return call_and_show_input(answer, x.t() if transposed else x)


def cases(generator: random.Random) -> list[Case]:
    def case(
        world_size: int, shape: tuple[int, ...], dtype: torch.dtype, transposed: bool = False
    ) -> Case:
        count = math.prod(shape)
        xs = [
            torch.tensor(place_values(generator, r, count)).to(dtype).view(shape)
            for r in range(world_size)
        ]
        given = tuple((x, transposed) for x in xs)
        seen = [x.t() if transposed else x for x in xs]
        return Case(given, seen, f"{ranks_of(world_size)}, {kind_text(seen[0])}")

    return [
        case(3, (10,), torch.float32),
        case(4, (3, 2), torch.int64, transposed=True),
        case(2, (1,), torch.float64),
        case(1, (4,), torch.float32),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs: list[torch.Tensor] = case.expected
    found = list(unwaited(run, _TOTAL)) or list(input_changed(xs, run, _TOTAL))
    found = found or unequal_ends(run, list(_values(xs, run)))
    found += collectives_used(
        run, _NEIGHBOURS, "Build it from point-to-point messages between neighbours."
    )
    found = found or list(_neighbours(run))
    yield from found or _bytes(xs[0], run)


def _values(xs: list[torch.Tensor], run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(xs)
    total = torch.stack(xs).sum(0)
    found = list(not_a_tensor(values, [total] * size, _TOTAL))
    yield from found
    if found or all(is_same(value, total) for value in values):
        return
    flat = [value.reshape(-1).tolist() for value in values]
    parts = [x.reshape(-1).tolist() for x in xs]
    wanted = total.reshape(-1).tolist()
    counts = [contributions(got, parts) for got in flat]
    code, why, advice = _why_not_the_sum(flat, wanted, counts, size)
    columns = ("rank", "elements", "hold", "the sum of ranks", "wanted")
    table = Table(columns, tuple(_by_stretch(flat, counts, wanted)))
    if code in ("averaged", "aliased"):
        table = comparison(values, [total] * size)
    yield Finding(code, why, property=_TOTAL, table=table, advice=advice)


def _by_stretch(
    flat: Sequence[Sequence[float]], counts: Sequence[Sequence[Counts]], wanted: Sequence[float]
) -> Iterator[tuple[str, ...]]:
    """A row for each stretch of neighbouring elements that are right or wrong in the same way."""
    for rank, (values, who) in enumerate(zip(flat, counts, strict=True)):
        at = 0
        for key, stretch in itertools.groupby(who):
            end = at + len(list(stretch))
            names = f"{at}" if end == at + 1 else f"{at} to {end - 1}"
            numbers, should = numbers_text(values[at:end], 4), numbers_text(wanted[at:end], 4)
            yield str(rank), names, numbers, who_text(key), should
            at = end


def _why_not_the_sum(
    flat: Sequence[Sequence[float]],
    wanted: Sequence[float],
    counts: Sequence[Sequence[Counts]],
    size: int,
) -> tuple[str, str, str]:
    """Code, cause and advice for results that are not the sum."""
    length = len(wanted)
    full = (1,) * size
    right = [[c == full for c in row] for row in counts]
    whole = length // size * size
    known = [c for row in counts for c in row if c is not None]
    own = [tuple(int(r == rank) for r in range(size)) for rank in range(size)]
    if all(_near(v * size, w) for values in flat for v, w in zip(values, wanted, strict=True)):
        return (
            "averaged",
            f"Every result is 1/{size} of the sum: this is the mean over the ranks.",
            "Leave the division to the caller. DDP divides; an all-reduce with SUM does not.",
        )
    if all(c == own[rank] for rank, row in enumerate(counts) for c in row):
        return (
            "own_tensor",
            "Every rank returns the numbers that it began with.",
            "What arrives must be added, and the result returned.",
        )
    if whole < length and all(all(r[:whole]) and not any(r[whole:]) for r in right):
        return (
            "remainder",
            f"Elements 0 to {whole - 1} are right and those after them are not: {length} // {size} "
            f"is {length // size}, and what is left over belongs to no chunk.",
            "Let the chunks differ by one element (torch.tensor_split), or pad the tensor to a "
            "multiple of n and cut the padding off at the end.",
        )
    if all(sorted(values) == sorted(wanted) for values in flat):
        return (
            "chunks_swapped",
            "Every sum is complete, but the chunks are not in their places.",
            "Put the result of chunk i where chunk i of x was.",
        )
    if len(known) == sum(len(row) for row in counts):
        if any(n > 1 for c in known for n in c):
            return (
                "counted_twice",
                "Some ranks' numbers are in the result more than once.",
                "In the first n − 1 steps a chunk that arrives is added; in the last n − 1 it is "
                "complete already, and replaces what was there.",
            )
        covered = [any(row[i] for row in right) for i in range(length)]
        if all(covered) and not any(all(row) for row in right):
            return (
                "no_all_gather",
                "Every chunk is complete on some rank, but no rank has them all: the sum was "
                "scattered and not gathered.",
                "n − 1 more steps carry each finished chunk round the ring.",
            )
        return (
            "partial_sums",
            "Some elements hold the numbers of some ranks only. The table says whose.",
            "Follow one chunk on paper. In step s, which chunk does rank r send, which does it "
            "receive, and after how many steps has a chunk met every rank?",
        )
    chunk = math.ceil(length / size)
    if length > chunk and all(v[:-chunk] == v[chunk:] for v in flat):
        return (
            "aliased",
            "Every chunk of the result holds the same numbers: the chunks are one tensor under "
            "several names.",
            "[t] * n puts the same tensor into the list n times. Make n: [torch.zeros(k) for _ in "
            "range(n)].",
        )
    return (
        "wrong_value",
        "Some elements are no sum of the ranks' numbers.",
        "Are all buffers of x's dtype, and is each filled before it is read?",
    )


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-5)


def _neighbours(run: Run) -> Iterator[Finding]:
    size = len(run)
    peers = [
        sorted({t.call.peer for t in sends(run, r) if t.call.peer is not None}) for r in range(size)
    ]
    # With two or three ranks everybody is a neighbour; a ring still sends one way round only.
    astray = [
        r
        for r in range(size)
        if len(peers[r]) > 1 or not set(peers[r]) <= {(r + 1) % size, (r - 1) % size}
    ]
    if not astray:
        return
    rank = astray[0]
    yield Finding(
        "not_a_ring",
        f"The sum is right, but rank {rank} sends to {ranks_text(peers[rank])}; in a ring it sends "
        "to one of its two neighbours only, in every step.",
        property=_NEIGHBOURS,
        table=Table(
            ("rank", "sent to", "its neighbours"),
            tuple(
                (str(r), peers_text(peers[r]), f"{(r - 1) % size} and {(r + 1) % size}")
                for r in range(size)
            ),
        ),
        places=places_of(run, lambda c: c.op in SENDS),
        advice="A ring uses each link in one direction, and all links at the same time. Send to "
        "(rank + 1) % n, receive from (rank - 1) % n, in every step.",
    )


def _bytes(x: torch.Tensor, run: Run) -> Iterator[Finding]:
    size, item = len(run), x.element_size()
    allowed = 2 * (size - 1) * math.ceil(x.numel() / size) * item
    least = 2 * (size - 1) * x.numel() * item  # by all ranks together
    sent = [sum(t.call.bytes for t in sends(run, rank)) for rank in range(size)]
    table = Table(
        ("rank", "messages", "bytes sent", "at most"),
        tuple((str(r), str(len(sends(run, r))), str(sent[r]), str(allowed)) for r in range(size)),
    )
    places = places_of(run, lambda c: c.op in SENDS)
    if sum(sent) < least:
        yield Finding(
            "too_few_bytes",
            f"The sum is right, but all ranks together sent {sum(sent)} bytes, and no all-reduce "
            f"over a ring can do with less than {least}: the numbers went another way.",
            property=_BYTES,
            table=table,
            places=places,
            advice="Send them with dist.send and dist.recv (or isend, irecv), in x's dtype.",
        )
    elif max(sent) > allowed:
        rank = sent.index(max(sent))
        largest = max(t.call.bytes for t in sends(run, rank))
        why = f"The sum is right, but rank {rank} sent {sent[rank]} bytes; {allowed} are enough"
        advice = "Count the steps: n − 1 to add up, and n − 1 to pass the finished chunks round."
        if largest == x.numel() * item:
            why += ": it sends the whole tensor in every message"
            advice = f"Cut x into {size} chunks, and send one chunk in each step."
        yield Finding(
            "too_many_bytes", f"{why}.", property=_BYTES, table=table, places=places, advice=advice
        )


RING_ALL_REDUCE = Exercise(
    name="ring_all_reduce",
    title="The ring all-reduce",
    properties=(Property(_TOTAL, 2), Property(_NEIGHBOURS, 1), Property(_BYTES, 2)),
    cases=cases,
    examine=examine,
    hint="Work on a flat copy, cut by `torch.tensor_split` into n chunks, whatever its length "
    "(`torch.chunk` may give fewer).\n"
    "Count the steps s from 0. In the first n − 1, rank r sends chunk (r − s) mod n to the right, "
    "and *adds* what arrives to the chunk that its left neighbour sent: put r − 1 for r to see "
    "which that is. Then rank r has the whole sum in the chunk that it received last. It sends "
    "that one first in the n − 1 steps that follow, where what arrives *replaces* the chunk.\n"
    "In each step isend, then recv, then wait: if all ranks blocked in send, nobody would receive.",
    difficulty=4,
    minutes=35,
    backend="gloo",
    call=call_transposed,
)
