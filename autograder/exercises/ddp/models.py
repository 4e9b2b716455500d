"""The small models that this lesson's exercises train, and what one process makes of them.

Everything is float64, so that a result is compared to the last digits, and is made from a seed of
its own: neither a rank's nor the judge's random state is touched.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

FEATURES, OUTPUTS = 5, 3
Gradients = dict[str, torch.Tensor | None]
Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Parts:
    """What a model has beside its plain layers.

    ``branches``: two layers of which each forward takes one (or none). ``unused``: a layer that
    no forward takes.
    """

    frozen: bool = False
    tied: bool = False
    branches: bool = False
    unused: bool = False

    def __str__(self) -> str:
        names = {
            "frozen": "a frozen layer",
            "tied": "tied weights",
            "branches": "branches",
            "unused": "an unused layer",
        }
        extras = ", ".join(text for name, text in names.items() if getattr(self, name))
        return f"a model with {extras}" if extras else "a plain model"


class Standardise(nn.Module):
    """Buffers of three kinds: what the model computes depends on them, and they do not change."""

    shift: torch.Tensor
    scale: torch.Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(features, dtype=torch.float64), persistent=False)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.shift) * self.scale


class Net(nn.Module):
    """x of shape (rows, FEATURES) to (rows, OUTPUTS); no two of its layers are of one shape."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.standardise = Standardise(FEATURES)
        self.inner = _linear(FEATURES, 8)
        self.middle = _linear(8, 8)
        if parts.frozen:
            self.frozen = _linear(8, 8).requires_grad_(False)
        if parts.unused:
            self.unused = _linear(7, 2)
        if parts.branches:
            # Without biases, so that one branch's numbers can take the other's place unnoticed.
            self.branch_a = _linear(8, 8, bias=False)
            self.branch_b = _linear(8, 8, bias=False)
        if parts.tied:
            self.again = _linear(8, 8)
            self.again.weight = self.middle.weight
        self.head = _linear(8, OUTPUTS)
        self._parts = parts

    def forward(self, x: torch.Tensor, branch: str | None = None) -> torch.Tensor:
        h = torch.tanh(self.inner(self.standardise(x)))
        h = torch.tanh(self.middle(h))
        if self._parts.frozen:
            h = torch.tanh(self.frozen(h))
        if branch is not None:
            h = torch.tanh(getattr(self, f"branch_{branch}")(h))
        if self._parts.tied:
            h = torch.tanh(self.again(h))
        return self.head(h)


def _linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias, dtype=torch.float64)


def build(parts: Parts, seed: int) -> Net:
    """The model on this rank's device, filled from the seed."""
    with torch.random.fork_rng(devices=[]):  # nn.Linear draws its first weights
        model = Net(parts)
    fill(model, seed)
    return model.to(device())


def fill(model: nn.Module, seed: int) -> None:
    """Give every parameter and buffer numbers from the seed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            draws = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(draws - 0.5)
        for buffer in model.buffers():
            draws = torch.rand(buffer.shape, generator=generator, dtype=torch.float64)
            buffer.copy_(draws + 0.5 if buffer.is_floating_point() else draws * 1000 + 1)


def data(seed: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """x of shape (rows, FEATURES) and y of shape (rows, OUTPUTS)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((rows, FEATURES), generator=generator, dtype=torch.float64)
    y = torch.randn((rows, OUTPUTS), generator=generator, dtype=torch.float64)
    return x, y


def device() -> str:
    """Where a rank's model lives: on its GPU where NCCL runs, else on the CPU."""
    return "cuda" if dist.is_initialized() and dist.get_backend() == "nccl" else "cpu"


def mean_squared(output: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((output - y) ** 2).mean()


def gradients(model: nn.Module) -> Gradients:
    """A copy of each parameter's gradient, by name; tied parameters have one name."""
    return {
        name: None if p.grad is None else p.grad.detach().clone()
        for name, p in model.named_parameters()
    }


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """A copy of each parameter, by name."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def buffers(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: b.detach().clone() for name, b in model.named_buffers()}


# what the judge computes by itself


def local_gradients(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, branch: str | None = None
) -> Gradients:
    """The gradients of one rank's loss before anything is exchanged."""
    model = copy.deepcopy(model)
    model.zero_grad()
    output = model(x) if branch is None else model(x, branch)
    mean_squared(output, y).backward()
    return gradients(model)


def mean_gradients(local: Sequence[Gradients]) -> Gradients:
    """The mean over all ranks, None counted as zeros; None where no rank has any."""
    return {name: _mean([rank[name] for rank in local]) for name in local[0]}


def _mean(of_ranks: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    there = [g for g in of_ranks if g is not None]
    return torch.stack(there).sum(0) / len(of_ranks) if there else None


def train_alone(
    model: nn.Module,
    batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
    rate: float,
) -> list[dict[str, torch.Tensor]]:
    """The parameters after each plain SGD step of one process that sees whole batches."""
    # By hand: torch.optim would load torch's compiler, which takes the notebook's process seconds.
    model = copy.deepcopy(model)
    after = []
    for x, y in batches:
        model.zero_grad()
        mean_squared(model(x), y).backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.sub_(p.grad, alpha=rate)
        after.append(weights(model))
    return after
