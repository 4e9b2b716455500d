"""What torch's own nn.DataParallel needs to run on virtual GPUs: its communication.

DataParallel is Python (torch/nn/parallel) except for the copies between devices, three C++
functions that torch has only where it was built with CUDA. Here they are in terms of ``.to``
and ``cat``, with the order and the buffers of the originals (torch/csrc/cuda/comm.cpp), so
that bytes and peaks are the same too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.cuda.nccl
from torch._utils import (
    _flatten_dense_tensors,
    _take_tensors,
    _unflatten_dense_tensors,
)
from torch.nn.parallel import _functions

from course.virtual import machine
from course.virtual.kinds import holding
from course.virtual.tensor import VirtualTensor


def install() -> None:
    """Give torch these for virtual GPUs; where it has its own, they serve the real ones.

    While virtual GPUs are on, they are what nn.DataParallel takes when it looks for devices; it
    would prefer CUDA's, and with a Mac's GPU it would do nothing at all.
    """
    for ours in (broadcast, broadcast_coalesced, scatter, gather):
        _give(torch._C, f"_{ours.__name__}", ours)
    _give(torch.cuda.nccl, "is_available", lambda tensors: False)
    for owner in (torch._utils, sys.modules["torch.nn.parallel.data_parallel"]):
        _give(owner, "_get_available_device_type", lambda: "vgpu")


def room_for(count: int) -> None:
    """torch keeps a list of streams, one a device, as long as there were devices at first."""
    kept = _functions._streams or []
    wanted = max(count, torch.cuda.device_count())
    _functions._streams = kept + [None] * (wanted - len(kept))


def _give(owner: Any, name: str, ours: Callable[..., Any]) -> None:
    theirs = getattr(owner, name, None)

    @functools.wraps(theirs or ours)
    def function(*args: Any, **kwargs: Any) -> Any:
        if theirs is None or machine._on is not None:
            return ours(*args, **kwargs)
        return theirs(*args, **kwargs)

    setattr(owner, name, function)


def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """The tensor itself for its own device, and a copy for each other one."""
    return [tensor if tensor.get_device() == d else tensor.to(_device(d)) for d in devices]


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[torch.Tensor]]:
    """Many small tensors travel as one flat one: copies are views of buffers up to that size."""
    copies: dict[int, list[torch.Tensor]] = {d: [] for d in devices}
    order: list[torch.Tensor] = []
    with _as(tensors[0]):
        for some in _take_tensors(tensors, buffer_size):
            order += some
            flat = _flatten_dense_tensors(some)
            for device in devices[1:]:
                arrived = flat.to(_device(device))
                # Each a tensor in its own right, with no version counter shared between them.
                copies[device] += [t.data for t in _unflatten_dense_tensors(arrived, some)]
    place = {id(tensor): i for i, tensor in enumerate(order)}
    others = [[copies[d][place[id(t)]] for t in tensors] for d in devices[1:]]
    return [list(tensors), *others]


def scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None,
    dim: int,
    streams: Any = None,
) -> list[torch.Tensor]:
    """Chunks of torch.chunk's sizes; fewer for a tiny batch."""
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        chunks = tensor.split(list(chunk_sizes), dim)
    return [chunk.to(_device(device)) for chunk, device in zip(chunks, devices)]


def gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None) -> torch.Tensor:
    """One tensor on the destination (-1: the CPU), into which each part is copied."""
    size = list(tensors[0].size())
    size[dim] = sum(tensor.size(dim) for tensor in tensors)
    device = torch.device("cpu") if destination == -1 else _device(destination or 0)
    with _as(tensors[0]):
        whole = torch.empty(size, dtype=tensors[0].dtype, device=device)
    sizes = [tensor.size(dim) for tensor in tensors]
    for part, tensor in zip(whole.split(sizes, dim), tensors):
        part.copy_(tensor)
    return whole


def _device(index: int) -> torch.device:
    return torch.device("vgpu", index)


def _as(tensor: torch.Tensor) -> Any:
    """Copies hold what the original holds."""
    assert isinstance(tensor, VirtualTensor)
    return holding(tensor.block.kind)
