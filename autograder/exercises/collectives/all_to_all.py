"""Every rank has a chunk for every rank."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    collectives_used,
    is_same,
    kind_text,
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
    list_changed,
    lists_table,
    not_a_list,
)
from autograder.verdict import Finding
from course.ranks.outcome import Run

_TURNED = "entry i is what rank i had for this rank"
_BYTES = "each rank sends n − 1 chunks"


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        count = math.prod(shape)

        def chunk(source: int, target: int) -> torch.Tensor:
            """312 is one of the numbers that rank 3 has for rank 1."""
            base = 100 * source + 10 * target
            numbers = [base + generator.randint(0, 9) for _ in range(count)]
            return torch.tensor(numbers).to(dtype).view(shape)

        ranks = range(world_size)
        given = [[chunk(r, i) for i in ranks] for r in ranks]
        label = f"{ranks_of(world_size)}, chunks {kind_text(given[0][0])}"
        return Case(tuple((chunks,) for chunks in given), given, label)

    return [
        case(3, (2,), torch.int64),
        case(4, (1, 3), torch.float32),
        case(2, (2,), torch.float64),
        case(1, (2,), torch.int32),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    given: list[Tensors] = case.expected
    chunk = given[0][0]
    found = list(unwaited(run, _TURNED)) or list(list_changed(given, run, _TURNED))
    found = found or unequal_ends(run, list(_values(given, run)))
    found += collectives_used(run, _BYTES, "Build it from point-to-point messages.")
    yield from found or count_bytes(
        run,
        (len(given) - 1) * chunk.numel() * chunk.element_size(),
        _BYTES,
        what="a rank sends each other rank the one chunk that is meant for it",
        too_many="Nobody needs a chunk that is meant for somebody else. Send chunks[i] to rank i, "
        "and nothing else.",
    )


def _values(given: list[Tensors], run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(given)
    wanted = [[given[i][r] for i in range(size)] for r in range(size)]
    found = list(not_a_list(values, wanted, _TURNED)) or list(aliased(run, _TURNED))
    yield from found
    wrong = [] if found else [r for r in range(size) if not all_same(values[r], wanted[r])]
    if not wrong:
        return
    code, why, advice = _why_not(given, wrong[0], values[wrong[0]])
    yield Finding(code, why, property=_TURNED, table=lists_table(values, wanted), advice=advice)


def _why_not(given: list[Tensors], rank: int, got: Tensors) -> tuple[str, str, str]:
    size = len(given)
    if all_same(got, given[rank]):
        return (
            "own_chunks",
            f"Rank {rank} returns the chunks that it was given.",
            "Return what arrived; only the chunk for this rank itself stays where it is.",
        )
    found = [_origin(given, tensor) for tensor in got]
    i = next(i for i in range(size) if found[i] != (i, rank))
    if sorted(o for o in found if o) == [(source, rank) for source in range(size)]:
        assert found[i] is not None
        return (
            "wrong_order",
            f"Rank {rank} has all that is meant for it, but entry {i} is from rank {found[i][0]}.",  # type: ignore[index]
            "Entry i belongs to rank i, whatever the order in which the chunks arrive.",
        )
    if i == rank and sum(found[j] != (j, rank) for j in range(size)) == 1:
        return (
            "own_missing",
            f"Rank {rank} lacks the chunk that it had for itself.",
            "Copy chunks[rank] into entry `rank`; no message brings it.",
        )
    origin = found[i]
    if origin is not None:
        source, target = origin
        return (
            "wrong_chunk",
            f"On rank {rank}, entry {i} is what rank {source} had for rank {target}.",
            "From this rank to rank i goes chunks[i]; it arrives there in entry `rank`.",
        )
    return (
        "wrong_value",
        f"On rank {rank}, entry {i} is nothing that any rank has sent.",
        "Is there a recv for it, and is it complete before you read it?",
    )


def _origin(given: list[Tensors], tensor: torch.Tensor) -> tuple[int, int] | None:
    """Whose chunk this is, and for whom."""
    return next(
        (
            (source, target)
            for source, chunks in enumerate(given)
            for target, chunk in enumerate(chunks)
            if is_same(tensor, chunk)
        ),
        None,
    )


ALL_TO_ALL = Exercise(
    name="all_to_all",
    title="Something for everybody",
    properties=(Property(_TURNED, 1), Property(_BYTES, 1)),
    cases=cases,
    examine=examine,
    hint="Start an isend of chunks[i] to rank i and an irecv from rank i into entry i, for every i "
    "but your own, and wait for all of them.\n"
    "With blocking calls the order matters: if each rank goes through the others from 0 on, ranks "
    "0 and 1 both begin with a send to each other. Shifts work: in step s, send to "
    "`(rank + s) % n` and receive from `(rank - s) % n`, with isend, recv, wait.",
    difficulty=3,
    minutes=15,
    backend="gloo",
    call=call_and_show_lists,
)
