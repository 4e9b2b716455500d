"""One rank's tensor reaches all, in as few rounds as can be."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    collectives_used,
    is_same,
    kind_text,
    places_of,
    ranks_of,
    ranks_text,
    short_text,
    unequal_ends,
    unwaited,
    what_is_shown,
)
from autograder.verdict import Finding, Table
from course.measure.messages import SENDS, messages, receives, rounds, sends
from course.ranks.outcome import Run

_COPIED = "every rank holds src's tensor"
_ROUNDS = "⌈log₂ n⌉ rounds"
_MESSAGES = "n − 1 messages"


def call_in_place(answer: Callable[..., Any], x: torch.Tensor, src: int) -> dict[str, Any]:
    """The answer fills x in place; what it returns only helps to say what went wrong."""
    returned = answer(x, src)
    return {"returned": returned, "x": x}


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, src: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        count = math.prod(shape)
        data = [generator.randint(1, 99) for _ in range(count)]
        # The others' buffers hold a number that says whose they are; nobody's is zero.
        xs = [
            torch.tensor(data if r == src else [-1 - r] * count).to(dtype).view(shape)
            for r in range(world_size)
        ]
        label = f"{ranks_of(world_size)}, from rank {src}, {kind_text(xs[0])}"
        return Case(tuple((x, src) for x in xs), (xs, src), label)

    return [
        case(4, 1, (2, 3), torch.float32),
        case(3, 2, (5,), torch.int64),
        case(7, 4, (1, 2, 2), torch.bfloat16),
        case(2, 1, (3,), torch.float64),
        case(1, 0, (2,), torch.int32),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs, src = case.expected
    found = list(unwaited(run, _COPIED))
    found = found or unequal_ends(run, list(_values(xs, src, run)))
    found += collectives_used(
        run, _MESSAGES, "Build it from dist.send and dist.recv (or isend and irecv)."
    )
    found = found or list(_count_messages(src, run))
    yield from found or _count_rounds(run)


def _values(xs: list[torch.Tensor], src: int, run: Run) -> Iterator[Finding]:
    values = what_is_shown(run, "x")
    wrong = [r for r in range(len(xs)) if not is_same(values[r], xs[src])]
    if not wrong:
        return
    returned = what_is_shown(run, "returned")
    untouched = [r for r in wrong if r != src and is_same(values[r], xs[r])]
    zero = xs[0]
    table = Table(
        ("rank", "x before", "x afterwards"),
        tuple((str(r), short_text(xs[r]), short_text(values[r])) for r in range(len(xs))),
    )
    code = "wrong_value"
    advice = "Only a rank that already holds the data may send it on."
    if src != 0 and all(is_same(value, zero) for value in values):
        code = "wrong_root"
        why = f"Every rank holds what rank 0 had; the data of this case is rank {src}'s."
        advice = (
            "Number the ranks from src: relative = (rank - src) % n is 0 at the root. Build the "
            "tree on relative ranks, and turn back to real ranks only to send and receive."
        )
    elif untouched and all(is_same(returned[r], xs[src]) for r in untouched):
        code = "not_in_place"
        why = f"The data reached {ranks_text(untouched)}, but not the x that was handed in."
        advice = (
            "x is a buffer to fill, as for dist.broadcast: dist.recv(x, ...) writes into it, and "
            "x.copy_(other) does; x = other only makes the name x point elsewhere."
        )
    elif src in wrong:
        code = "source_overwritten"
        why = f"Rank {src}, where the data was, has lost it: something was received into its x."
        advice = "The root only sends."
    elif len(untouched) == len(wrong):
        code = "not_reached"
        why = f"Nothing arrived at {ranks_text(untouched)}: x is as it was handed in."
        advice = "Follow the tree on paper for this n and this src: who sends to that rank?"
    elif any(is_same(values[r], xs[o]) for r in wrong for o in range(len(xs)) if o not in (r, src)):
        code = "not_the_data"
        rank, other = next(
            (r, o) for r in wrong for o in range(len(xs)) if o != src and is_same(values[r], xs[o])
        )
        why = (
            f"Rank {rank} holds what was in rank {other}'s buffer: rank {other} sent it on before "
            "it had received anything."
        )
    else:
        why = f"What arrived at {ranks_text(wrong)} is not what rank {src} sent."
        advice = (
            "Bytes of one dtype, read as another, look like this: receive into x itself, or into "
            "torch.empty_like(x)."
        )
    yield Finding(code, why, property=_COPIED, table=table, advice=advice)


def _count_messages(src: int, run: Run) -> Iterator[Finding]:
    size = len(run)
    got = [len(receives(run, rank)) for rank in range(size)]
    sent = [len(sends(run, rank)) for rank in range(size)]
    if sum(sent) == size - 1:
        return
    table = Table(
        ("rank", "messages sent", "messages received", "needed"),
        tuple((str(r), str(sent[r]), str(got[r]), str(int(r != src))) for r in range(size)),
    )
    if sum(sent) < size - 1:
        code = "no_messages"
        why = f"The values are right, but only {sum(sent)} messages went by send and recv."
        advice = "Build it from dist.send and dist.recv (or isend and irecv)."
    else:
        code = "too_many_messages"
        rank = max(range(size), key=lambda r: got[r] - (r != src))
        why = (
            f"{sum(sent)} messages were sent where {size - 1} are enough: rank {rank} received "
            f"{got[rank]}, and needed {int(rank != src)}."
        )
        advice = (
            "Each rank receives once, and the root never. A rank that holds the data has nothing "
            "to receive, and one that does not has nothing to send."
        )
    yield Finding(
        code,
        why,
        property=_MESSAGES,
        table=table,
        places=places_of(run, lambda c: c.op in SENDS),
        advice=advice,
    )


def _count_rounds(run: Run) -> Iterator[Finding]:
    found = messages(run)
    numbers = rounds(found)
    needed, allowed = max(numbers, default=0), (len(run) - 1).bit_length()
    if needed <= allowed:
        return
    by_round = sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0])
    table = Table(
        ("round", "messages"),
        tuple(
            (str(number), ", ".join(f"{m.source} → {m.target}" for n, m in by_round if n == number))
            for number in range(1, needed + 1)
        ),
    )
    out = [len(sends(run, rank)) for rank in range(len(run))]
    why = f"This takes {needed} rounds for {len(run)} ranks; {allowed} are enough."
    if max(out) == len(run) - 1:
        root = out.index(max(out))
        why += f" Rank {root} sends every message itself, one after the other."
        advice = "Let every rank that has the data help: after each round, twice as many have it."
    elif max(out) == 1:
        why += " The data is handed from one rank to the next, and only one is ever sending."
        advice = "A rank that has passed the data on still has it, and can send it again."
    else:
        advice = "In every round, each rank that has the data should send it to one that has not."
    yield Finding(
        "rounds",
        why,
        property=_ROUNDS,
        table=table,
        places=places_of(run, lambda c: c.op in SENDS),
        advice=advice,
    )


BROADCAST_TREE = Exercise(
    name="broadcast_tree",
    title="One tells two, two tell four",
    properties=(Property(_COPIED, 1), Property(_MESSAGES, 1), Property(_ROUNDS, 1)),
    cases=cases,
    examine=examine,
    hint="Take src = 0 first. Before round k (counting from 0), ranks 0 to 2ᵏ − 1 have the data; "
    "in the round, each of them sends it to the rank 2ᵏ above itself, if there is one. So a rank "
    "sends if `rank < 2**k`, receives if `2**k <= rank < 2**(k + 1)`, and else has nothing to do.\n"
    "For another src, use `(rank - src) % n` in place of the rank, and add src again, modulo n, "
    "where you name a peer.",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_in_place,
)
