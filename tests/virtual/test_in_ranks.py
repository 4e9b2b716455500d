"""Virtual GPUs inside real ranks: each rank has its own."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn

from course.ranks import launch


def train_with_averaged_gradients(seed: int) -> dict:
    from course.virtual import gpus, ledger

    rank = dist.get_rank()
    with gpus(2, "1 MiB") as devices:
        torch.manual_seed(seed)
        model = nn.Linear(4, 4).to(devices[rank])
        model(torch.full((2, 4), rank + 1.0, device=devices[rank])).sum().backward()
        gradient = model.weight.grad.cpu()
        dist.all_reduce(gradient)
        held = [ledger(d).by_kind["gradients"] for d in devices]
        return {"gradient": gradient, "held": held, "weight": model.weight}


def test_each_rank_has_its_own_devices_and_ledger():
    run = launch(train_with_averaged_gradients, 2, 7)
    assert run.ok, run
    for rank, value in enumerate(run.values):
        assert torch.equal(value["gradient"], torch.full((4, 4), 2.0 + 4.0))
        assert value["held"] == ([80, 0] if rank == 0 else [0, 80])
        assert type(value["weight"]) is torch.Tensor  # sent as plain data


def fills_its_memory() -> None:
    from course.virtual import gpus

    gpus(1, "1 KiB")
    torch.ones(1000, device="vgpu:0")


def test_a_rank_that_runs_out_of_memory_says_so():
    run = launch(fills_its_memory, 1)
    assert not run.ok
    assert "GPU 0 has a total capacity of 1024 bytes" in str(run.failure)
