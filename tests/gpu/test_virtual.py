"""The ledger of a virtual GPU against torch.cuda's own figures.

Needs torch, numpy and pytest alone: no notebook, no cloudpickle.
"""

from __future__ import annotations

import gc
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.ranks import launch
from course.virtual import gpus

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs an NVIDIA GPU"),
]

WORDS, WIDTH, LAYERS, HEADS, LENGTH = 8000, 512, 4, 8, 256
STAGES = ("model", "forward", "backward", "step", "peak")
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, foreach=False),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=False),
    "Adam": lambda p: torch.optim.Adam(p, foreach=False),
    "Adam, foreach": lambda p: torch.optim.Adam(p, foreach=True),
}


class Layer(nn.Module):
    """A transformer's layer, with its attention written out: the same operations anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (len(x), LENGTH, HEADS, WIDTH // HEADS)
        q, k, v = (t.reshape(shape).transpose(1, 2) for t in self.project(self.one(x)).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)).softmax(-1)
        seen = F.dropout(weights, 0.1) @ v
        x = x + self.mix(seen.transpose(1, 2).reshape(x.shape))
        return x + F.dropout(self.down(F.gelu(self.up(self.two(x)))), 0.1)


class Model(nn.Sequential):
    def __init__(self) -> None:
        layers = [Layer() for _ in range(LAYERS)]
        super().__init__(nn.Embedding(WORDS, WIDTH), *layers, nn.Linear(WIDTH, WORDS))


def figures(device: str, optimizer: str, batch: int, precision: str) -> list[int]:
    """Bytes allocated after each stage of the second step, and that step's peak."""
    module = getattr(torch, device)
    with torch.device(device, 0):
        # cuBLAS takes its workspace once, for good, from the same memory: not the model's.
        workspace = torch.ones(64, 64, requires_grad=True)
        F.linear(workspace, workspace, workspace[0]).sum().backward()
        del workspace
        gc.collect()
        before = module.memory_allocated(0)
        model = Model()
        text = torch.randint(WORDS, (batch, LENGTH))
    found = [module.memory_allocated(0)]
    trainer = OPTIMIZERS[optimizer](model.parameters())
    for _ in range(2):
        trainer.zero_grad()
        module.reset_peak_memory_stats(0)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
            loss = F.cross_entropy(model(text).flatten(0, 1), text.flatten())
        stages = [module.memory_allocated(0)]
        loss.backward()
        stages.append(module.memory_allocated(0))
        trainer.step()
        stages.append(module.memory_allocated(0))
        stages.append(module.max_memory_allocated(0))
        del loss
    return [bytes_ - before for bytes_ in found + stages]


def virtual_figures(*case) -> list[int]:
    with gpus(1, "1 TiB", compute=False, rounding=512):
        return figures("vgpu", *case)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("batch", [2, 8])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_ledger_is_within_5_percent_of_cudas_figures(optimizer, batch, precision):
    # In a process of its own: a process with virtual GPUs has them as its accelerator.
    run = launch(virtual_figures, 1, optimizer, batch, precision, process_group=False)
    assert run.ok, run
    cuda = figures("cuda", optimizer, batch, precision)
    table = [
        f"{stage}: {mine / 2**20:.1f} MiB on the ledger, {theirs / 2**20:.1f} MiB by torch.cuda"
        for stage, mine, theirs in zip(STAGES, run.values[0], cuda)
    ]
    print("\n".join(table))
    for line, mine, theirs in zip(table, run.values[0], cuda):
        assert abs(mine / theirs - 1) < 0.05, line
