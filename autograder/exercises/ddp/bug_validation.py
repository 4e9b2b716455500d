"""Find the bug: a mean of means."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.metric import is_near, number_of, numbers_table
from autograder.exercises.ddp.models import (
    OUTPUTS,
    Parts,
    build,
    data,
    mean_squared,
)
from autograder.exercises.ddp.shared import (
    is_collective,
    listed_text,
    places_of,
    ranks_of,
    ranks_text,
    shown,
)
from autograder.verdict import Finding
from course.ranks.outcome import Run

_VALIDATION = "the loss is the mean over all rows of all ranks"
_SAME = "every rank has the result"


def call_validation(
    answer: Callable[..., Any], seed: int, lengths: Sequence[int], x: torch.Tensor, y: torch.Tensor
) -> dict[str, Any]:
    model = build(Parts(), seed)
    batches = list(zip(x.split(list(lengths)), y.split(list(lengths)), strict=True))
    return {"number": number_of(answer(model, batches if lengths else []))}


def validation_cases(generator: random.Random) -> list[Case]:
    def case(lengths: tuple[tuple[int, ...], ...]) -> Case:
        seed = generator.randrange(1 << 30)
        shards = [data(generator.randrange(1 << 30), sum(of)) for of in lengths]
        # Each rank's rows have another level of loss, so that it matters how they are weighted.
        shards = [(x, y + 2 * rank) for rank, (x, y) in enumerate(shards)]
        inputs = tuple((seed, of, x, y) for of, (x, y) in zip(lengths, shards, strict=True))
        text = "; ".join(listed_text(of) if of else "none" for of in lengths)
        label = f"{ranks_of(len(lengths))}, batches of {text} rows"
        return Case(inputs, (build(Parts(), seed), lengths, shards), label)

    return [
        case(((4, 4, 1), (4, 4, 1))),
        case(((4, 4, 3), (4, 4, 3), (4, 2))),
        case(((3,), (3, 3), (), (1,))),
        case(((2, 2, 1),)),
    ]


def examine_validation(case: Case, run: Run) -> Iterator[Finding]:
    model, lengths, shards = case.expected
    with torch.no_grad():
        losses = [
            [
                float(mean_squared(model(a), b))
                for a, b in zip(x.split(list(of)), y.split(list(of)), strict=True)
            ]
            if of
            else []
            for of, (x, y) in zip(lengths, shards, strict=True)
        ]
    rows = [sum(of) for of in lengths]
    sums = [
        sum(n * loss for n, loss in zip(of, batch, strict=True))
        for of, batch in zip(lengths, losses, strict=True)
    ]
    wanted = sum(sums) / sum(rows)
    got = shown(run, "number")
    wrong = [r for r, value in enumerate(got) if not is_near(value, wanted)]
    if wrong:
        code, why, property_, advice = _validation(losses, sums, rows, got, wrong)
        yield Finding(
            code, why, property_, numbers_table(got, wanted, rows), places_of(run, is_collective),
            advice,
        )  # fmt: skip


def _validation(
    losses: Sequence[Sequence[float]],
    sums: Sequence[float],
    rows: Sequence[int],
    got: Sequence[Any],
    wrong: Sequence[int],
) -> tuple[str, str, str, str]:
    ranks = len(got)
    flat = [loss for of in losses for loss in of]
    by_rank = [sum(of) / len(of) for of in losses if of]
    weighted = [s / n for s, n in zip(sums, rows, strict=True) if n]
    advice = "On each rank, add up loss × rows and rows. All-reduce both, and divide once."

    def all_are(number: float) -> bool:
        return all(is_near(value, number) for value in got)

    if all(value is None for value in got):
        return "returned_nothing", "Every rank returns None.", _SAME, "Return the loss, a float."
    if not all(isinstance(value, float) for value in got):
        return "wrong_type", f"Rank {wrong[0]} does not return a number.", _SAME, "Return a float."
    if any(value != value for value in got):
        return (
            "empty_shard",
            "The result is nan: a rank without batches has divided 0 by 0.",
            _VALIDATION,
            advice,
        )
    if 0 < len(wrong) < ranks:
        right = [r for r in range(ranks) if r not in wrong]
        return (
            "some_ranks",
            f"Only {ranks_text(right)} {'has' if len(right) == 1 else 'have'} the right number.",
            _SAME,
            "dist.all_reduce gives the sum to every rank, dist.reduce to one.",
        )
    for numbers in (by_rank, weighted):
        if all_are(sum(numbers) / ranks) or all_are(sum(numbers) / len(numbers)):
            return (
                "mean_of_means",
                "This is a mean of means: a batch or a rank with few rows counts as much as one "
                "with many.",
                _VALIDATION,
                advice,
            )
        if ranks > 1 and len(numbers) == ranks:
            if all(is_near(value, own) for value, own in zip(got, numbers, strict=True)):
                return "local", "Every rank returns a loss of its own rows.", _SAME, advice
    if all_are(sum(flat) / len(flat)):
        return (
            "mean_of_means",
            "This is the mean of the batches' means: a row of the small last batch counts more.",
            _VALIDATION,
            advice,
        )
    if all_are(OUTPUTS * sum(sums) / sum(rows)):
        return (
            "columns_added",
            f"This is {OUTPUTS} times the mean: y has {OUTPUTS} columns, the sum over a batch is "
            "one over rows and columns, and it was divided by the rows alone.",
            _VALIDATION,
            "F.mse_loss divides by all numbers, y.numel(). Multiply its mean with the rows, or "
            "divide a sum by all numbers.",
        )
    if all_are(sum(sums)):
        return "not_divided", "This is the sum over all rows.", _VALIDATION, advice
    return (
        "wrong_value",
        "This is not the mean loss over all rows of all ranks.",
        _VALIDATION,
        advice,
    )


VALIDATION_LOSS = Exercise(
    name="validation_loss_fixed",
    title="Find the bug: the loss that changed with the number of GPUs",
    properties=(Property(_VALIDATION, 2), Property(_SAME, 1)),
    cases=validation_cases,
    examine=examine_validation,
    hint="A mean over rows is a sum over rows, divided by their number. Which two numbers must "
    "every rank contribute? And what does a rank contribute that has no batch at all?",
    difficulty=2,
    minutes=10,
    call=call_validation,
)
