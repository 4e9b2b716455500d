"""Everybody sends to the right and receives from the left, with blocking calls."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    call_and_show_input,
    collectives_used,
    comparison,
    input_changed,
    is_same,
    kind_text,
    listed_text,
    named_numbers,
    not_a_tensor,
    places_of,
    ranks_of,
    ranks_text,
    round_the_ring,
    unequal_ends,
    what_is_shown,
)
from autograder.verdict import Finding
from course.ranks.outcome import Call, Run

_SHIFTED = "every rank has its left neighbour's tensor"
_BLOCKING = "blocking send and recv only, one each"


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        xs = [named_numbers(generator, r, shape, dtype) for r in range(world_size)]
        return Case(tuple((x,) for x in xs), xs, f"{ranks_of(world_size)}, {kind_text(xs[0])}")

    return [
        case(3, (5,), torch.int32),
        case(4, (2, 3), torch.float64),
        case(2, (1,), torch.float32),
        case(1, (3,), torch.int64),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs: list[torch.Tensor] = case.expected
    found = list(input_changed(xs, run, _SHIFTED))
    found = found or unequal_ends(run, list(_values(xs, run)))
    found += collectives_used(run, _BLOCKING, "One dist.send and one dist.recv a rank are enough.")
    found += _not_blocking(run)
    yield from found or round_the_ring(run, len(xs), _BLOCKING)


def _not_blocking(run: Run) -> Iterator[Finding]:
    def is_wanted(call: Call) -> bool:
        return call.op in ("isend", "irecv", "batch_isend_irecv")

    used = sorted({c.op for outcome in run for c in outcome.calls if is_wanted(c)})
    if used:
        yield Finding(
            "not_blocking",
            f"This answer uses {listed_text(used)}. That is a good way out of the deadlock, but "
            "here the order of send and recv is to do it.",
            property=_BLOCKING,
            places=places_of(run, is_wanted),
            advice="Let some ranks send first and others receive first.",
        )


def _values(xs: list[torch.Tensor], run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(xs)
    wanted = [xs[(r - 1) % size] for r in range(size)]
    found = list(not_a_tensor(values, wanted, _SHIFTED))
    wrong = [] if found else [r for r in range(size) if not is_same(values[r], wanted[r])]
    yield from found
    if not wrong:
        return
    rank = wrong[0]
    holder = next((r for r in range(size) if is_same(values[rank], xs[r])), None)
    code = "wrong_value"
    advice = "Return the buffer that recv filled."
    if all(is_same(values[r], xs[(r + 1) % size]) for r in range(size)):
        code = "wrong_direction"
        why = "Every rank has its right neighbour's tensor: the messages went round backwards."
        advice = "Send to (rank + 1) % n and receive from (rank - 1) % n."
    elif holder == rank:
        code = "own_tensor"
        had = "it had" if len(wrong) == 1 else "they had"
        why = f"{ranks_text(wrong).capitalize()} returned the x that {had}, not what the left "
        why += "neighbour sent."
    elif holder is not None:
        why = f"Rank {rank} has rank {holder}'s tensor, not rank {(rank - 1) % size}'s."
        advice = "Which rank receives from which? Write it down for 3 ranks, then for 4."
    else:
        why = f"What rank {rank} returned was never sent: nothing arrived in that buffer."
        advice = "Does every rank reach its recv, at every number of ranks?"
    yield Finding(code, why, property=_SHIFTED, table=comparison(values, wanted), advice=advice)


EXCHANGE = Exercise(
    name="exchange",
    title="Everybody sends, nobody waits for ever",
    properties=(Property(_SHIFTED, 1), Property(_BLOCKING, 1)),
    cases=cases,
    examine=examine,
    hint="If all ranks send first, each waits for a neighbour that is itself waiting in send. The "
    "circle is broken as soon as one rank receives first; if every other rank does (`rank % 2`), "
    "most messages travel at the same time. Try the odd sizes on paper: with 3 ranks, ranks 2 and "
    "0 are neighbours and both even. Does anybody still wait for ever? And with one rank, the "
    "neighbour is the rank itself, which can be neither sent to nor received from.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_and_show_input,
)
