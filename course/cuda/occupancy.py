"""How many blocks of a kernel an SM holds at once, by the rules that NVIDIA publishes.

Limits are from the table of technical specifications by compute capability in the CUDA C++
Programming Guide; how registers and shared memory are given out, from the occupancy calculator's
header, ``cuda_occupancy.h``, of the CUDA toolkit. The tests compare this with that header.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
MAX_BLOCK_THREADS = 1024
MAX_THREAD_REGISTERS = 255
REGISTER_UNIT = 256  # registers are given to a warp in units of this many
SHARED_UNIT = 128  # bytes
SHARED_RESERVED = 1024  # bytes of each block that the system keeps
PARTS = 4  # an SM's schedulers, each with a quarter of the registers
KIB = 1024


@dataclass(frozen=True)
class Limits:
    """What one SM has. ``shared_block`` is the most one block can ask for; sizes are bytes."""

    name: str
    threads: int
    blocks: int
    shared: int
    shared_block: int
    registers: int = 65536

    @property
    def warps(self) -> int:
        return self.threads // WARP


A100 = Limits("A100 (8.0)", 2048, 32, 164 * KIB, 163 * KIB)
RTX_3090 = Limits("RTX 3090 (8.6)", 1536, 16, 100 * KIB, 99 * KIB)
ADA = Limits("RTX 4090, L4 (8.9)", 1536, 24, 100 * KIB, 99 * KIB)
H100 = Limits("H100 (9.0)", 2048, 32, 228 * KIB, 227 * KIB)
CARDS = {"sm_80": A100, "sm_86": RTX_3090, "sm_89": ADA, "sm_90": H100}


@dataclass(frozen=True)
class Occupancy:
    """``by`` says how many blocks each resource alone would allow; the smallest decides."""

    blocks: int
    warps: int
    by: dict[str, int]
    limits: Limits

    @property
    def share(self) -> float:
        return self.warps / self.limits.warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        return tuple(name for name, blocks in self.by.items() if blocks == self.blocks)


def occupancy(registers: int, shared: int, block: int, limits: Limits) -> Occupancy:
    """The blocks and warps of one kernel that an SM holds at once; 0 where it cannot be launched.

    Args:
        registers: of each thread.
        shared: bytes of each block, static and dynamic together.
        block: threads, at least 1.
    """
    warps = up(block, WARP) // WARP
    by = {
        "threads": limits.warps // warps if block <= MAX_BLOCK_THREADS else 0,
        "blocks": limits.blocks,
        "registers": _by_registers(registers, warps, limits),
        "shared memory": _by_shared(shared, limits),
    }
    blocks = min(by.values())
    return Occupancy(blocks, blocks * warps, by, limits)


def _by_registers(registers: int, warps: int, limits: Limits) -> int:
    if registers <= 0:
        return limits.blocks
    if registers > MAX_THREAD_REGISTERS:
        return 0
    return limits.registers // PARTS // up(registers * WARP, REGISTER_UNIT) * PARTS // warps


def registers_of_block(registers: int, block: int) -> int:
    """How many a block takes, with ``registers`` for each of its threads: warps as a whole."""
    warps = up(up(block, WARP) // WARP, PARTS)
    return up(registers * WARP, REGISTER_UNIT) * warps


def _by_shared(shared: int, limits: Limits) -> int:
    if shared > limits.shared_block:
        return 0
    return limits.shared // (up(shared, SHARED_UNIT) + SHARED_RESERVED)


def up(number: int, unit: int) -> int:
    """The next multiple of the unit."""
    return -(-number // unit) * unit


def best_block(registers: int, shared_per_thread: int, limits: Limits) -> int:
    """The block, a multiple of 32, with the most resident warps; of several the smallest.

    0 where no block can be launched.
    """
    sizes = range(WARP, MAX_BLOCK_THREADS + 1, WARP)
    warps = {b: occupancy(registers, b * shared_per_thread, b, limits).warps for b in sizes}
    most = max(warps.values())
    return min(b for b in sizes if warps[b] == most) if most else 0


def local_memory(stack: int, limits: Limits, sms: int) -> int:
    """Bytes that the card keeps for ``stack`` bytes of each thread's local memory.

    They are kept for every thread that could be resident, whether it is there or not.
    """
    return stack * limits.threads * sms
