"""The whole training loop with torch's DDP."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.metric import is_near, number_of, numbers_table
from autograder.exercises.ddp.models import (
    Parts,
    build,
    data,
    weights,
)
from autograder.exercises.ddp.partition import epoch_findings, partition_findings, share_of
from autograder.exercises.ddp.replay import Replay
from autograder.exercises.ddp.shared import (
    listed_text,
    ranks_of,
    ranks_text,
    shown,
)
from autograder.exercises.ddp.watch import Forwards, Recorded, Steps
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_DATA = "every rank its part of the data, shuffled anew in each epoch"
_WEIGHTS = "every rank's weights are those of one process"
_LOSS = "the loss of each epoch is that of all ranks"
RATE = 0.2


def call_train(
    answer: Callable[..., Any],
    parts: Parts,
    seed: int,
    x: torch.Tensor,
    y: torch.Tensor,
    epochs: int,
    batch: int,
) -> dict[str, Any]:
    torch.manual_seed(1000 + dist.get_rank())
    model = build(parts, seed)
    dataset = Recorded(x, y)
    forwards, steps = Forwards(model, dataset), Steps(model)
    losses = answer(model, dataset, epochs, batch, RATE)
    sequence = isinstance(losses, (list, tuple))
    return {
        "batches": forwards.batches,
        "before": forwards.weights,
        "after": weights(model),
        "through_ddp": forwards.through_ddp,
        "optimizers": steps.first,
        "losses": [number_of(loss) for loss in losses] if sequence else number_of(losses),
    }


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, size: int, batch: int, epochs: int, parts: Parts) -> Case:
        seeds = [generator.randrange(1 << 30) for _ in range(world_size)]
        x, y = data(generator.randrange(1 << 30), size)
        inputs = tuple((parts, seed, x, y, epochs, batch) for seed in seeds)
        label = (
            f"{ranks_of(world_size)}, {size} samples, batches of {batch} a rank, {epochs} epochs"
        )
        return Case(inputs, (build(parts, seeds[0]), x, y, batch, epochs), label)

    return [
        case(2, 21, 4, 2, Parts()),
        case(3, 19, 4, 3, Parts(frozen=True, tied=True)),
        case(4, 15, 3, 3, Parts()),
        case(1, 10, 4, 2, Parts(tied=True)),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    model, x, y, batch, epochs = case.expected
    batches = [_batches(value) for value in shown(run, "batches")]
    found = list(_steps(batches, len(x), batch, epochs))
    by_epoch = [] if found else _by_epoch(batches, epochs)
    for orders in by_epoch:
        found = found or list(partition_findings(orders, len(x), _DATA))
    yield from found
    if found:
        return
    yield from _shuffled(by_epoch)
    shards = [[(x[b], y[b]) for b in step] for step in zip(*batches, strict=True)]
    replay = Replay(model, shards, RATE, run, _WEIGHTS)
    yield from replay.findings() or _losses(replay, len(x), epochs, run)


def _batches(value: Any) -> list[list[int]]:
    return [list(b) for b in value] if isinstance(value, list) else []


def _steps(
    batches: Sequence[list[list[int]]], size: int, batch: int, epochs: int
) -> Iterator[Finding]:
    """Numbers of steps, and of rows in each."""
    ranks = len(batches)
    share = share_of(size, ranks)
    wanted = -(-share // batch) * epochs
    counts = [len(of) for of in batches]
    table = Table(
        ("rank", "forwards", "wanted", "rows in each"),
        tuple(
            (str(r), str(counts[r]), str(wanted), listed_text([len(b) for b in of][:6]))
            for r, of in enumerate(batches)
        ),
    )
    if all(count == wanted for count in counts):
        return
    if max(counts) == 0:
        code, why = "not_trained", "The model's forward was never called."
        advice = "Loop over epochs and batches, and call the DDP with each batch."
    elif ranks > 1 and all(sum(len(b) for b in of) == size * epochs for of in batches):
        code = "same_on_all_ranks"
        why = f"Every rank goes through all {size} samples: {ranks} ranks do the same work."
        advice = "DataLoader(dataset, batch_size, sampler=DistributedSampler(dataset))."
    else:
        code = "wrong_steps"
        why = f"Rank 0 calls the model {counts[0]} times; {epochs} epochs over its part of "
        why += f"{share} samples, {batch} at a time, make {wanted}."
        advice = "batch_size is the number of rows of one rank's step; the last one may be smaller."
        if all(len(of) == share // batch * epochs for of in batches) and all(
            len(rows) == batch for of in batches for rows in of
        ):
            code = "last_batch_dropped"
            why = f"The last, smaller batch of each epoch is left out: rank 0 makes {counts[0]} "
            why += f"steps where {wanted} are needed for all of its {share} samples."
            advice = "A DataLoader with drop_last=True leaves it out. Here it belongs to the epoch."
    yield Finding(code, why, _DATA, table, advice=advice)


def _by_epoch(batches: Sequence[list[list[int]]], epochs: int) -> list[list[list[int]]]:
    """[epoch][rank]: the samples that it took."""
    steps = len(batches[0]) // epochs
    return [
        [[i for b in of[e * steps : (e + 1) * steps] for i in b] for of in batches]
        for e in range(epochs)
    ]


def _shuffled(by_epoch: Sequence[Sequence[list[int]]]) -> Iterator[Finding]:
    for first, second in itertools.pairwise(by_epoch):
        if all(order[:-1] == sorted(order[:-1]) for order in first):
            yield Finding(
                "not_shuffled",
                "The samples come in the order of the data set.",
                _DATA,
                advice="DistributedSampler shuffles by itself, with shuffle=True, which is its "
                "default.",
            )
            return
        found = list(epoch_findings(first, second, _DATA))
        yield from found
        if found:
            return


def _losses(replay: Replay, size: int, epochs: int, run: Run) -> Iterator[Finding]:
    steps, returned = len(replay.losses) // epochs, shown(run, "losses")
    for epoch in range(epochs):
        got = [_entry(value, epoch) for value in returned]
        here = slice(epoch * steps, (epoch + 1) * steps)
        found = list(_loss(replay.losses[here], got, epoch, returned, epochs))
        if found and found[0].code == "wrong_loss":
            found = [_known(found[0], replay, here, size, got, epoch)]
        yield from found
        if found:
            return


def _known(
    found: Finding, replay: Replay, here: slice, size: int, got: Sequence[Any], epoch: int
) -> Finding:
    """A wrong loss, by the mistake that makes the same number on every rank."""
    before = [pair for step in replay.losses[here] for pair in step]
    after = [pair for step in replay.later[here] for pair in step]
    rows = sum(n for _, n in before)
    total = sum(loss * n for loss, n in before)
    if all(is_near(value, total / size) for value in got):
        why = (
            f"Epoch {epoch}: The sum was divided by {size}, the samples of the data set, and "
            f"{rows} rows were added up: the sampler pads the ranks' parts, and a row that was "
            "used twice is in the sum twice."
        )
        advice = "Count the rows where you add up their losses, and divide by that number."
        return replace(found, code="divided_by_dataset", message=why, advice=advice)
    if all(is_near(value, sum(loss * n for loss, n in after) / rows) for value in got):
        why = (
            f"Epoch {epoch}: These losses are of the weights after each step: the model was called "
            "once more for them."
        )
        advice = "Use the loss that backward was called on: it is there already, loss.item()."
        return replace(found, code="loss_after_step", message=why, advice=advice)
    return found


def _entry(value: Any, number: int) -> Any:
    return value[number] if isinstance(value, list) and len(value) > number else None


def _loss(
    losses: Sequence[Sequence[tuple[float, int]]],
    got: Sequence[Any],
    epoch: int,
    returned: Sequence[Any],
    epochs: int,
) -> Iterator[Finding]:
    ranks = len(got)
    rows = [sum(step[r][1] for step in losses) for r in range(ranks)]
    sums = [sum(step[r][0] * step[r][1] for step in losses) for r in range(ranks)]
    wanted = sum(sums) / sum(rows)
    wrong = [r for r, value in enumerate(got) if not is_near(value, wanted)]
    if not wrong and all(len(value) == epochs for value in returned):
        return
    means = [sum(step[r][0] for step in losses) / len(losses) for r in range(ranks)]
    last = [losses[-1][r][0] for r in range(ranks)]
    code, why = "wrong_loss", "This is not the mean loss over all rows of all ranks."
    advice = "Add up loss × rows, and rows, on each rank; all-reduce both; divide."

    def each_is(numbers: Sequence[float]) -> bool:
        return all(is_near(v, n) for v, n in zip(got, numbers, strict=True))

    if not all(isinstance(value, list) and len(value) == epochs for value in returned):
        code, why = "wrong_losses", f"Not every rank returns a list of {epochs} losses."
        advice = "One float for each epoch, the same on every rank."
    elif not wrong:
        return
    elif ranks > 1 and each_is([s / n for s, n in zip(sums, rows, strict=True)]):
        code, why = "local_loss", "Each rank returns the mean loss of its own rows."
        advice = "The others' rows count too: all-reduce before you divide, or report."
    elif ranks > 1 and (each_is(means) or each_is(last)):
        code, why = "local_loss", "Each rank returns a loss of its own batches only."
        advice = "The others' rows count too: all-reduce before you divide, or report."
    elif each_is([sum(last) / ranks] * ranks):
        code, why = "last_batch_only", "This is the loss of the last batch, not of the epoch."
    elif each_is([sum(means) / ranks] * ranks):
        code = "mean_of_means"
        why = (
            f"This is the mean of the batches' means. The batches have "
            f"{listed_text([step[0][1] for step in losses])} rows, so a row of the last one counts "
            "more."
        )
    elif 0 < len(wrong) < ranks:
        right = [r for r in range(ranks) if r not in wrong]
        code, why = "some_ranks", f"Only {ranks_text(right)} returns the loss of all ranks."
        advice = "dist.all_reduce leaves the sum on every rank, dist.reduce on one."
    yield Finding(
        code, f"Epoch {epoch}: {why}", _LOSS, numbers_table(got, wanted, rows), advice=advice
    )


TRAIN_DDP = Exercise(
    name="train_ddp",
    title="The whole loop",
    properties=(Property(_DATA, 2), Property(_WEIGHTS, 2), Property(_LOSS, 1)),
    cases=cases,
    examine=examine,
    hint="In this order: `ddp = DDP(model)`, a sampler, a `DataLoader(dataset, batch_size, "
    "sampler=sampler)` without shuffle, an optimizer over `ddp.parameters()`. In each epoch: "
    "`sampler.set_epoch(epoch)`, then for each batch `zero_grad`, `ddp(x)`, `backward`, `step`. "
    "For the loss of the epoch keep two numbers on each rank, the sum of loss × rows and the rows, "
    "in one tensor; all-reduce it, then divide. On a GPU a batch must be moved: `x.to(device())`.",
    difficulty=3,
    minutes=25,
    call=call_train,
)
