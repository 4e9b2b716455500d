"""largest_batch: the largest batch that fits, found by trying, and by trying rarely."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.place import some_gpus
from autograder.exercises.dp.shared import short_text, value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

ROW = 1000  # bytes on the first device for each row of the batch
LAYERS = 4  # in each of which a row needs as much
FITS, FULL, BROKEN = "fits", "out of memory", "another error"
FIXED = 5000  # bytes that a step needs whatever the batch

_RIGHT = "the largest batch that fits"
_TRIES = "few tries: at most 2 ⌈log₂(largest + 1)⌉ + 2"
_OTHER = "only running out of memory counts as too large"


class Mistake(RuntimeError):
    """An error that has nothing to do with memory."""


def call_largest_batch(
    answer: Callable[..., Any], largest: int, limit: int, fails_at: int | None
) -> dict[str, Any]:
    """A step on devices whose memory ends after ``largest`` rows."""
    tries: list[tuple[int, str]] = []  # rows, and how it ended
    with some_gpus(1, FIXED + ROW * largest + ROW // 2) as (device,):

        def step(rows: int) -> None:
            if not isinstance(rows, int) or rows < 1:
                raise ValueError(f"a step takes a whole number of rows from 1 on, not {rows!r}")
            if len(tries) >= limit:
                raise TooManyTries(f"{limit} steps have been tried")
            tries.append((rows, FULL))
            if fails_at is not None and rows >= fails_at:
                tries[-1] = (rows, BROKEN)
                raise Mistake("CUDA error: device-side assert triggered")
            weights = torch.empty(FIXED, dtype=torch.uint8, device=device)
            activations = []
            for _ in range(LAYERS):
                layer = torch.empty(ROW // LAYERS * rows, dtype=torch.uint8, device=device)
                activations.append(layer)
            del weights, activations
            tries[-1] = (rows, FITS)

        shown: dict[str, Any] = {}
        try:
            shown["answer"] = _plain(answer(step))
        except TooManyTries:
            shown["too_many"] = True
        except Exception as error:
            if fails_at is None or not _leads_to_mistake(error):
                raise
            shown["raised"] = True
    return {**shown, "tries": [list(one) for one in tries]}


class TooManyTries(BaseException):
    """Ends the search; not an Exception, so that no ``except Exception`` goes on."""


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else repr(value)[:100]


def _leads_to_mistake(error: BaseException | None) -> bool:
    return error is not None and (
        isinstance(error, Mistake) or _leads_to_mistake(error.__cause__ or error.__context__)
    )


def most_tries(largest: int) -> int:
    return 2 * math.ceil(math.log2(largest + 1)) + 2


def largest_batch_cases(generator: random.Random) -> list[Case]:
    def case(largest: int, fails_at: int | None = None) -> Case:
        limit = most_tries(largest) + 12  # some more, to see what the search is after
        text = f"memory for {largest} row{'s' * (largest != 1)}"
        if fails_at is not None:
            text += f" and a step that is broken from {fails_at} rows on"
        return Case(((largest, limit, fails_at),), (largest, fails_at), text)

    return [
        case(generator.randint(70, 120)),
        case(generator.randint(3000, 5000)),
        case(64),
        case(63),
        case(1),
        case(0),
        case(900, fails_at=generator.randint(20, 30)),
    ]


def examine_largest_batch(case: Case, run: Run) -> Iterator[Finding]:
    _, fails_at = case.expected
    value = value_of(run)
    tries = value["tries"]
    if fails_at is not None:
        yield from _mistake(value, fails_at)
        return
    found = list(_held(case, tries)) or list(_count(case, value)) or list(_answer(case, value))
    yield from found


def _table(tries: list[list[Any]]) -> Table:
    shown = tries[:16]
    rows = [(str(rows), ended) for rows, ended in shown]
    return Table(
        ("rows tried", "how it ended"), tuple(rows + [("…", "")] * (len(tries) > len(shown)))
    )


def _held(case: Case, tries: list[list[Any]]) -> Iterator[Finding]:
    """A batch that would fit with nothing else around, and did not."""
    largest = case.expected[0]
    failed = [rows for rows, ended in tries if ended == FULL and rows <= largest]
    if failed:
        yield Finding(
            "holds_memory",
            f"{failed[0]} rows did not fit, though there is memory for {largest}: something of an "
            "earlier, failed try is still there. An exception holds the frames that it came "
            "through, with all their tensors, as long as its except block runs.",
            property=_RIGHT,
            table=_table(tries),
            advice="In the except block only note what happened. Try again after it.",
        )


def _count(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    largest, tries = case.expected[0], value["tries"]
    most = most_tries(largest)
    if value.get("too_many") or len(tries) > most:
        steps = {b[0] - a[0] for a, b in pairwise(tries)}
        linear = len(steps) == 1 and len(tries) > 3
        step = steps.pop() if linear else 0
        yield Finding(
            "too_many_tries",
            f"{f'More than {most}' if value.get('too_many') else len(tries)} steps were tried, "
            f"where {most} are enough"
            + (
                f"; the search goes {'up' if step > 0 else 'down'} by {abs(step)} each time."
                if linear
                else "."
            ),
            property=_TRIES,
            table=_table(tries),
            advice="What fits with b rows fits with fewer, too. Double until it does not fit, "
            "then halve the interval between the largest that fits and the smallest that does not.",
        )


def _answer(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    largest, got = case.expected[0], value.get("answer")
    if got == largest and not isinstance(got, bool):
        return
    code, advice = "wrong_batch", "It must have been tried itself, and the next larger one too."
    if largest == 0:
        code, advice = "nothing_fits", "When not even one row fits, the answer is 0."
    elif got == largest + 1:
        code, advice = "off_by_one", "Return the largest that fits, not the smallest that does not."
    elif isinstance(got, int) and 1 <= got < largest and got & (got - 1) == 0:
        code, advice = (
            "only_powers_of_two",
            "Doubling finds the largest power of two; between it and its double lies the answer.",
        )
    yield Finding(
        code,
        f"largest_batch returns {short_text(got)}; {largest} is the largest that fits.",
        property=_RIGHT,
        table=_table(value["tries"]),
        advice=advice,
    )


def _mistake(value: dict[str, Any], fails_at: int) -> Iterator[Finding]:
    if not value.get("raised"):
        yield Finding(
            "swallows_errors",
            "The step raised an error that has nothing to do with memory, and largest_batch "
            f"returned {short_text(value.get('answer'))} as if it had been out of memory.",
            property=_OTHER,
            table=_table(value["tries"]),
            advice="except torch.OutOfMemoryError, and nothing wider: it is a RuntimeError, and "
            "not every RuntimeError is one.",
        )


LARGEST_BATCH = Exercise(
    name="largest_batch",
    title="The largest batch that fits",
    properties=(Property(_RIGHT, 2), Property(_TRIES, 1), Property(_OTHER, 1)),
    cases=largest_batch_cases,
    examine=examine_largest_batch,
    hint="A small function fits(rows) that tries the step and returns True or False makes the "
    "rest easy: double `high` while fits(high), then halve. Begin with 1.",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_largest_batch,
)
