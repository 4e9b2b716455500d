"""Find the bug: a gather of tensors whose sizes differ by rank."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    is_same,
    kind_text,
    listed_text,
    named_numbers,
    numbers_text,
    ranks_of,
    ranks_text,
    short_text,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_ALL = "every rank has all predictions, by rank, and nothing else"


def cases(generator: random.Random) -> list[Case]:
    def case(lengths: tuple[int, ...], dtype: torch.dtype) -> Case:
        xs = [named_numbers(generator, r, (k,), dtype) for r, k in enumerate(lengths)]
        for x, last in zip(xs, (0, -1), strict=False):  # numbers that padding may look like
            if len(x) > 1:
                x[-1] = last
        label = f"{ranks_of(len(lengths))} with {listed_text(lengths)} predictions"
        return Case(tuple((x,) for x in xs), xs, label)

    return [
        case((5, 3, 4), torch.float32),
        case((2, 0, 3, 1), torch.int64),
        case((4, 4), torch.float64),
        case((3,), torch.float32),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs: list[torch.Tensor] = case.expected
    wanted = torch.cat(xs)
    wrong = [r for r, value in enumerate(run.values) if not is_same(value, wanted)]
    if not wrong:
        return
    code, why, advice = _why_not(xs, wanted, wrong, run.values)
    rows = tuple((str(r), _text(value), _text(wanted)) for r, value in enumerate(run.values))
    table = Table(("rank", "got", "wanted"), rows)
    yield Finding(code, why, property=_ALL, table=table, advice=advice)


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor) and not value.is_complex():
        return numbers_text(value.reshape(-1).tolist(), 15)
    return short_text(value)


def _why_not(
    xs: list[torch.Tensor], wanted: torch.Tensor, wrong: list[int], values: list[Any]
) -> tuple[str, str, str]:
    rank = wrong[0]
    value = values[rank]
    lengths = [len(x) for x in xs]
    if value is None and len(wrong) < len(xs):
        return (
            "not_everywhere",
            f"Only some ranks have the predictions; {ranks_text(wrong)} returned None.",
            "All ranks need them: all_gather, or a gather and a broadcast.",
        )
    if value is None:
        return (
            "returned_nothing",
            "The function returns None on every rank.",
            "End the function with a return statement.",
        )
    if not isinstance(value, torch.Tensor) or value.dim() != 1:
        return (
            "wrong_type",
            f"Rank {rank} returns {kind_text(value)}; wanted is one tensor, {kind_text(wanted)}.",
            "torch.cat joins the pieces.",
        )
    if value.dtype != wanted.dtype:
        return (
            "wrong_dtype",
            f"Rank {rank} returns {value.dtype}, and the predictions are {wanted.dtype}.",
            "Pad with predictions.new_zeros(...), which has the same dtype.",
        )
    if len(xs) > 1 and is_same(value, xs[rank]):
        return (
            "own_only",
            f"Rank {rank} returns its own predictions, and nobody else's.",
            "all_gather fills a list; join it with torch.cat.",
        )
    shortest, longest = min(lengths), max(lengths)
    if is_same(value, torch.cat([x[:shortest] for x in xs])):
        return (
            "cropped",
            f"Every rank's predictions are cut to {shortest}, as many as the shortest rank has: "
            f"{sum(lengths) - shortest * len(xs)} of {sum(lengths)} are gone, and nobody will "
            "notice.",
            "Pad to the longest instead, and cut the padding off afterwards.",
        )
    if len(set(lengths)) > 1 and all(
        isinstance(v, torch.Tensor) and v.dim() == 1 and len(v) == k * len(xs)
        for v, k in zip(values, lengths, strict=True)
    ):
        return (
            "own_length",
            f"Rank {rank} has {lengths[rank]} predictions, and takes as many from every rank.",
            "Cut piece r to rank r's length, not to this rank's.",
        )
    if len(value) == longest * len(xs) > len(wanted):
        return (
            "padding_stays",
            f"Rank {rank} returns {len(value)} numbers, and there are {len(wanted)} predictions: "
            "the padding is still among them.",
            "You gathered the lengths: piece r is gathered[r][: length of rank r].",
        )
    for unwanted in (0, -1):
        if is_same(value, wanted[wanted != unwanted]):
            return (
                "dropped_values",
                f"Every {unwanted} is missing. Some were padding; some were predictions.",
                "No value can be told from a prediction. Cut by the lengths, not by the values.",
            )
    if torch.equal(value.sort().values, wanted.sort().values):
        return (
            "wrong_order",
            "All predictions are there, but not in the order of the ranks.",
            "First rank 0's, as they were, then rank 1's…",
        )
    return (
        "wrong_value",
        f"Rank {rank} returns {len(value)} numbers which are not the {len(wanted)} predictions.",
        "Does each rank know every rank's length? Is the list made of n different tensors?",
    )


GATHER_PREDICTIONS = Exercise(
    name="gather_predictions",
    title="Find the bug: the last batch",
    properties=(Property(_ALL, 2),),
    cases=cases,
    examine=examine,
    hint="all_gather wants tensors of one size on all ranks, and the last batch is not. Two "
    "gathers do it: first the lengths (one int64 a rank, which is the same size everywhere), then "
    "the predictions, padded to the longest. Then cut each piece to its own length.",
    difficulty=2,
    minutes=12,
    backend="gloo",
)
