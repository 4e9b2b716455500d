"""What fills a card's memory when a transformer is trained with DataParallel or with DDP.

>>> account(Config(model="BERT-large", devices=4, batch=16, way="DP", card=16)).fits
True

One training step: zero_grad, forward, loss, backward, the optimizer's step; the second one or
later, so that the optimizer has its state. Counted is what torch allocates for tensors. A real
card has less to give than its size: CUDA's context takes some hundred MB, cuBLAS its workspace,
and the allocator loses some to fragments.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.measure.step_memory import (
    ALL_KINDS,
    BUCKETS,
    STAGES,
    Moments,
    alone,
    data_parallel,
    optimizer_step,
)
from course.measure.transformer import SIZES, Transformer

MODELS = tuple(SIZES)
HEADS = ("words", "classes")
OPTIMIZERS = ("SGD", "momentum", "Adam")
PRECISIONS = ("fp32", "autocast", "half")
WAYS = ("DP", "DDP", "DDP, bucket views")
GIB = 2**30
MOST = 2**20  # rows of a batch; what a search gives up at


@dataclass(frozen=True)
class Config:
    """A training step on several cards of one machine.

    Attributes:
        model: of MODELS.
        head: "words" for a score of each word of the vocabulary at each position (as when a
            language model is trained), "classes" for two classes of a text (as in fine-tuning).
        devices: how many cards.
        batch: rows of the whole step, over all devices, with DP and DDP alike.
        optimizer: of OPTIMIZERS, with ``foreach=True``, which torch chooses by itself on CUDA.
        precision: "fp32"; "autocast": weights, gradients and optimizer state in 32 bits, matrix
            products in 16 (float16 and bfloat16 take the same memory); "half": all in 16 bits,
            with no copy of the weights in 32, as after ``model.half()``.
        way: "DP", nn.DataParallel; "DDP" as it is by default, with buckets beside the gradients;
            "DDP, bucket views", with ``gradient_as_bucket_view=True``.
        card: memory of each card, in GiB.
        length: words of a text.
    """

    model: str = "BERT-large"
    head: str = "words"
    devices: int = 4
    batch: int = 16
    optimizer: str = "Adam"
    precision: str = "fp32"
    way: str = "DP"
    card: float = 16
    length: int = 128

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}; known are {list(known)}.")
        for name in ("devices", "batch", "length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.length > SIZES[self.model].longest:
            longest = SIZES[self.model].longest
            raise ValueError(f"{self.model} reads at most {longest} words, not {self.length}.")


_KNOWN: dict[str, Collection[str]] = {
    "model": SIZES,
    "head": HEADS,
    "optimizer": OPTIMIZERS,
    "precision": PRECISIONS,
    "way": WAYS,
}


@dataclass(frozen=True)
class DeviceMemory:
    """One device in the step: ``rows`` of the batch, and what it holds at its peak.

    ``stage`` is that of the peak; ``runs_out`` the stage in which it first needs more than the
    card has, or None.
    """

    device: int
    rows: int
    stage: str
    runs_out: str | None
    by_kind: dict[str, int]

    @property
    def peak(self) -> int:
        """Bytes."""
        return sum(self.by_kind.values())

    @property
    def largest(self) -> str:
        """The kind that takes most at the peak."""
        return max(self.by_kind, key=lambda kind: self.by_kind[kind])


@dataclass(frozen=True)
class Account:
    """The memory of all devices; ``card`` is that of each, in bytes."""

    config: Config
    devices: tuple[DeviceMemory, ...]

    @property
    def card(self) -> int:
        return int(self.config.card * GIB)

    @property
    def fits(self) -> bool:
        return self.first is None

    @property
    def first(self) -> DeviceMemory | None:
        """The device that runs out first: in the earliest stage, or by the most."""
        late = [one for one in self.devices if one.runs_out is not None]
        return min(late, key=lambda d: (STAGES.index(d.runs_out or ""), -d.peak), default=None)

    def sentence(self) -> str:
        """Which device runs out first and of what, or how full the fullest is."""
        first, card = self.first, f"{self.config.card:g} GiB"
        if first is None:
            full = max(self.devices, key=lambda one: one.peak)
            alike = len(self.devices) > 1 and len({one.peak for one in self.devices}) == 1
            who = "Each GPU" if alike else f"GPU {full.device}, the fullest,"
            return f"It fits. {who} needs {_needs(full)}, of {card}."
        others = [one for one in self.devices if one is not first]
        late = [one for one in others if one.runs_out is not None]
        if not others:
            rest = ""
        elif late:
            rest = f" So {'do' if len(late) > 1 else 'does'} {len(late)} of {len(others)} others."
        else:
            rest = f" No other needs more than {max(one.peak for one in others) / GIB:.1f} GiB."
        return (
            f"GPU {first.device} runs out of its {card} in {NAMES[first.runs_out or '']}. "
            f"It would need {_needs(first)}.{rest}"
        )


NAMES = {
    "start": "the beginning, before any pass",
    "replicate": "the copying of the model",
    "forward": "the forward pass",
    "gather": "the gathering of outputs",
    "loss": "the loss",
    "backward": "the backward pass",
    "reduce": "the reduction of gradients",
    "step": "the optimizer's step",
}


def _needs(one: DeviceMemory) -> str:
    most = one.largest
    return (
        f"{one.peak / GIB:.1f} GiB in {NAMES[one.stage]}, "
        f"{one.by_kind[most] / GIB:.1f} of them {most}"
    )


def build(model: str = "BERT-large", head: str = "words") -> Transformer:
    """The model that is accounted for: on the device of the ``with torch.device(...)`` around."""
    return Transformer(SIZES[model], head)


def account(config: Config) -> Account:
    """Bytes on each device, by kind, at its peak in one training step."""
    parts = shares(config)
    home = _at_its_peak(config, 0, parts[0])
    others = {rows: _at_its_peak(config, 1, rows) for rows in set(parts[1:])}
    found = [home, *(others[rows] for rows in parts[1:])]
    devices = [dataclasses.replace(one, device=i) for i, one in enumerate(found)]
    return Account(config, tuple(devices))


def shares(config: Config) -> list[int]:
    """Rows of the batch on each device.

    DP cuts as torch.chunk does: 9 rows on 4 devices are 3, 3, 3 and none. With DDP each rank
    has the same, for which the DistributedSampler repeats some rows.
    """
    most = -(-config.batch // config.devices)
    if config.way != "DP":
        return [most] * config.devices
    return [max(0, min(most, config.batch - most * i)) for i in range(config.devices)]


def largest_batch(config: Config) -> int:
    """The largest whole batch that fits, whatever ``config.batch`` is; 0 if none does."""
    return _largest(dataclasses.replace(config, batch=1))


@functools.cache
def _largest(config: Config) -> int:
    def fits(batch: int) -> bool:
        return account(dataclasses.replace(config, batch=batch)).fits

    low = config.devices  # a row for each; fewer are seldom asked for
    if not fits(low):
        return next((batch for batch in range(low - 1, 0, -1) if fits(batch)), 0)
    while low < MOST and fits(2 * low):
        low *= 2
    high = 2 * low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Fit:
    """The largest batch that fits a configuration, and what one row more would run out of."""

    config: Config
    batch: int
    limit: Account  # at batch + 1, where something runs out


def fits_table(
    ways: Iterable[str] = ("DP", "DDP"),
    optimizers: Iterable[str] = ("SGD", "Adam"),
    precisions: Iterable[str] = ("fp32", "autocast"),
    lengths: Iterable[int] = (128, 384, 512),
    start: Config = Config(),
) -> tuple[Fit, ...]:
    """The largest batch that fits for all these, with all else as in ``start``."""
    table = []
    for length, precision, optimizer, way in itertools.product(
        lengths, precisions, optimizers, ways
    ):
        config = dataclasses.replace(
            start, way=way, optimizer=optimizer, precision=precision, length=length
        )
        table.append(fit(config))
    return tuple(table)


def fit(config: Config) -> Fit:
    """The largest batch for one configuration."""
    batch = largest_batch(config)
    limit = account(dataclasses.replace(config, batch=batch + 1))
    return Fit(dataclasses.replace(config, batch=max(1, batch)), batch, limit)


def optimizer(name: str, parameters: Any) -> torch.optim.Optimizer:
    """One of OPTIMIZERS, as it is accounted for."""
    if name == "Adam":
        return torch.optim.Adam(parameters, foreach=True)
    return torch.optim.SGD(parameters, 0.1, momentum=0.9 * (name == "momentum"), foreach=True)


# ------------------------------------------------------------------------------- moments


def _at_its_peak(config: Config, device: int, rows: int) -> DeviceMemory:
    if rows == 0:
        return DeviceMemory(device, 0, "start", None, dict.fromkeys(ALL_KINDS, 0))
    moments = _moments(config, device)
    held = moments.held(rows, config.batch)
    whole = held.sum(axis=1)
    peak, over = int(whole.argmax()), np.flatnonzero(whole > config.card * GIB)
    return DeviceMemory(
        device,
        rows,
        STAGES[moments.stages[peak]],
        STAGES[moments.stages[over[0]]] if len(over) else None,
        dict(zip(ALL_KINDS, map(int, held[peak]))),
    )


def _moments(config: Config, device: int) -> Moments:
    way, replicas = config.way, config.devices - shares(config).count(0)
    if way == "DP" and config.devices == 1:
        way = "alone"
    place = min(device, 1) if way == "DP" else 0
    parts = (config.model, config.head, config.precision)
    return _whole_step(way, min(replicas, 2), place, *parts, config.length, config.optimizer)


@functools.lru_cache(maxsize=256)
def _whole_step(
    way: str,
    replicas: int,
    place: int,
    model: str,
    head: str,
    precision: str,
    length: int,
    optimizer: str,
) -> Moments:
    if way == "DP":
        moments = _data_parallel(model, head, precision, length, replicas)[place]
    else:
        moments = _alone(model, head, precision, length, way == "DDP, bucket views")
    if place:
        return moments
    if way.startswith("DDP"):
        size = _weights(model, head) * _dtype(precision).itemsize
        moments = moments.with_constant(BUCKETS, size)
    state, changes = _step(model, head, precision, optimizer)
    return moments.with_constant("optimizer state", state).then(changes)


@functools.lru_cache(maxsize=64)
def _data_parallel(
    model: str, head: str, precision: str, length: int, replicas: int
) -> tuple[Moments, ...]:
    return data_parallel(*_case(model, head, precision, length), replicas=replicas)


@functools.lru_cache(maxsize=64)
def _alone(model: str, head: str, precision: str, length: int, views: bool) -> Moments:
    return alone(*_case(model, head, precision, length), free_gradients=views)


@functools.lru_cache(maxsize=64)
def _step(model: str, head: str, precision: str, name: str) -> tuple[int, np.ndarray]:
    make = functools.partial(optimizer, name)
    return optimizer_step(_weights(model, head), _dtype(precision), make)


@functools.lru_cache(maxsize=64)
def _weights(model: str, head: str) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in build(model, head).parameters())


def _dtype(precision: str) -> torch.dtype:
    """Of weights and gradients."""
    return torch.float16 if precision == "half" else torch.float32


class Autocast(nn.Module):
    """Calls a model under autocast in the thread that it runs in, as DataParallel's need."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        with torch.autocast(text.device.type, dtype=torch.float16):
            return self.model(text)  # type: ignore[no-any-return]


def step_parts(config: Config) -> tuple[Any, ...]:
    """What a step of this configuration is made of, to run it.

    Returns:
        ``build()``, the model; ``text(rows)``, a batch; ``loss(output, batch)``; the first two
        make them on the device of the ``with torch.device(...)`` around.
    """
    return _case(config.model, config.head, config.precision, config.length)


def _case(model: str, head: str, precision: str, length: int) -> tuple[Any, ...]:
    def text(rows: int) -> torch.Tensor:
        return torch.zeros(rows, length, dtype=torch.long)

    def loss(output: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        kind, on = output.device.type, precision == "autocast"
        with torch.autocast(kind, dtype=torch.float16, enabled=on):
            if head == "words":
                return F.cross_entropy(output.flatten(0, 1), batch.flatten())
            return F.cross_entropy(output, batch[:, 0])

    return _builder(model, head, precision), text, loss


def _builder(model: str, head: str, precision: str) -> Callable[[], nn.Module]:
    def made() -> nn.Module:
        usual = torch.get_default_dtype()
        try:
            torch.set_default_dtype(_dtype(precision))
            whole = build(model, head)
        finally:
            torch.set_default_dtype(usual)
        return Autocast(whole) if precision == "autocast" else whole

    return made
