"""Find the bug: a collective that only rank 0 enters, in a program that prints its loss."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    kind_text,
    numbers_text,
    ranks_of,
    ranks_text,
    short_text,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Outcome, Run

_TRAINED = "every rank trains on the gradients of all"
_REPORTED = "rank 0, and no other, prints the mean loss of all ranks"
_LINE = re.compile(r"\s*epoch\s+(\d{1,6})\s*:\s*loss\s+(\S{1,40})\s*")
STEP = 0.25


@dataclass(frozen=True)
class _Record:
    """What the right program computes, and what some wrong ones do."""

    weights: float
    summed: float  # the weight if gradients are added up and not divided
    alone: tuple[float, ...]  # by rank: the weight when nobody exchanges gradients
    losses: tuple[float, ...]  # by epoch: the mean over the ranks
    rank_0s: tuple[float, ...]  # by epoch: rank 0's own
    afterwards: tuple[float, ...]  # by epoch: the mean after the step


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, epochs: int) -> Case:
        batches = [
            [
                torch.tensor([4.0 * r + generator.randint(1, 9) for _ in range(3)]).double()
                for _ in range(epochs)
            ]
            for r in range(world_size)
        ]
        label = f"{ranks_of(world_size)}, {epochs} epochs"
        return Case(tuple((given,) for given in batches), _record(batches), label)

    return [case(3, 3), case(4, 2), case(2, 3), case(1, 2)]


def _record(batches: list[list[torch.Tensor]]) -> _Record:
    ranks, epochs = range(len(batches)), range(len(batches[0]))
    w, summed, alone = 0.0, 0.0, [0.0 for _ in ranks]
    losses, rank_0s, afterwards = [], [], []
    for epoch in epochs:
        now = [batches[r][epoch] for r in ranks]
        each = [_loss(w, batch) for batch in now]
        losses.append(sum(each) / len(each))
        rank_0s.append(each[0])
        w -= STEP * sum(_gradient(w, batch) for batch in now) / len(now)
        afterwards.append(sum(_loss(w, batch) for batch in now) / len(now))
        summed -= STEP * sum(_gradient(summed, batch) for batch in now)
        alone = [v - STEP * _gradient(v, batch) for v, batch in zip(alone, now, strict=True)]
    return _Record(w, summed, tuple(alone), tuple(losses), tuple(rank_0s), tuple(afterwards))


def _loss(w: float, batch: torch.Tensor) -> float:
    return float((w - batch).square().mean())


def _gradient(w: float, batch: torch.Tensor) -> float:
    return float(2 * (w - batch).mean())


def examine(case: Case, run: Run) -> Iterator[Finding]:
    record: _Record = case.expected
    found = list(_weights(record, run))
    yield from found or _reports(record, run)


def _weights(record: _Record, run: Run) -> Iterator[Finding]:
    values = [_number(value) for value in run.values]
    wrong = [r for r, value in enumerate(values) if not _near(value, record.weights)]
    if not wrong:
        return
    rank = wrong[0]
    code = "wrong_weights"
    why = f"The weight that {ranks_text(wrong)} returned is not that of one process on all data."
    advice = (
        "The ranks' first all_reduce calls meet each other, then their second, and so on, "
        "whatever the tensors mean. Are they in the same order everywhere?"
    )
    if all(value is None for value in run.values):
        code, why = "returned_nothing", "The function returns None on every rank."
        advice = "Return w, as the program that was found does."
    elif values[rank] is None:
        code = "wrong_type"
        why = f"Rank {rank} returns {kind_text(run.values[rank])}, not the weight."
        advice = "Return w, a tensor with one number."
    elif len(run) > 1 and all(_near(value, record.summed) for value in values):
        code = "sum_not_mean"
        why = (
            "The weights are those of steps along the sum of the ranks' gradients, not along their "
            f"mean: {len(run)} times too far."
        )
        advice = "Divide what the all_reduce of the gradients gives by the number of ranks."
    elif len(run) > 1 and all(
        _near(value, own) for value, own in zip(values, record.alone, strict=True)
    ):
        code = "not_synchronised"
        why = "Every rank has trained on its own batches alone: no gradient was exchanged."
        advice = "The all_reduce of the gradients was right. Leave it where it was."
    table = Table(
        ("rank", "returned", "wanted"),
        tuple(
            (str(r), _text(v) if v is not None else short_text(run.values[r]), _text(w))
            for r, (v, w) in enumerate(zip(values, [record.weights] * len(run), strict=True))
        ),
    )
    yield Finding(code, why, property=_TRAINED, table=table, advice=advice)


def _number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not value.is_complex():
        return float(value)
    return float(value) if isinstance(value, (int, float)) else None


def _near(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-3)


def _text(value: float) -> str:
    return f"{value:.4f}"


def _lines(outcome: Outcome) -> list[tuple[int, float]]:
    """The epochs and losses that a rank has printed."""
    found = []
    for line in outcome.stdout.splitlines():
        if match := _LINE.fullmatch(line):
            try:
                found.append((int(match[1]), float(match[2])))
            except ValueError:
                continue
    return found


def _reports(record: _Record, run: Run) -> Iterator[Finding]:
    lines = [_lines(outcome) for outcome in run]
    epochs = [epoch for epoch, _ in lines[0]]
    losses = [loss for _, loss in lines[0]]
    wanted = list(enumerate(record.losses))
    others = [rank for rank in range(1, len(run)) if lines[rank]]
    table = Table(
        ("epoch", "printed by rank 0", "wanted"),
        tuple((str(e), _text(dict(lines[0]).get(e, math.nan)), _text(w)) for e, w in wanted),
    )
    advice = "print(f'epoch {epoch}: loss {mean:.3f}'), once in each epoch, on rank 0."
    size = len(run)
    if others:
        code = "everybody_prints"
        why = f"Also {ranks_text(others)} printed the report. In a job of 512 ranks, so do 511."
        table = Table(
            ("rank", "lines printed"), tuple((str(r), str(len(li))) for r, li in enumerate(lines))
        )
        advice = "All ranks take part in the sum; the print alone belongs under if rank == 0."
    elif epochs != [epoch for epoch, _ in wanted]:
        code = "no_report"
        printed = f"reports for epochs {numbers_text(epochs)}" if epochs else "no report"
        why = f"Rank 0 printed {printed}; there are {len(wanted)} epochs, counted from 0."
    elif _all_near(losses, record.losses):
        return
    elif _all_near(losses, record.rank_0s):
        code, why = "own_loss", "Rank 0 prints its own loss, not the mean over all ranks."
        advice = "The other ranks' losses have to get there: they all must call the all_reduce."
    elif _all_near(losses, [loss * size for loss in record.losses]):
        code, why = "summed", f"What is printed is {size} times the mean: the sum over the ranks."
        advice = "Divide by the number of ranks."
    elif all(abs(a - b) <= 0.0051 for a, b in zip(losses, record.losses, strict=True)):
        code, why = "rounded", "The losses are right, and rounded to less than three places."
    elif _all_near(losses, record.afterwards):
        code = "after_the_step"
        why = "The loss printed is that after the step; the program reports the one before."
        advice = "Compute the loss from the error that the gradient is made from."
    else:
        code, why = "wrong_report", "The losses that rank 0 prints are not the mean over the ranks."
        advice = (
            "Which all_reduce of the other ranks does the one of the loss meet? Collectives are "
            "matched by their order, not by what they are for."
        )
    yield Finding(code, why, property=_REPORTED, table=table, advice=advice)


def _all_near(some: list[float], others: Any) -> bool:
    return len(some) == len(others) and all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=2e-3) for a, b in zip(some, others, strict=True)
    )


TRAIN_AND_REPORT = Exercise(
    name="train_and_report",
    title="Find the bug: the report",
    properties=(Property(_TRAINED, 1), Property(_REPORTED, 1)),
    cases=cases,
    examine=examine,
    hint="Count the all_reduce calls of each rank in one epoch. The first one of rank 0 meets the "
    "first one of the others, the second meets the second… With which of theirs does rank 0's "
    "loss get mixed up, and with which its second gradient?\n"
    "An operation that needs all ranks may never stand where only some of them come along. What "
    "may stand under `if rank == 0` is what rank 0 can do by itself: print, write a file.",
    difficulty=2,
    minutes=10,
    backend="gloo",
)
