"""What one training step holds in each device's memory at each moment, for any batch.

The step is made once, on virtual GPUs that only account, with torch's own nn.DataParallel. Its
batch is of sizes that are found again in the bytes of every block: the first device's share,
the second one's and half of the whole batch are three large primes. A block whose bytes are a
multiple of one of them grows with that share or with the batch, and any other is constant. So
the bytes of every moment are known for every batch and number of devices:

    constant + own share · bytes a row + whole batch · bytes a row

Tests compare it with full steps at real sizes.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel._functions import Scatter

from course.virtual import KINDS, Ledger, gpus, ledger, reset

STAGES = ("start", "replicate", "forward", "gather", "loss", "backward", "reduce", "step")
BUCKETS = "DDP buckets"
ALL_KINDS = (*KINDS, BUCKETS)

_HOME, _OTHER = 100003, 200131  # rows; primes, and so is half of their sum
_PLENTY = 2**62  # bytes: the step with these batches needs more than any card

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of the output and the batch


@dataclass(frozen=True)
class Moments:
    """What one device holds after each change of its memory, in order.

    ``stages`` (moments,): an index into STAGES for each. ``bytes`` (moments, 3, kinds): the
    constant part, for each row of the device's share, and for each row of the whole batch;
    kinds in the order of ALL_KINDS.
    """

    stages: np.ndarray
    bytes: np.ndarray

    def __getitem__(self, some: slice) -> Moments:
        return Moments(self.stages[some], self.bytes[some])

    def held(self, rows: int, batch: int) -> np.ndarray:
        """Bytes by moment and kind, (moments, kinds)."""
        constant, own, whole = self.bytes.swapaxes(0, 1)
        return np.asarray(constant + own * rows + whole * batch)

    def with_constant(self, kind: str, size: int) -> Moments:
        """So many bytes more of a kind, all the time."""
        more = self.bytes.copy()
        more[:, 0, ALL_KINDS.index(kind)] += size
        return Moments(self.stages, more)

    def then(self, changes: np.ndarray) -> Moments:
        """The optimizer's step after all else: ``changes`` (moments, kinds) of its own."""
        after = np.repeat(self.bytes[-1:], len(changes), axis=0)
        after[:, 0] += changes
        stages = np.full(len(changes), STAGES.index("step"))
        return Moments(np.append(self.stages, stages), np.concatenate([self.bytes, after]))


def data_parallel(
    build: Callable[[], nn.Module],
    text: Callable[[int], torch.Tensor],
    loss: Loss,
    *,
    replicas: int = 2,
) -> tuple[Moments, ...]:
    """Home's moments and another device's, in a step of nn.DataParallel without optimizer.

    Args:
        build: makes the model; called where factories make tensors on the home device.
        text: makes a batch of so many rows, there too.
        loss: of what the model returns for it.
        replicas: 1 for a batch too small for two; then there are home's moments only.
    """
    rows = (_HOME, _OTHER)[:replicas]
    with _uncollected(), gpus(2, _PLENTY, compute=False) as devices:
        with torch.device(devices[0]):
            model, batch = build(), text(sum(rows))
        marks = _Marks()
        parallel = _InTurn(model, rows, marks)
        _forward_and_backward(parallel, batch, loss, marks)
        return tuple(_read(ledger(i), marks, own) for i, own in enumerate(rows))


def alone(
    build: Callable[[], nn.Module],
    text: Callable[[int], torch.Tensor],
    loss: Loss,
    *,
    free_gradients: bool = False,
) -> Moments:
    """The moments of a device that does all for its share: one GPU, or a rank of DDP.

    ``free_gradients``: those of parameters are given away as soon as they are there, as they
    are where DDP copies them into its buckets and keeps no others.
    """
    with _uncollected(), gpus(1, _PLENTY, compute=False) as devices:
        with torch.device(devices[0]):
            model, batch = build(), text(_HOME)
        if free_gradients:
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(_forget_gradient)
        marks = _Marks()
        marks.begin("forward")
        _forward_and_backward(model, batch, loss, marks)
        return _read(ledger(0), marks, _HOME)


