"""Ranks on real GPUs. Needs torch, numpy and pytest alone: no notebook, no cloudpickle."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from course.machine import this_machine
from course.ranks import launch

GPUS = torch.cuda.device_count()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(GPUS == 0, reason="needs an NVIDIA GPU"),
]
needs_two = pytest.mark.skipif(GPUS < 2, reason="needs two NVIDIA GPUs")


def reduce_on_own_gpu() -> dict:
    x = torch.full((1 << 20,), float(dist.get_rank() + 1), device="cuda")
    dist.all_reduce(x)
    return {
        "backend": dist.get_backend(),
        "device": torch.cuda.current_device(),
        "sum": x[0].item(),
    }


def memory_by_device() -> list[int]:
    """Bytes that this process has allocated on each GPU."""
    torch.ones(1 << 20, device="cuda")
    return [torch.cuda.memory_reserved(index) for index in range(torch.cuda.device_count())]


def one_rank_sleeps_in_nccl() -> None:
    x = torch.ones(1, device="cuda")
    dist.all_reduce(x)
    if dist.get_rank() == 0:
        dist.all_reduce(x)
        torch.cuda.synchronize()


@pytest.mark.parametrize("nprocs", sorted({1, GPUS, GPUS + 1, 4}))
def test_ranks_are_placed_and_reduce(nprocs):
    run = launch(reduce_on_own_gpu, nprocs, timeout=120)
    assert run.ok, run
    backend = "nccl" if nprocs <= GPUS and this_machine().nccl else "gloo"
    total = sum(range(1, nprocs + 1))
    for rank, value in enumerate(run.values):
        assert value == {"backend": backend, "device": rank % GPUS, "sum": total}


def test_a_parent_that_has_used_cuda_can_launch():
    torch.ones(1, device="cuda").sum().item()
    assert torch.cuda.is_initialized()
    assert launch(reduce_on_own_gpu, 2, timeout=120).ok


@needs_two
def test_each_rank_touches_its_own_gpu_only():
    for rank, reserved in enumerate(launch(memory_by_device, GPUS, timeout=120).values):
        assert [index for index, held in enumerate(reserved) if held] == [rank]


@needs_two
def test_a_hang_in_nccl_is_ended_at_the_limit_and_named():
    run = launch(one_rank_sleeps_in_nccl, 2, timeout=8)
    assert run.failure.code in ("timeout", "missing_peer"), run
    assert run.seconds < 15


def test_gloo_on_the_cpu_can_be_asked_for():
    assert launch(dist.get_backend, 2, backend="gloo").values == ["gloo", "gloo"]
