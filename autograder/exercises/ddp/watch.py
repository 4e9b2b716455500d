"""What a training loop did, seen from inside its rank: each forward, and DDP's exchanges."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograder.answer import FILE
from autograder.exercises.ddp.models import gradients, weights


class Watch:
    """Counts a DDP's forwards, and its exchanges of gradients, which are no calls of Python's.

    ``rows`` are those of each forward, ``together`` how many forwards at most were waiting for
    their backward at one time: so many graphs were in memory.
    """

    def __init__(self, ddp: DistributedDataParallel) -> None:
        self.begin()
        ddp.register_forward_pre_hook(lambda *_: self._count("wrapper"))
        ddp.module.register_forward_pre_hook(lambda *_: self._count("module"))
        ddp.module.register_forward_hook(lambda _, inputs, output: self._forward(inputs, output))
        ddp.register_comm_hook(None, lambda _, bucket: self._exchange(bucket))

    def begin(self) -> None:
        self._forwards = {"wrapper": 0, "module": 0}
        self._exchanges: list[dict[str, int]] = []
        self._rows: list[int] = []
        self._waiting: set[int] = set()  # forwards whose backward has not come
        self._together = 0

    def seen(self) -> dict[str, Any]:
        return {
            **self._forwards,
            "exchanges": self._exchanges,
            "rows": self._rows,
            "together": self._together,
        }

    def _count(self, what: str) -> None:
        self._forwards[what] += 1

    def _forward(self, inputs: Sequence[Any], output: Any) -> None:
        number = len(self._rows)
        self._rows.append(len(inputs[0]))
        if isinstance(output, torch.Tensor) and output.requires_grad:
            self._waiting.add(number)
            self._together = max(self._together, len(self._waiting))
            output.register_hook(lambda _: self._waiting.discard(number))

    def _exchange(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        line = _line_of_the_answer()
        after = max(self._forwards.values())
        self._exchanges.append({"after": after, "line": line, "first": int(bucket.index() == 0)})
        buffer = bucket.buffer().div_(dist.get_world_size())
        work = dist.distributed_c10d._get_default_group().allreduce([buffer])
        return work.get_future().then(lambda future: future.value()[0])


def _line_of_the_answer() -> int:
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else 0


class Recorded(torch.utils.data.Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """A data set that remembers which of its samples were taken, in order."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.taken: list[int] = []
        self._x, self._y = x.cpu(), y.cpu()

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        index = int(index)
        self.taken.append(index)
        return self._x[index], self._y[index]


class Forwards:
    """Each training forward of a model: the samples taken since the last one, and the weights.

    A second forward in a row of the same rows, to report a loss for example, is no other step.
    """

    def __init__(self, model: nn.Module, dataset: Recorded) -> None:
        self.batches: list[list[int]] = []
        self.weights: list[dict[str, torch.Tensor]] = []
        self.through_ddp = 0
        self._used = 0
        self._last: torch.Tensor | None = None
        self._dataset = dataset
        model.register_forward_pre_hook(self._forward)
        _count_ddp_forwards(self)

    def _forward(self, module: nn.Module, inputs: Sequence[Any]) -> None:
        if self._last is not None and torch.equal(self._last, inputs[0]):
            return
        self._last = inputs[0].detach().clone()
        rows = len(inputs[0])
        # A loader that looks ahead has taken more; these are the ones that come first.
        self.batches.append(self._dataset.taken[self._used : self._used + rows])
        self._used += rows
        self.weights.append(weights(module))


class Steps:
    """The first step of each optimizer of this rank: its class, its options, and the gradients."""

    def __init__(self, model: nn.Module) -> None:
        self.first: list[dict[str, Any]] = []
        self._model = model
        self._seen: set[int] = set()
        from torch.optim.optimizer import register_optimizer_step_pre_hook  # slow in a notebook

        register_optimizer_step_pre_hook(self._step)

    def _step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if id(optimizer) in self._seen:
            return
        self._seen.add(id(optimizer))
        options = {
            name: float(value)
            for name, value in optimizer.param_groups[0].items()
            if name in ("lr", "momentum", "weight_decay", "dampening")
        }
        kind = type(optimizer).__name__
        self.first.append({"kind": kind, **options, "gradients": gradients(self._model)})


def _count_ddp_forwards(forwards: Forwards) -> None:
    """In this rank's process only, which ends with the run."""
    original = DistributedDataParallel.forward

    def forward(self: DistributedDataParallel, *inputs: Any, **kwargs: Any) -> Any:
        forwards.through_ddp += 1
        return original(self, *inputs, **kwargs)

    DistributedDataParallel.forward = forward  # type: ignore[method-assign]
