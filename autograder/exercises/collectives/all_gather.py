"""Every rank gets every rank's tensor."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    collectives_used,
    input_changed,
    is_same,
    kind_text,
    listed_text,
    named_numbers,
    ranks_of,
    unequal_ends,
    unwaited,
    what_is_shown,
)
from autograder.exercises.collectives.tensor_lists import (
    Tensors,
    aliased,
    all_same,
    call_and_show_lists,
    count_bytes,
    lists_table,
    not_a_list,
)
from autograder.verdict import Finding
from course.ranks.outcome import Run

_GATHERED = "every rank has all tensors, by rank"
_BYTES = "each rank sends n − 1 tensors"


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        xs = [named_numbers(generator, r, shape, dtype) for r in range(world_size)]
        return Case(tuple((x,) for x in xs), xs, f"{ranks_of(world_size)}, {kind_text(xs[0])}")

    return [
        case(3, (3,), torch.float32),
        case(4, (2, 1), torch.int64),
        case(2, (2,), torch.bfloat16),
        case(1, (3,), torch.float64),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs: list[torch.Tensor] = case.expected
    found = list(unwaited(run, _GATHERED)) or list(input_changed(xs, run, _GATHERED))
    found = found or unequal_ends(run, list(_values(xs, run)))
    found += collectives_used(run, _BYTES, "Build it from point-to-point messages.")
    yield from found or count_bytes(
        run,
        (len(xs) - 1) * xs[0].numel() * xs[0].element_size(),
        _BYTES,
        what="every other rank needs one tensor that it does not have, n − 1 times",
        too_many="If everything passes through rank 0, rank 0's link carries it all. Either every "
        "rank sends its own tensor to all others, or, in a ring, passes on what arrived last.",
    )


def _values(xs: list[torch.Tensor], run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(xs)
    wanted = [xs] * size
    found = list(not_a_list(values, wanted, _GATHERED)) or list(aliased(run, _GATHERED))
    yield from found
    if found or all(all_same(value, xs) for value in values):
        return
    rank = next(r for r in range(size) if not all_same(values[r], xs))
    code, why, advice = _why_not(xs, rank, values[rank])
    yield Finding(code, why, property=_GATHERED, table=lists_table(values, wanted), advice=advice)


def _why_not(xs: list[torch.Tensor], rank: int, got: Tensors) -> tuple[str, str, str]:
    holders = [next((r for r, x in enumerate(xs) if is_same(t, x)), None) for t in got]
    wrong = [i for i, holder in enumerate(holders) if holder != i]
    if set(holders) == set(range(len(xs))):
        return (
            "wrong_order",
            f"Rank {rank} has all tensors, but entry {wrong[0]} is rank {holders[wrong[0]]}'s.",
            "Entry i belongs to rank i, on every rank, whatever the order in which they arrive. "
            "In a ring, what arrives in step s has come s + 1 ranks far.",
        )
    if wrong == [rank]:
        return (
            "own_missing",
            f"Rank {rank} has all tensors but its own in entry {rank}.",
            "Copy x into entry `rank`; no message brings it.",
        )
    if any(holders[i] is not None for i in wrong):
        i = next(i for i in wrong if holders[i] is not None)
        return (
            "wrong_tensor",
            f"On rank {rank}, entry {i} holds rank {holders[i]}'s tensor; rank {i}'s is missing.",
            "In a ring, pass on what arrived in the step before, not x again. And which rank's "
            "is it?",
        )
    return (
        "wrong_value",
        f"On rank {rank}, nothing that was sent is in {_entries(wrong)}.",
        "Is there a recv for each of them, and is it complete before you read it?",
    )


def _entries(numbers: list[int]) -> str:
    return f"entr{'y' if len(numbers) == 1 else 'ies'} {listed_text(numbers)}"


ALL_GATHER = Exercise(
    name="all_gather",
    title="Everybody's tensor, everywhere",
    properties=(Property(_GATHERED, 1), Property(_BYTES, 1)),
    cases=cases,
    examine=examine,
    hint="The ring does it in n − 1 steps: first send x to the right, then always what arrived "
    "last. What arrives in step s (from 0) comes from rank `(rank - 1 - s) % n`: receive it "
    "straight into that entry of the list. Start with isend, recv, then wait: all ranks send at "
    "the same time.\n"
    "Or start an isend to every other rank and an irecv from every other rank, and wait for all "
    "of them. Both send n − 1 tensors a rank.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_and_show_lists,
)