def optimizer_step(
    weights: int,
    dtype: torch.dtype,
    optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer],
) -> tuple[int, np.ndarray]:
    """Bytes of the optimizer's state, and the changes (moments, kinds) during a step.

    With ``foreach=True`` each operation is done for all parameters before the next. So one
    parameter of as many weights takes the same memory as all of them.
    """
    with gpus(1, _PLENTY, compute=False) as devices:
        parameter = nn.Parameter(torch.empty(weights, dtype=dtype, device=devices[0]))
        trainer = optimizer([parameter])
        parameter.grad = torch.empty_like(parameter)
        trainer.step()
        reset()
        before = _bytes(ledger(0).by_kind)
        trainer.step()
        held = [_bytes(moment.by_kind) for moment in ledger(0).timeline()] or [before]
        return ledger(0).by_kind["optimizer state"], np.array(held) - before


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which finds nothing here and takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Marks:
    """When each stage began."""

    def __init__(self) -> None:
        self.stages: list[int] = []
        self.seconds: list[float] = []

    def begin(self, stage: str) -> None:
        self.stages.append(STAGES.index(stage))
        self.seconds.append(time.perf_counter())

    def of(self, seconds: Sequence[float]) -> np.ndarray:
        """The stage at each of these times; "start" before the first."""
        places = np.searchsorted(self.seconds, seconds, side="right")
        return np.array([STAGES.index("start"), *self.stages])[places]


class _InTurn(nn.DataParallel[nn.Module]):
    """torch's own, with shares as told, and replicas one after the other.

    What a device holds does not depend on when the others do their part, and without threads
    the order of its allocations is always the same.
    """

    def __init__(self, model: nn.Module, shares: Sequence[int], marks: _Marks) -> None:
        super().__init__(model)
        self._shares, self._marks = shares, marks

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        self._marks.begin("replicate")
        return [(part,) for part in Scatter.apply(device_ids, self._shares, 0, *inputs)], [
            {}
        ] * len(self._shares)

    def replicate(self, module: Any, device_ids: Any) -> list[Any]:
        replicas = super().replicate(module, device_ids)
        # One node of autograd made all copies; it reduces, when all their gradients are there.
        parts: Any = [part._former_parameters.values() for part in replicas[0].modules()]  # type: ignore[operator]
        node = next(copy.grad_fn for copies in parts for copy in copies if copy.grad_fn)
        node.register_prehook(lambda gradients: self._marks.begin("reduce"))
        return replicas

    def parallel_apply(self, replicas: Any, inputs: Any, kwargs: Any) -> list[Any]:
        self._marks.begin("forward")
        return [replica(*given) for replica, given in zip(replicas, inputs)]

    def gather(self, outputs: Any, output_device: Any) -> Any:
        self._marks.begin("gather")
        return super().gather(outputs, output_device)


def _forward_and_backward(model: nn.Module, batch: torch.Tensor, loss: Loss, marks: _Marks) -> None:
    def of(output: torch.Tensor) -> torch.Tensor:
        marks.begin("loss")
        return loss(output, batch)

    value = of(model(batch))  # no name for the output, that would keep it
    marks.begin("backward")
    value.backward()


def _forget_gradient(parameter: torch.Tensor) -> None:
    parameter.grad = None


def _read(book: Ledger, marks: _Marks, own: int) -> Moments:
    moments = book.timeline()
    held = np.array([_bytes(moment.by_kind) for moment in moments], dtype=np.int64)
    changes = np.diff(held, axis=0, prepend=np.zeros_like(held[:1]))
    parts = np.stack([_told_apart(change, own) for change in changes.T], axis=-1)
    stages = marks.of([moment.seconds for moment in moments])
    before = int((stages == STAGES.index("start")).sum())  # when the model was made
    return Moments(stages, parts.cumsum(axis=0))[max(0, before - 1) :]


def _told_apart(changes: np.ndarray, own: int) -> np.ndarray:
    """(moments,) to (moments, 3): constant, bytes for each own row, for each row of the batch."""
    whole = _HOME + _OTHER
    of_own = changes % own == 0
    of_whole = ~of_own & (changes % whole == 0)
    constant = ~of_own & ~of_whole
    return np.stack([changes * constant, changes * of_own // own, changes * of_whole // whole], 1)


def _bytes(by_kind: dict[str, int]) -> list[int]:
    return [*by_kind.values(), 0]  # in the order of KINDS; a ledger has no DDP buckets
