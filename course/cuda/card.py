"""The card that the CPU plays: what cudaGetDeviceProperties tells, and what a launch may ask for.

Figures from NVIDIA's data sheets and from the tables of compute capabilities in the CUDA C++
Programming Guide. Sizes are bytes, clocks kHz, bus widths bits.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    name: str
    cc: int  # compute capability: 80 is 8.0
    memory: int
    sms: int
    shared_optin: int  # most shared memory of a block, with cudaFuncSetAttribute
    shared_sm: int
    threads_sm: int
    blocks_sm: int
    l2: int
    bus_bits: int
    clock_khz: int
    memory_khz: int

    def as_config(self) -> str:
        """For the runtime: ``key=value`` pairs separated by ``;``."""
        values = dataclasses.asdict(self)
        values["card"] = f"CPU in the place of an {values.pop('name')}"
        return ";".join(f"{key}={value}" for key, value in values.items())


_KiB, _MiB, _GiB = 1 << 10, 1 << 20, 1 << 30

A100 = Card(
    name="NVIDIA A100",
    cc=80,
    memory=40 * _GiB,
    sms=108,
    shared_optin=163 * _KiB,
    shared_sm=164 * _KiB,
    threads_sm=2048,
    blocks_sm=32,
    l2=40 * _MiB,
    bus_bits=5120,
    clock_khz=1_410_000,
    memory_khz=1_215_000,
)
L4 = Card(
    name="NVIDIA L4",
    cc=89,
    memory=24 * _GiB,
    sms=58,
    shared_optin=99 * _KiB,
    shared_sm=100 * _KiB,
    threads_sm=1536,
    blocks_sm=24,
    l2=48 * _MiB,
    bus_bits=192,
    clock_khz=2_040_000,
    memory_khz=6_251_000,
)
H100 = Card(
    name="NVIDIA H100",
    cc=90,
    memory=80 * _GiB,
    sms=132,
    shared_optin=227 * _KiB,
    shared_sm=228 * _KiB,
    threads_sm=2048,
    blocks_sm=32,
    l2=50 * _MiB,
    bus_bits=5120,
    clock_khz=1_980_000,
    memory_khz=2_619_000,
)
