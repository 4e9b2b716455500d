"""One number over all ranks: each sample counted once, whoever has it, and however many have it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.shared import (
    is_collective,
    listed_text,
    places_of,
    ranks_of,
    ranks_text,
    short_text,
    shown,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_MEAN = "every sample counts once"
_EVERYWHERE = "every rank has the result"


def number_of(value: Any) -> Any:
    """A number as a float, also out of a tensor; text for what is none."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return None if value is None else short_text(value)


def call_metric(
    answer: Callable[..., Any], values: torch.Tensor, indices: torch.Tensor, size: int
) -> dict[str, Any]:
    return {"number": number_of(answer(values, indices, size))}


def cases(generator: random.Random) -> list[Case]:
    def case(shards: Sequence[Sequence[int]], what: str) -> Case:
        size = 1 + max(i for shard in shards for i in shard)
        # Some are negative, so that a zero is not the least that there is.
        whole = [generator.randint(0, 99) / 4 + 50 * (i % 3) - 40 for i in range(size)]
        inputs = tuple(
            (
                torch.tensor([whole[i] for i in shard], dtype=torch.float64),
                torch.tensor(list(shard), dtype=torch.int64),
                size,
            )
            for shard in shards
        )
        return Case(inputs, (whole, shards), f"{ranks_of(len(shards))}, {size} samples, {what}")

    def padded(size: int, ranks: int) -> list[list[int]]:
        order = generator.sample(range(size), size)
        order += order[: -size % ranks]
        return [order[r::ranks] for r in range(ranks)]

    return [
        case([[0, 2, 4, 5, 6, 7, 8], [1, 3]], "7 and 2 of them"),
        case([[3, 0], [1], [], [2, 4, 5]], "one rank with none"),
        case(padded(10, 3), "2 of them twice"),
        case(padded(13, 4), "3 of them twice"),
        case(padded(5, 1), "all on one rank"),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    whole, shards = case.expected
    got = shown(run, "number")
    wanted = sum(whole) / len(whole)
    wrong = [r for r, value in enumerate(got) if not is_near(value, wanted)]
    if not wrong:
        return
    code, why, property_, advice = _cause(whole, shards, got, wanted, wrong)
    yield Finding(
        code,
        why,
        property=property_,
        table=numbers_table(got, wanted, [len(shard) for shard in shards]),
        places=places_of(run, is_collective),
        advice=advice,
    )


def is_near(value: Any, wanted: float) -> bool:
    return isinstance(value, float) and math.isclose(value, wanted, rel_tol=1e-6)


def numbers_table(got: Sequence[Any], wanted: float, counts: Sequence[int]) -> Table:
    return Table(
        ("rank", "samples", "returned", "wanted"),
        tuple(
            (
                str(r),
                str(counts[r]),
                f"{v:.6g}" if isinstance(v, float) else str(v),
                f"{wanted:.6g}",
            )
            for r, v in enumerate(got)
        ),
    )


def _number_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cause(
    whole: Sequence[float],
    shards: Sequence[Sequence[int]],
    got: Sequence[Any],
    wanted: float,
    wrong: Sequence[int],
) -> tuple[str, str, str, str]:
    ranks, size = len(shards), len(whole)
    sums = [sum(whole[i] for i in shard) for shard in shards]
    counts = [len(shard) for shard in shards]
    means = [s / c if c else math.nan for s, c in zip(sums, counts, strict=True)]
    there = [m for m in means if not math.isnan(m)]

    def all_are(number: float) -> bool:
        return all(is_near(value, number) for value in got)

    if all(value is None for value in got):
        return "returned_nothing", "Every rank returns None.", _MEAN, "Return the mean, a float."
    if not all(isinstance(value, float) for value in got):
        return "wrong_type", f"Rank {wrong[0]} does not return a number.", _MEAN, "Return a float."
    if len(wrong) < ranks and ranks > 1:
        right = [r for r in range(ranks) if r not in wrong]
        return (
            "some_ranks",
            f"Only {ranks_text(right)} {'has' if len(right) == 1 else 'have'} the right number.",
            _EVERYWHERE,
            "dist.reduce leaves the sum on one rank; on the others it is not to be used. "
            "dist.all_reduce gives it to all.",
        )
    if any(math.isnan(value) for value in got):
        return (
            "empty_shard",
            "The result is nan: a rank without samples has divided 0 by 0, and a sum with nan in "
            "it is nan.",
            _MEAN,
            "Reduce sums and counts; divide once, at the end.",
        )
    if ranks > 1 and all(is_near(v, m) for v, m in zip(got, means, strict=True)):
        return (
            "local",
            "Every rank returns the mean of its own samples.",
            _EVERYWHERE,
            "The ranks' sums and counts must meet: dist.all_reduce.",
        )
    if all_are(sum(sums) / sum(counts)) or all_are(sum(sums) / size):
        return (
            "padding_counted",
            f"{sum(counts)} samples were counted, of a set of {size}: what the sampler repeated to "
            "make the parts equally long is in the result twice.",
            _MEAN,
            "The indices tell which samples these are. A vector of `size` places, one for each "
            "sample, has room for each once.",
        )
    if all_are(sum(there) / ranks) or all_are(sum(there) / len(there)):
        return (
            "mean_of_means",
            f"This is the mean of the ranks' means. The ranks have {listed_text(counts)} samples: "
            "one of a small part counts more than one of a large part.",
            _MEAN,
            "Reduce the sums and the counts, each for itself, and divide at the end.",
        )
    if all_are(sum(max(value, 0.0) for value in whole) / size):
        return (
            "negative_lost",
            "Negative values count as 0 here: a maximum over the ranks prefers the zeros of those "
            "that do not have the sample.",
            _MEAN,
            "Add up instead, or begin with -inf where this rank has no value.",
        )
    if all_are(wanted * size):
        return "not_divided", "This is the sum over all samples.", _MEAN, "Divide by their number."
    if all_are(wanted / ranks):
        return (
            "divided_twice",
            f"This is 1/{ranks} of the mean: it was divided by the number of ranks as well.",
            _MEAN,
            "The number of samples is all that divides.",
        )
    return (
        "wrong_value",
        "This is not the mean over all samples.",
        _MEAN,
        "For each sample: is its value in the sum, and how often?",
    )


GLOBAL_METRIC = Exercise(
    name="global_metric",
    title="A mean over all ranks",
    properties=(Property(_MEAN, 2), Property(_EVERYWHERE, 1)),
    cases=cases,
    examine=examine,
    hint="Think of a table with one place for each of the `size` samples. Each rank fills in what "
    "it has: `total.index_put_` or `total[indices] = values`, and `seen[indices] = 1`. All-reduce "
    "both tables. Where several ranks had the same sample, `seen` says how many, so that "
    "`total / seen` is its value, once.",
    difficulty=2,
    minutes=15,
    call=call_metric,
)
