"""What is accounted for a training step against torch.cuda's own figures.

Needs torch, numpy and pytest alone: no notebook, no cloudpickle.
"""

from __future__ import annotations

import gc

import pytest
import torch
import torch.nn.functional as F

from course.measure.memory import Config, account, optimizer, step_parts
from course.ranks import launch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs an NVIDIA GPU"),
]


def accounted(config: dict) -> int:
    (one,) = account(Config(devices=1, way="DP", **config)).devices
    return one.peak


def measured(device: str, config: dict) -> int:
    """The second step's peak on one device, of what the step itself allocated."""
    module, whole = getattr(torch, device), Config(devices=1, way="DP", **config)
    build, text, loss = step_parts(whole)
    with torch.device(device, 0):
        # cuBLAS takes its workspace once, for good, from the same memory: not the model's.
        workspace = torch.ones(64, 64, requires_grad=True)
        F.linear(workspace, workspace, workspace[0]).sum().backward()
        del workspace
        gc.collect()
        before = module.memory_allocated(0)
        model, batch = build(), text(whole.batch)
    trainer = optimizer(whole.optimizer, model.parameters())
    for _ in range(2):
        trainer.zero_grad()
        module.reset_peak_memory_stats(0)
        loss(model(batch), batch).backward()
        trainer.step()
    return int(module.max_memory_allocated(0)) - before


@pytest.mark.parametrize(
    "config",
    [
        {"batch": 8},
        {"batch": 8, "precision": "autocast"},
        {"batch": 8, "precision": "half", "optimizer": "momentum"},
        {"batch": 16, "head": "classes", "optimizer": "SGD"},
        {"batch": 4, "length": 384},
    ],
    ids=str,
)
@pytest.mark.parametrize("model", ["BERT-base", "GPT-2 small"])
def test_the_account_is_within_5_percent_of_cudas_figures(model, config):
    # In a process of its own: a process with virtual GPUs has them as its accelerator.
    run = launch(accounted, 1, {"model": model, **config}, process_group=False)
    assert run.ok, run
    mine, theirs = run.values[0], measured("cuda", {"model": model, **config})
    print(f"{mine / 2**20:.1f} MiB by account, {theirs / 2**20:.1f} MiB by torch.cuda")
    assert abs(mine / theirs - 1) < 0.05
