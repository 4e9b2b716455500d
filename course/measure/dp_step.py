"""One step of torch's own nn.DataParallel on virtual GPUs: what moves, stage by stage.

>>> step = example(devices=4)
>>> [stage.name for stage in step.stages]
['scatter', 'replicate', 'parallel apply', 'gather', 'loss', 'backward', 'reduce', 'optimizer step']
>>> step["reduce"].moves[0]
Move(source=1, target=0, bytes=..., kind='gradients')
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course.measure.transformer import Size, Transformer
from course.virtual import Moment, Transfer, gpus, ledger, reset, transfers

STAGES = (
    "scatter",
    "replicate",
    "parallel apply",
    "gather",
    "loss",
    "backward",
    "reduce",
    "optimizer step",
)
EXAMPLE = Size(words=2000, width=128, layers=2, heads=4, longest=32, causal=False)


@dataclass(frozen=True)
class Move:
    """Bytes of one kind from one device to another in a stage, all copies together."""

    source: int
    target: int
    bytes: int
    kind: str


@dataclass(frozen=True)
class Stage:
    """A stage of the step; ``held`` and ``peaks`` have one entry for each device.

    ``begin`` and ``end`` are seconds since the step began, ``held`` bytes by kind at the end,
    ``peaks`` the most bytes at once.
    """

    name: str
    begin: float
    end: float
    moves: tuple[Move, ...]
    held: tuple[dict[str, int], ...]
    peaks: tuple[int, ...]

    @property
    def moved(self) -> int:
        """Bytes between devices, in all."""
        return sum(move.bytes for move in self.moves)


@dataclass(frozen=True)
class Step:
    """A recorded step. ``timelines[i]``: what device i held at first, and after each change.

    ``Moment.seconds`` there count from the step's beginning, as the stages' times do.
    """

    stages: tuple[Stage, ...]
    timelines: tuple[tuple[Moment, ...], ...]

    def __getitem__(self, name: str) -> Stage:
        """The stage of that name; KeyError if there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    @property
    def devices(self) -> int:
        return len(self.timelines)

    @property
    def through_home(self) -> int:
        """Bytes that left device 0 or came to it: with DataParallel, all of them."""
        return sum(m.bytes for s in self.stages for m in s.moves if 0 in (m.source, m.target))

    def peak(self, device: int) -> int:
        return max(stage.peaks[device] for stage in self.stages)


def record(
    model: nn.Module,
    batch: torch.Tensor,
    target: torch.Tensor,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
    *,
    devices: int = 4,
    memory: str = "16 GiB",
    compute: bool = True,
) -> Step:
    """The second training step: in the first the optimizer makes its state.

    Args:
        model: on the CPU; it is left there, and a copy is trained.
        batch, target: on the CPU; they are put on device 0 before the step.
        loss: of the gathered output and the target, on device 0.
        optimizer: made of the parameters; Adam, if None.
        devices: how many virtual GPUs; at least 2, for with one there is nothing to see.
        compute: False to only account, for a large model.

    Raises:
        ValueError: fewer than two devices, or a batch with fewer rows than two.
        torch.OutOfMemoryError: the devices are too small.
    """
    if devices < 2 or len(batch) < 2:
        raise ValueError(f"{devices} devices and {len(batch)} rows: it takes two of each.")
    with gpus(devices, memory, compute=compute) as machine:
        home = machine[0]
        marks = _Marks()
        parallel = _Marking(copy.deepcopy(model).to(home), marks)
        trainer = (optimizer or torch.optim.Adam)(parallel.parameters())
        batch, target = batch.to(home), target.to(home)
        for _ in range(2):
            trainer.zero_grad()
            reset()
            marks.clear()
            at_first = [one.by_kind for one in machine.ledgers]
            _step(parallel, batch, target, loss, trainer, marks)
        return _read(marks, machine.devices, at_first)


