"""Find the bug: the forward that goes around the wrapper."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.metric import is_near, number_of
from autograder.exercises.ddp.models import (
    Net,
    Parts,
    build,
    data,
    device,
    mean_squared,
    weights,
)
from autograder.exercises.ddp.replay import Replay
from autograder.exercises.ddp.shared import (
    ranks_of,
    short_text,
    shown,
)
from autograder.exercises.ddp.watch import Watch
from autograder.verdict import Finding
from course.ranks.outcome import Run

RATE = 0.2
STEPS = 5

_STEP = "every rank's weights are those of one process"
_LOSS = "the step returns this rank's loss"


class WithLoss(Net):
    """A model that can compute its own loss, as many do."""

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return mean_squared(self(x), y)


def wrap(model: nn.Module) -> DistributedDataParallel:
    return DistributedDataParallel(model, device_ids=[0] if device() == "cuda" else None)


def call_step(
    answer: Callable[..., Any], seed: int, xs: torch.Tensor, ys: torch.Tensor
) -> dict[str, Any]:
    model = WithLoss(Parts())
    model.load_state_dict(build(Parts(), seed).state_dict(), strict=False)
    model.standardise.scale.copy_(build(Parts(), seed).standardise.scale)
    ddp = wrap(model.to(device()))
    watch = Watch(ddp)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=RATE)
    before, losses = [], []
    for x, y in zip(xs, ys, strict=True):
        before.append(weights(model))
        losses.append(number_of(answer(ddp, optimizer, x, y)))
    return {
        "before": before,
        "after": weights(model),
        "through_ddp": watch.seen()["wrapper"],
        "losses": losses,
    }


def step_cases(generator: random.Random) -> list[Case]:
    def case(world_size: int) -> Case:
        seeds = [generator.randrange(1 << 30) for _ in range(world_size)]
        batches = [
            [data(generator.randrange(1 << 30), 4) for _ in range(STEPS)] for _ in range(world_size)
        ]
        inputs = tuple(
            (seed, *(torch.stack(part) for part in zip(*of, strict=True)))
            for seed, of in zip(seeds, batches, strict=True)
        )
        shards = list(zip(*batches, strict=True))
        return Case(inputs, (build(Parts(), seeds[0]), shards), f"{ranks_of(world_size)}")

    return [case(2), case(3), case(4), case(1)]


def examine_step(case: Case, run: Run) -> Iterator[Finding]:
    model, shards = case.expected
    replay = Replay(model, shards, RATE, run, _STEP)
    found = replay.findings()
    yield from found or _losses(replay, run)


def _losses(replay: Replay, run: Run) -> Iterator[Finding]:
    for step, losses in enumerate(replay.losses):
        got = [value[step] for value in shown(run, "losses")]
        wrong = [r for r, value in enumerate(got) if not is_near(value, losses[r][0])]
        if wrong:
            yield Finding(
                "wrong_loss",
                f"Step {step + 1} returns {short_text(got[wrong[0]])} on rank {wrong[0]}; the loss "
                f"of that rank's rows, before the step, is {losses[wrong[0]][0]:.6g}.",
                property=_LOSS,
                advice="return loss.item()",
            )
            return


TRAINING_STEP = Exercise(
    name="training_step_fixed",
    title="Find the bug: the GPUs that went their own ways",
    properties=(Property(_STEP, 2), Property(_LOSS, 1)),
    cases=step_cases,
    examine=examine_step,
    hint="What does DDP do in its forward, and who calls it here? Compute the loss from what "
    "`ddp(x)` returns.",
    difficulty=2,
    minutes=10,
    call=call_step,
)
