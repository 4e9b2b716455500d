"""Everybody sends and receives at once, and computes while the messages travel."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    collectives_used,
    is_same,
    kind_text,
    place_values,
    ranks_of,
    ranks_text,
    round_the_ring,
    short_text,
    transfers,
    unequal_ends,
    unwaited,
    what_is_shown,
)
from autograder.verdict import Finding, Place, Table
from course.measure.messages import Transfer
from course.ranks.calls import mark
from course.ranks.outcome import Call, Run

_SUM = "x holds its own, compute()'s and the left neighbour's numbers"
_MEANWHILE = "both messages are under way while compute() runs"
_LATE_SECONDS = 0.04  # an odd rank's: long enough for its neighbours to do what they should not


def call_late(
    answer: Callable[..., Any], x: torch.Tensor, y: torch.Tensor, late: bool
) -> dict[str, Any]:
    """Some ranks come late, so that a message to them lies in its sender's buffer for a while."""
    if late:
        time.sleep(_LATE_SECONDS)

    def compute() -> torch.Tensor:
        mark("compute")
        time.sleep(0.002)
        return y.clone()

    returned = answer(x, compute)
    return {"returned": returned, "x": x}


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        count = math.prod(shape)

        def numbers(place: int) -> torch.Tensor:
            return torch.tensor(place_values(generator, place, count)).to(dtype).view(shape)

        xs = [numbers(r) for r in range(world_size)]
        ys = [numbers(world_size + r) for r in range(world_size)]
        inputs = tuple((x, y, r % 2 == 1) for r, (x, y) in enumerate(zip(xs, ys, strict=True)))
        return Case(inputs, (xs, ys), f"{ranks_of(world_size)}, {kind_text(xs[0])}")

    return [
        case(3, (4,), torch.float32),
        case(4, (2, 2), torch.int64),
        case(2, (3,), torch.float64),
        case(1, (2,), torch.int64),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs, ys = case.expected
    found = list(unwaited(run, _SUM))
    found = found or unequal_ends(run, list(_values(xs, ys, run)))
    found += collectives_used(run, _MEANWHILE, "One dist.isend and one dist.irecv a rank will do.")
    found = found or list(round_the_ring(run, len(xs), _SUM))
    yield from found or _overlap(run)


# --- values -----------------------------------------------------------------------------------

_TERMS = ("its own x", "its own compute()", "its left neighbour's x", "that one's compute()",
          "the x of the rank before that")  # fmt: skip


def _terms(xs: list[torch.Tensor], ys: list[torch.Tensor], rank: int) -> list[torch.Tensor]:
    """What can have got into rank's x, in the order of _TERMS."""
    size = len(xs)
    left = (rank - 1) % size
    neighbours = [xs[left], ys[left]] if size > 1 else []
    further = [xs[(rank - 2) % size]] if size > 2 else []
    return [xs[rank], ys[rank], *neighbours, *further]


def _wanted(xs: list[torch.Tensor], ys: list[torch.Tensor], rank: int) -> torch.Tensor:
    own = xs[rank] + ys[rank]
    return own + xs[rank - 1] if len(xs) > 1 else own


def _what_is_in(value: Any, terms: list[torch.Tensor]) -> tuple[int, ...] | None:
    """How often each of the terms is in the value; None when it is no sum of them."""
    tries = sorted(itertools.product(range(3), repeat=len(terms)), key=lambda c: (max(c), sum(c)))
    sums = ((c, sum(n * term for n, term in zip(c, terms, strict=True) if n)) for c in tries)
    return next(
        (c for c, total in sums if isinstance(total, torch.Tensor) and is_same(value, total)), None
    )


def _values(xs: list[torch.Tensor], ys: list[torch.Tensor], run: Run) -> Iterator[Finding]:
    size = len(xs)
    values, returned = what_is_shown(run, "x"), what_is_shown(run, "returned")
    wanted = [_wanted(xs, ys, rank) for rank in range(size)]
    wrong = [r for r in range(size) if not is_same(values[r], wanted[r])]
    if not wrong:
        return
    table = Table(
        ("rank", "x before", "x afterwards", "wanted"),
        tuple(
            (str(r), *(short_text(t) for t in (xs[r], values[r], wanted[r]))) for r in range(size)
        ),
    )
    code, why, advice = _why_not(xs, ys, wrong, values, returned, wanted)
    yield Finding(code, why, property=_SUM, table=table, advice=advice)


def _why_not(
    xs: list[torch.Tensor],
    ys: list[torch.Tensor],
    wrong: list[int],
    values: list[Any],
    returned: list[Any],
    wanted: list[torch.Tensor],
) -> tuple[str, str, str]:
    size = len(xs)
    if all(is_same(values[r], xs[r]) and is_same(returned[r], wanted[r]) for r in wrong):
        return (
            "not_in_place",
            f"The result on {ranks_text(wrong)} is right, but it is a new tensor: x is as before.",
            "x += ... writes into x; x = x + ... makes a new tensor and calls it x.",
        )
    if all(is_same(values[r], xs[r]) for r in wrong) and set(wrong) == set(range(size)):
        return (
            "x_unchanged",
            "x is as it was before, on every rank: nothing was written into it.",
            "The result belongs into the tensor that was given. x += … writes into it; "
            "x = x + … makes a new tensor and only calls it x.",
        )
    backwards = [xs[r] + ys[r] + xs[(r + 1) % size] for r in range(size)]
    if size > 2 and all(is_same(values[r], backwards[r]) for r in range(size)):
        return (
            "wrong_direction",
            "Every rank has its right neighbour's numbers: the messages went round backwards.",
            "Send to (rank + 1) % n and receive from (rank - 1) % n.",
        )
    holds = {r: _what_is_in(values[r], _terms(xs, ys, r)) for r in wrong}
    for rank, counts in holds.items():
        if counts and size > 1 and any(counts[3:]):
            left = (rank - 1) % size
            extra = "compute()'s result" if counts[3] else "what had arrived"
            return (
                "overwritten",
                f"What rank {rank} received is not the x that rank {left} began with: rank {left} "
                f"had added {extra} to it. Between isend and wait, x belongs to the library, "
                f"which may read it at any moment; here rank {rank} came late, so it was read "
                "late.",
                "Do not write into x before the wait on its isend has returned. Keep "
                "compute()'s result in a variable, or send a copy of x.",
            )
    rank, counts = next(iter(holds.items()))
    if counts is None:
        return (
            "wrong_value",
            f"Rank {rank}'s x is no sum of x, compute()'s result and what the left neighbour sent.",
            "Is the buffer made with torch.empty_like(x), and read only after the wait on its "
            "irecv has returned? Before that, anything may be in it.",
        )
    missing = [_TERMS[i] for i in range(3 if size > 1 else 2) if not counts[i]]
    if missing == [_TERMS[2]]:
        return (
            "read_before_wait",
            f"On rank {rank}, nothing of the left neighbour's is in x: the buffer was read before "
            "the message had arrived in it. irecv comes back at once, with an empty buffer.",
            "Call wait() on irecv's handle, and read the buffer after that.",
        )
    if missing:
        return (
            "something_missing",
            f"Rank {rank}'s x lacks {' and '.join(missing)}.",
            "x must end as x + compute() + what arrived. Receive into a buffer of its own: what "
            "arrives in x replaces what was there.",
        )
    twice = [name for name, n in zip(_TERMS, counts, strict=False) if n > 1]
    return (
        "counted_twice",
        f"Rank {rank}'s x has {' and '.join(twice) or 'something'} in it more than once.",
        "x must end as x + compute() + what arrived. A rank that is alone has nobody to "
        "receive from.",
    )


# --- time -------------------------------------------------------------------------------------


def _overlap(run: Run) -> Iterator[Finding]:
    for transfer in transfers(run):
        computing = next((c for c in run[transfer.rank].calls if c.op == "compute"), None)
        if computing is None:
            continue
        if transfer.call.begin > computing.begin:
            yield _starts_late(transfer)
            return
        if transfer.done < computing.begin:
            yield _waits_early(transfer, run)
            return


def _starts_late(transfer: Transfer) -> Finding:
    return Finding(
        "starts_late",
        f"Rank {transfer.rank} calls compute() first, and then begins its {transfer.call}: "
        "nothing travels while it computes, and its neighbour waits.",
        property=_MEANWHILE,
        places=_place(transfer.call, f"{transfer.call}, after compute()", transfer.rank),
        advice="Start isend and irecv first, then call compute(), then wait for both.",
    )


def _waits_early(transfer: Transfer, run: Run) -> Finding:
    waits = [c for c in run[transfer.rank].calls if c.waits_for and c.end == transfer.done]
    call = waits[0] if waits else transfer.call
    return Finding(
        "waits_early",
        f"Rank {transfer.rank} {call.doing} until that is done, and only then calls compute(): "
        "first nobody computes, then nothing travels. The time of both adds up.",
        property=_MEANWHILE,
        places=_place(call, f"{call.doing}, before compute()", transfer.rank),
        advice="Start isend and irecv, call compute(), and wait for the two handles after that.",
    )


def _place(call: Call, note: str, rank: int) -> tuple[Place, ...]:
    return (Place(call.line, note=note, rank=rank),) if call.line is not None else ()


EXCHANGE_ASYNC = Exercise(
    name="exchange_async",
    title="Compute while the messages travel",
    properties=(Property(_SUM, 2), Property(_MEANWHILE, 1)),
    cases=cases,
    examine=examine,
    hint="Five steps: start both transfers and keep both handles; call compute() and keep its "
    "result; wait for the receive; wait for the send; only then write into x. "
    "`torch.empty_like(x)` makes the buffer to receive into.\n"
    "With one rank there is no neighbour: x is its own numbers and compute()'s.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_late,
)