def example(devices: int = 4, rows: int = 32) -> Step:
    """A step of a small transformer with Adam; each row is a text of 32 words."""
    torch.manual_seed(0)
    text = torch.randint(EXAMPLE.words, (rows, EXAMPLE.longest))

    def loss(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(scores.flatten(0, 1), target.flatten())

    return record(Transformer(EXAMPLE), text, text, loss, devices=devices)


def _step(
    parallel: nn.Module,
    batch: torch.Tensor,
    target: torch.Tensor,
    loss: Callable[..., torch.Tensor],
    trainer: torch.optim.Optimizer,
    marks: _Marks,
) -> None:
    def of(output: torch.Tensor) -> torch.Tensor:
        marks.begin("loss")
        return loss(output, target)

    value = of(parallel(batch))
    marks.begin("backward")
    value.backward()
    marks.begin("optimizer step")
    trainer.step()
    marks.end()


class _Marks:
    """When each stage began, and the last one ended."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.times: list[float] = []

    def clear(self) -> None:
        self.names.clear()
        self.times.clear()

    def begin(self, name: str) -> None:
        self.names.append(name)
        self.times.append(time.perf_counter())

    def end(self) -> None:
        self.times.append(time.perf_counter())


class _Marking(nn.DataParallel[nn.Module]):
    """torch's own, which says when each of its stages begins."""

    def __init__(self, model: nn.Module, marks: _Marks) -> None:
        super().__init__(model)
        self._marks = marks

    def scatter(self, *args: Any) -> Any:
        self._marks.begin("scatter")
        return super().scatter(*args)

    def replicate(self, *args: Any) -> list[Any]:
        self._marks.begin("replicate")
        replicas = super().replicate(*args)
        # One node of autograd made all copies; it reduces, when all their gradients are there.
        parts: Any = [part._former_parameters.values() for part in replicas[0].modules()]  # type: ignore[operator]
        node = next(one.grad_fn for copies in parts for one in copies if one.grad_fn)
        node.register_prehook(lambda gradients: self._marks.begin("reduce"))
        return replicas

    def parallel_apply(self, *args: Any) -> list[Any]:
        self._marks.begin("parallel apply")
        return super().parallel_apply(*args)

    def gather(self, *args: Any) -> Any:
        self._marks.begin("gather")
        return super().gather(*args)


def _read(marks: _Marks, devices: tuple[torch.device, ...], at_first: list[dict[str, int]]) -> Step:
    start = marks.times[0]
    lines = []
    for device, first in zip(devices, at_first):
        inside = [m for m in ledger(device).timeline() if m.seconds < marks.times[-1]]
        moments = [Moment(m.seconds - start, m.by_kind) for m in inside]
        lines.append((Moment(-1e-9, first), *moments))
    times = [at - start for at in marks.times]
    copies = transfers()
    stages = []
    for name, begin, end in zip(marks.names, times, times[1:]):
        done = [one for one in copies if begin <= one.seconds - start < end]
        held = tuple(_held(line, end) for line in lines)
        peaks = tuple(_peak(line, begin, end) for line in lines)
        stages.append(Stage(name, begin, end, _moves(done), held, peaks))
    return Step(tuple(stages), tuple(lines))


def _moves(copies: Iterable[Transfer]) -> tuple[Move, ...]:
    together: dict[tuple[int, int, str], int] = {}
    for one in copies:
        key = (_index(one.source), _index(one.target), one.kind)
        together[key] = together.get(key, 0) + one.bytes
    return tuple(Move(s, t, size, kind) for (s, t, kind), size in sorted(together.items()))


def _index(device: torch.device) -> int:
    return -1 if device.type == "cpu" else device.index


def _held(line: tuple[Moment, ...], at: float) -> dict[str, int]:
    """Bytes by kind at a time: after the last change before it."""
    return [moment.by_kind for moment in line if moment.seconds < at][-1]


def _peak(line: tuple[Moment, ...], begin: float, end: float) -> int:
    inside = [moment.bytes for moment in line if begin <= moment.seconds < end]
    return max([sum(_held(line, begin).values()), *inside])
