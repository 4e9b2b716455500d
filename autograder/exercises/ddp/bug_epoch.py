"""Find the bug: a sampler that is never told the epoch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.partition import epoch_findings, orders_of, partition_findings
from autograder.exercises.ddp.shared import (
    ranks_of,
    shown,
)
from autograder.verdict import Finding
from course.ranks.outcome import Run

_PARTS = "in each epoch the ranks' batches make up the data set"
_EPOCHS = "every epoch has another order"


def call_batches(answer: Callable[..., Any], size: int, batch: int, epochs: int) -> dict[str, Any]:
    torch.manual_seed(1000 + dist.get_rank())
    dataset = torch.arange(size)
    returned = answer(dataset, batch, epochs)
    return {"orders": [_ids(epoch) for epoch in returned], "largest": _largest(returned)}


def _ids(epoch: Any) -> list[int]:
    return [int(i) for batch in epoch for i in torch.as_tensor(batch).reshape(-1)]


def _largest(epochs: Any) -> int:
    return max((torch.as_tensor(b).numel() for epoch in epochs for b in epoch), default=0)


def batches_cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, size: int, batch: int, epochs: int) -> Case:
        label = f"{ranks_of(world_size)}, {size} samples, {epochs} epochs"
        return Case(((size, batch, epochs),) * world_size, (size, batch, epochs), label)

    more = [generator.randint(0, 3) for _ in range(4)]
    return [
        case(2, 21 + 2 * more[0], 4, 3),
        case(3, 20 + 3 * more[1], 4, 2),
        case(4, 21 + 4 * more[2], 3, 2),
        case(1, 10 + more[3], 3, 2),
    ]


def examine_batches(case: Case, run: Run) -> Iterator[Finding]:
    size, batch, epochs = case.expected
    values = shown(run, "orders")
    counts = [len(value) for value in values]
    if any(count != epochs for count in counts):
        yield Finding(
            "wrong_epochs",
            f"Rank 0 returns {counts[0]} epochs where {epochs} were asked for.",
            property=_EPOCHS,
            advice="A list with one entry for each epoch, itself the list of its batches.",
        )
        return
    orders = [orders_of(values, epoch) for epoch in range(epochs)]
    found: list[Finding] = []
    for order in orders:
        found = found or list(partition_findings(order, size, _PARTS, shuffled_apart=True))
    if max(shown(run, "largest")) > batch:
        found.append(
            Finding(
                "batch_too_large",
                f"A batch has {max(shown(run, 'largest'))} samples; {batch} was asked for.",
                property=_PARTS,
                advice="batch_size is the number of samples of one rank's batch.",
            )
        )
    yield from found or _reshuffled(orders)


def _reshuffled(orders: Sequence[Sequence[list[int]]]) -> Iterator[Finding]:
    for a in range(len(orders)):
        for b in range(a + 1, len(orders)):
            if all(o[:-1] == sorted(o[:-1]) for o in orders[a]):
                yield Finding(
                    "not_shuffled",
                    "The samples come in the order of the data set.",
                    property=_EPOCHS,
                    advice="Let the sampler shuffle: that is its default.",
                )
                return
            found = list(epoch_findings(orders[a], orders[b], _EPOCHS))
            if found and any(other != orders[a] for other in orders):
                found = [_one_behind(a, b, found[0])] if orders[a] == orders[b] else found
            if found:
                yield from found
                return


def _one_behind(a: int, b: int, found: Finding) -> Finding:
    """Two epochs alike where not all are."""
    return replace(
        found,
        code="epoch_too_late",
        message=f"Epochs {a} and {b} have the same order, and another epoch has not: when epoch "
        f"{b} began, the sampler had not been told its number.",
        advice="Call set_epoch(epoch) before the batches of that epoch are taken, for every epoch.",
    )


EPOCH_BATCHES = Exercise(
    name="epoch_batches_fixed",
    title="Find the bug: shuffled once",
    properties=(Property(_PARTS, 1), Property(_EPOCHS, 2)),
    cases=batches_cases,
    examine=examine_batches,
    hint="DistributedSampler shuffles by seed + epoch. How would it know the epoch? And when must "
    "it know: before the loop over the batches, or after?",
    difficulty=1,
    minutes=5,
    call=call_batches,
)
