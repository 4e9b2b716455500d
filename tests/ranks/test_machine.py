"""Where ranks go, on machines that this one need not be."""

from __future__ import annotations

import pytest
import torch

from course.machine import CannotPlace, Machine, place, this_machine, threads_per_rank


def machine(gpus: int, nccl: bool = True, cores: int = 8) -> Machine:
    return Machine(gpus=gpus, nccl=nccl, nvcc=None, cores=cores, memory_bytes=1 << 34)


@pytest.mark.parametrize(
    ("nprocs", "has", "backend", "devices", "placed_backend"),
    [
        (2, machine(2), None, ["cuda:0", "cuda:1"], "nccl"),
        (2, machine(4), None, ["cuda:0", "cuda:1"], "nccl"),
        (4, machine(2), None, ["cuda:0", "cuda:1", "cuda:0", "cuda:1"], "gloo"),
        (3, machine(1), None, ["cuda:0"] * 3, "gloo"),
        (1, machine(1), None, ["cuda:0"], "nccl"),
        (2, machine(2, nccl=False), None, ["cuda:0", "cuda:1"], "gloo"),
        (2, machine(0), None, ["cpu", "cpu"], "gloo"),
        (2, machine(2), "gloo", ["cpu", "cpu"], "gloo"),
        (2, machine(2), "nccl", ["cuda:0", "cuda:1"], "nccl"),
    ],
)
def test_placement(nprocs, has, backend, devices, placed_backend):
    placed = place(nprocs, has, backend)
    assert [p.device for p in placed] == devices
    assert {p.backend for p in placed} == {placed_backend}
    assert [p.rank for p in placed] == list(range(nprocs))


@pytest.mark.parametrize(
    ("has", "backend", "words"),
    [
        (machine(2), "nccl", "NCCL needs a GPU for each of 3 ranks; this machine has 2 GPUs."),
        (machine(1), "nccl", "this machine has 1 GPU."),
        (machine(0), "mpi", "backend is 'mpi'"),
    ],
)
def test_what_cannot_be_placed_is_refused_in_one_sentence(has, backend, words):
    with pytest.raises(CannotPlace) as refused:
        place(3, has, backend)
    assert words in str(refused.value)


def test_threads_are_the_cores_divided_by_the_ranks_and_at_least_one():
    assert [threads_per_rank(n, machine(0, cores=8)) for n in (1, 2, 3, 8, 20)] == [8, 4, 2, 1, 1]


def test_this_machine_is_looked_at_without_initialising_cuda():
    found = this_machine()
    assert found.gpus == torch.cuda.device_count()
    assert found.cores >= 1
    assert found.memory_bytes > 1 << 28
    assert not torch.cuda.is_initialized()
