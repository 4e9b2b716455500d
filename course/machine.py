"""What this machine has, and where each of N ranks goes on it."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist

# Asks the driver's management library instead of CUDA itself, so that looking for GPUs does
# not initialise CUDA: a process that did so can never be forked into a working rank.
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")

LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


@dataclass(frozen=True)
class Machine:
    """``gpus`` counts those that are visible (CUDA_VISIBLE_DEVICES); memory is the host's."""

    gpus: int
    nccl: bool
    nvcc: str | None
    cores: int
    memory_bytes: int


@dataclass(frozen=True)
class Placement:
    """Where one rank computes (``device``) and what it talks through (``backend``)."""

    rank: int
    device: str
    backend: str


def this_machine() -> Machine:
    """Looks without initialising CUDA."""
    return Machine(
        gpus=torch.cuda.device_count(),
        nccl=dist.is_nccl_available(),
        nvcc=shutil.which("nvcc"),
        cores=_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    )


class CannotPlace(ValueError):
    """The ranks cannot be put on this machine as asked; the message says why."""


def place(nprocs: int, machine: Machine, backend: str | None = None) -> tuple[Placement, ...]:
    """One placement per rank.

    A GPU each and NCCL when there are enough. NCCL refuses two ranks on one GPU, so with
    fewer GPUs than ranks they are shared through gloo; without any, gloo on the CPU.
    ``backend="gloo"`` asks for gloo on the CPU, ``"nccl"`` for a GPU each.

    Raises:
        CannotPlace: NCCL was asked for and there are not enough GPUs, or the backend is unknown.
    """
    if backend not in (None, "gloo", "nccl"):
        raise CannotPlace(f"backend is {backend!r}; it is 'gloo', 'nccl', or None to choose.")
    enough = machine.nccl and machine.gpus >= nprocs
    if backend == "nccl" and not enough:
        has = f"{machine.gpus} GPU{'s' * (machine.gpus != 1)}"
        raise CannotPlace(f"NCCL needs a GPU for each of {nprocs} ranks; this machine has {has}.")
    if enough and backend != "gloo":
        return tuple(Placement(r, f"cuda:{r}", "nccl") for r in range(nprocs))
    if machine.gpus and backend is None:
        return tuple(Placement(r, f"cuda:{r % machine.gpus}", "gloo") for r in range(nprocs))
    return tuple(Placement(r, "cpu", "gloo") for r in range(nprocs))


def threads_per_rank(nprocs: int, machine: Machine) -> int:
    """Cores divided among the ranks: more threads than that only wait for each other."""
    return max(1, machine.cores // nprocs)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # what this process may use, which a container limits
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
