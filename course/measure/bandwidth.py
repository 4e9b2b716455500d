"""Bandwidth against size: how fast memory is depends on how much of it is used at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

KIB, MIB = 1 << 10, 1 << 20
SIZES = tuple(16 * KIB << k for k in range(14))  # 16 KiB to 128 MiB
_CALL_BYTES = 4 * MIB  # what one call reads at least
_LEAST_SECONDS = 0.004  # a measurement is repeated until it has taken this long


@dataclass(frozen=True)
class Point:
    """A tensor of ``bytes`` was read from end to end at ``bytes_per_second``."""

    bytes: int
    bytes_per_second: float


def measure(sizes: Sequence[int] = SIZES, device: str | None = None) -> list[Point]:
    """Read tensors of these sizes over and over, on the GPU if there is one, else on one core.

    The fastest of five measurements counts: what else the machine does can only slow it down.
    """
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of a CPU, one core and its caches
    try:
        return [Point(size, _rate(size, where)) for size in sizes]
    finally:
        torch.set_num_threads(threads)


def _rate(size: int, device: torch.device) -> float:
    # One call reads small tensors many times, as rows that are all the same memory: starting a
    # call takes microseconds, in which a core reads 100 KiB.
    times = max(1, _CALL_BYTES // size)
    numbers = torch.ones(size // 4, device=device).expand(times, -1)
    calls, best = 1, 0.0
    _seconds(numbers, 2)  # warm up
    while (seconds := _seconds(numbers, calls)) < _LEAST_SECONDS:
        calls *= 2
    for _ in range(5):
        best = max(best, calls * times * size / seconds)
        seconds = _seconds(numbers, calls)
    return best


def _seconds(numbers: torch.Tensor, calls: int) -> float:
    _wait(numbers.device)
    begin = time.perf_counter()
    for _ in range(calls):
        numbers.sum(dim=1)
    _wait(numbers.device)
    return time.perf_counter() - begin


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@cache
def caches() -> dict[str, int]:
    """The caches of this machine: of the GPU its L2, of a Linux CPU L1 to L3; bytes by name."""
    if torch.cuda.is_available():
        return {"L2": int(torch.cuda.get_device_properties(0).L2_cache_size)}
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind = (folder / "type").read_text().strip()
            level = (folder / "level").read_text().strip()
            size = (folder / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and size.endswith(("K", "M")):
            found[f"L{level}"] = int(size[:-1]) * (KIB if size.endswith("K") else MIB)
    return found
