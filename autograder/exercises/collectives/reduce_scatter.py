"""Everybody's chunks are added up, and each rank keeps one sum."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    collectives_used,
    comparison,
    is_same,
    kind_text,
    not_a_tensor,
    place_values,
    ranks_of,
    short_text,
    unequal_ends,
    unwaited,
    what_is_shown,
)
from autograder.exercises.collectives.sums import Counts, contributions, who_text
from autograder.exercises.collectives.tensor_lists import (
    Tensors,
    all_same,
    call_and_show_lists,
    count_bytes,
    list_changed,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_REDUCED = "rank r has the sum of all ranks' chunk r"
_BYTES = "each rank sends n − 1 chunks"


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        count = math.prod(shape)

        def chunk(rank: int) -> torch.Tensor:
            return torch.tensor(place_values(generator, rank, count)).to(dtype).view(shape)

        given = [[chunk(r) for _ in range(world_size)] for r in range(world_size)]
        label = f"{ranks_of(world_size)}, chunks {kind_text(given[0][0])}"
        return Case(tuple((chunks,) for chunks in given), given, label)

    return [
        case(3, (4,), torch.float32),
        case(4, (2, 2), torch.int64),
        case(2, (3,), torch.float64),
        case(1, (2,), torch.int64),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    given: list[Tensors] = case.expected
    chunk = given[0][0]
    found = list(unwaited(run, _REDUCED)) or list(list_changed(given, run, _REDUCED))
    found = found or unequal_ends(run, list(_values(given, run)))
    found += collectives_used(run, _BYTES, "Build it from point-to-point messages.")
    yield from found or count_bytes(
        run,
        (len(given) - 1) * chunk.numel() * chunk.element_size(),
        _BYTES,
        what="no rank has to send the chunk that it keeps, nor any chunk twice",
        too_many="A rank needs only its own chunk from the others. Send chunk i towards rank i, "
        "and nothing else.",
    )


def _values(given: list[Tensors], run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(given)
    sums = [torch.stack([chunks[i] for chunks in given]).sum(0) for i in range(size)]
    found = list(not_a_tensor(values, sums, _REDUCED))
    yield from found
    if found or all_same(values, sums):
        return
    rank = next(r for r in range(size) if not is_same(values[r], sums[r]))
    code, why, advice = _why_not(given, sums, rank, values)
    table = comparison(values, sums)
    if code in ("partial_sums", "counted_twice"):
        table = _who_table(given, sums, values)
    yield Finding(code, why, property=_REDUCED, table=table, advice=advice)


def _counts(given: list[Tensors], rank: int, value: torch.Tensor) -> list[Counts]:
    parts = [chunks[rank].reshape(-1).tolist() for chunks in given]
    return contributions(value.reshape(-1).tolist(), parts)


def _who_table(given: list[Tensors], sums: Tensors, values: list[Any]) -> Table:
    def row(rank: int) -> tuple[str, ...]:
        who = {who_text(c) for c in _counts(given, rank, values[rank])}
        return (str(rank), short_text(values[rank]), " or ".join(sorted(who)),
                short_text(sums[rank]))  # fmt: skip

    return Table(
        ("rank", "returned", "the sum of ranks", "wanted"), tuple(row(r) for r in range(len(given)))
    )


def _why_not(
    given: list[Tensors], sums: Tensors, rank: int, values: list[Any]
) -> tuple[str, str, str]:
    size, value = len(given), values[rank]
    other = next((i for i in range(size) if is_same(value, sums[i])), None)
    if other is not None:
        return (
            "wrong_chunk",
            f"Rank {rank} has the complete sum of chunk {other}; it should keep chunk {rank}.",
            "In a ring, the chunk that a rank completes is the one that it receives in the last "
            "step. So rank r must begin with chunk r − 1, if it sends to the right: then chunk r "
            "arrives last.",
        )
    if is_same(value, given[rank][rank]):
        return (
            "own_tensor",
            f"Rank {rank} returns the chunk that it was given, and nobody else's is added.",
            "What arrives must be added, and the sum returned.",
        )
    if all(_is_near(values[r] * size, sums[r]) for r in range(size)):
        return (
            "averaged",
            f"Every result is 1/{size} of the sum: this is the mean over the ranks.",
            "Leave the division to the caller.",
        )
    if is_same(value, torch.stack(sums).sum(0)):
        return (
            "all_chunks_added",
            f"Rank {rank} has the sum of all chunks, not that of chunk {rank} alone.",
            "Keep a sum for each chunk. In [torch.zeros(k)] * n there is only one: the list holds "
            "the same tensor n times.",
        )
    counts = _counts(given, rank, value)
    if None in counts:
        return (
            "wrong_value",
            f"What rank {rank} returns is no sum of the ranks' chunks {rank}.",
            "Which chunk is it that arrives, and which one is it added to? Is the buffer complete "
            "when you read it?",
        )
    if any(n > 1 for c in counts for n in c or ()):
        return (
            "counted_twice",
            "Some ranks' numbers are in the result more than once. The table says whose.",
            "Each rank's chunk is added once: by the rank itself, or where it arrives.",
        )
    return (
        "partial_sums",
        "The numbers of some ranks are missing. The table says whose are there.",
        "Follow one chunk on paper: how many ranks has it met when it arrives?",
    )


def _is_near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.double(), other.double(), rtol=1e-5)


REDUCE_SCATTER = Exercise(
    name="reduce_scatter",
    title="One sum for each rank",
    properties=(Property(_REDUCED, 2), Property(_BYTES, 1)),
    cases=cases,
    examine=examine,
    hint="Directly: send chunk i to rank i, for all i but your own, and add up the n − 1 chunks "
    "that arrive. Start all isend first, then receive.\n"
    "As a ring: begin with a copy of chunk `(rank - 1) % n`. In each of n − 1 steps, send what you "
    "hold to the right, receive what your left neighbour held, and add your own chunk of the same "
    "number. What arrives in step s (from 0) is chunk `(rank - 2 - s) % n`; the last one is your "
    "own.",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_and_show_lists,
)
