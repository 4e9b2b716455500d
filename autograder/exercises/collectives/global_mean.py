"""Find the bug: a sum over numbers whose dtype differs by rank."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    kind_text,
    listed_text,
    ranks_of,
    short_text,
)
from autograder.verdict import Finding, Place, Table
from course.ranks.explain import first_mismatch
from course.ranks.outcome import Run

_MEAN = "every rank returns the mean over all values"
_LARGE = 10_000_000  # a float32 cannot hold this and a quarter


def cases(generator: random.Random) -> list[Case]:
    def values(length: int, whole: bool, base: int) -> torch.Tensor:
        numbers = [base + generator.randint(1, 50) for _ in range(length)]
        if whole:
            return torch.tensor(numbers)
        return torch.tensor([n + generator.choice((0.25, 0.5, 0.75)) for n in numbers]).double()

    def case(shards: tuple[tuple[int, bool], ...], base: int, label: str) -> Case:
        # A quarter more than a float32 holds: made as float64 from the start.
        xs = [values(length, whole, 0) + base for length, whole in shards]
        return Case(tuple((x,) for x in xs), xs, f"{ranks_of(len(xs))}, {label}")

    return [
        case(((3, True), (2, False), (4, True)), 0, "one of them with fractions"),
        case(((2, False), (5, False), (3, True), (1, False)), _LARGE, "large values"),
        case(((3, True), (1, True)), 0, "whole numbers"),
        case(((4, False),), 0, "fractions"),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs: list[torch.Tensor] = case.expected
    mean = float(torch.cat([x.double() for x in xs]).mean())
    right = [_is_number(v) and math.isclose(v, mean, rel_tol=1e-9) for v in run.values]
    mismatch = list(_dtypes(run, mean))
    if mismatch or all(right):
        yield from mismatch
        return
    rank = right.index(False)
    code, why, advice = _why_not(xs, mean, rank, run.values)
    yield Finding(code, why, property=_MEAN, table=_table(run, mean), advice=advice)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _table(run: Run, mean: float) -> Table:
    rows = tuple((str(r), short_text(v), f"{mean!r}") for r, v in enumerate(run.values))
    return Table(("rank", "returned", "wanted"), rows)


def _dtypes(run: Run, mean: float) -> Iterator[Finding]:
    failure = first_mismatch(run.outcomes)
    if failure is None or failure.code != "dtypes_differ":
        return
    yield Finding(
        "dtypes_differ",
        f"{failure.message} Each rank adds the others' bits as if they were of its own dtype; "
        "both have 8 bytes, so nothing complains.",
        property=_MEAN,
        table=_table(run, mean),
        places=tuple(
            Place(line.line, note=line.note, rank=line.rank) for line in failure.lines if line.line
        ),
        advice="Give all ranks one dtype before the collective, whatever the data look like: "
        ".double() here.",
    )


def _why_not(
    xs: list[torch.Tensor], mean: float, rank: int, values: list[Any]
) -> tuple[str, str, str]:
    value = values[rank]
    if all(v is None for v in values):
        return (
            "returned_nothing",
            "The function returns None on every rank.",
            "End the function with a return statement.",
        )
    if not _is_number(value):
        return (
            "wrong_type",
            f"Rank {rank} returns {kind_text(value)}, not a number.",
            ".item() makes a number of a tensor with one element.",
        )
    means = [float(x.double().mean()) for x in xs]
    counts = [len(x) for x in xs]
    truncated = float(torch.cat([x.long() for x in xs]).double().mean())
    truncated_sums = sum(int(x.sum()) for x in xs) / sum(counts)
    if math.isclose(value, truncated) or math.isclose(value, truncated_sums):
        return (
            "truncated",
            "The fractions are lost: int64 has none.",
            "Both kinds fit into float64: .double().",
        )
    if len(xs) > 1 and math.isclose(value, means[rank], rel_tol=1e-9):
        return (
            "own_mean",
            f"Rank {rank} returns the mean over its own values.",
            "Add up sums and counts over all ranks, then divide.",
        )
    if math.isclose(value, sum(means) / len(means), rel_tol=1e-9):
        return (
            "mean_of_means",
            f"This is the mean of the ranks' means, and the ranks have {listed_text(counts)} "
            "values: those of a short shard count for more.",
            "Add up the sums and the counts over all ranks, and divide once.",
        )
    if math.isclose(value, mean, rel_tol=1e-6):
        return (
            "rounded",
            f"Off by {abs(value - mean):.2g} in {mean:.10g}: a float32 keeps 24 bits, about 7 "
            "digits, and both kinds of shard have more.",
            ".double(), not .float().",
        )
    return (
        "wrong_value",
        f"Rank {rank} returns {value!r}; the mean is {mean!r}.",
        "Add up the sums and the counts over all ranks, in one dtype, and divide once.",
    )


GLOBAL_MEAN = Exercise(
    name="global_mean",
    title="Find the bug: one shard without a decimal point",
    properties=(Property(_MEAN, 2),),
    cases=cases,
    examine=examine,
    hint="Print `values.dtype` on every rank. Then look at the first experiments of this lesson "
    "again: what happens when the bits of an int64 are read as a float64?\n"
    "Which dtype can hold all values of all ranks? Every rank has to use it, also one that could "
    "do without.",
    difficulty=2,
    minutes=8,
    backend="gloo",
)
