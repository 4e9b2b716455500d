"""The ledger of one device: every block of memory, what it holds, and when it came and went."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from course.virtual import sizes

if TYPE_CHECKING:
    from course.virtual.machine import Machine

PARAMETERS = "parameters"
GRADIENTS = "gradients"
OPTIMIZER_STATE = "optimizer state"
ACTIVATIONS = "activations"
OUTPUTS = "outputs"
OTHERS = "others"
KINDS = (PARAMETERS, GRADIENTS, OPTIMIZER_STATE, ACTIVATIONS, OUTPUTS, OTHERS)

MOST_EVENTS = 200_000  # of the timeline; older ones are dropped


class Block:
    """The memory of one storage. All views of it hold the same block; the last one frees it.

    ``storage`` is the address of the storage itself (not of its bytes: accounting has none),
    by which a result is recognised as a view of an argument.
    """

    __slots__ = ("bytes", "kind", "ledger", "storage")

    def __init__(self, ledger: Ledger, size: int, kind: str, storage: int) -> None:
        self.ledger = ledger
        self.bytes = size
        self.kind = kind
        self.storage = storage

    def __del__(self) -> None:
        # May run at any moment in any thread, in the middle of the ledger's own arithmetic
        # too. So it only leaves a note, which the ledger reads before it next counts.
        self.ledger._freed.append((time.perf_counter(), self.bytes, self.kind))


@dataclass(frozen=True)
class Moment:
    """What a device held from ``seconds`` (of time.perf_counter) on, in bytes by kind."""

    seconds: float
    by_kind: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.by_kind.values())


class Ledger:
    """Bytes on one device: ``current``, ``peak``, by kind, and over time."""

    def __init__(
        self, machine: Machine, device: torch.device, capacity: int, rounding: int = 1
    ) -> None:
        self.machine = machine
        self.device = device
        self.capacity = capacity
        self._rounding = rounding
        self._lock = threading.Lock()
        self._freed: deque[tuple[float, int, str]] = deque()
        self._events: deque[tuple[float, int, str]] = deque(maxlen=MOST_EVENTS)
        self._current = 0
        self._by_kind = dict.fromkeys(KINDS, 0)
        self._peak = 0
        self._peak_by_kind = dict(self._by_kind)

    @property
    def current(self) -> int:
        """Bytes held now."""
        with self._lock:
            self._read_notes()
            return self._current

    @property
    def peak(self) -> int:
        """The most bytes held at once since the start or the last ``reset_peak()``."""
        return self._peak

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes held now, by kind; every kind is in it."""
        with self._lock:
            self._read_notes()
            return dict(self._by_kind)

    @property
    def peak_by_kind(self) -> dict[str, int]:
        """What ``peak`` was made of."""
        return dict(self._peak_by_kind)

    def reset_peak(self) -> None:
        """Peak and timeline begin anew, from what is held now."""
        with self._lock:
            self._read_notes()
            self._events.clear()
            self._keep_peak()

    def timeline(self) -> list[Moment]:
        """What was held after each change, oldest first (the last 200,000 changes)."""
        with self._lock:
            self._read_notes()
            held, events = dict(self._by_kind), list(self._events)
        return list(_backwards(held, events))[::-1]

    def allocate(self, size: int, kind: str, storage: int) -> Block:
        """Count a new block.

        Raises:
            torch.OutOfMemoryError: there is no room; in torch's words, and nothing is counted.
        """
        size = self._rounded(size)
        with self._lock:
            self._take(size, kind)
        return Block(self, size, kind, storage)

    def resize(self, block: Block, size: int) -> None:
        """The block grows or shrinks where it is.

        Raises:
            torch.OutOfMemoryError: there is no room; the block is as it was.
        """
        size = self._rounded(size)
        with self._lock:
            self._take(size - block.bytes, block.kind)
            block.bytes = size

    def relabel(self, block: Block, kind: str) -> None:
        """The block now holds something else: an activation that became an output, say."""
        if block.kind == kind:
            return
        with self._lock:
            self._read_notes()
            now = time.perf_counter()
            self._count(now, -block.bytes, block.kind)
            self._count(now, block.bytes, kind)
            block.kind = kind

    def _rounded(self, size: int) -> int:
        return -(-size // self._rounding) * self._rounding

    def _take(self, size: int, kind: str) -> None:
        self._read_notes()
        if self._current + size > self.capacity:
            raise self._out_of_memory(size)
        self._count(time.perf_counter(), size, kind)
        if self._current > self._peak:
            self._keep_peak()

    def _read_notes(self) -> None:
        while self._freed:
            seconds, size, kind = self._freed.popleft()
            self._count(seconds, -size, kind)

    def _count(self, seconds: float, size: int, kind: str) -> None:
        self._current += size
        self._by_kind[kind] += size
        self._events.append((seconds, size, kind))

    def _keep_peak(self) -> None:
        self._peak = self._current
        self._peak_by_kind = self._by_kind.copy()

    def _out_of_memory(self, size: int) -> torch.OutOfMemoryError:
        used = sizes.text(self._current)
        return torch.OutOfMemoryError(
            f"{self.device.type} out of memory. Tried to allocate {sizes.text(size)}. "
            f"GPU {self.device.index} has a total capacity of {sizes.text(self.capacity)} "
            f"of which {sizes.text(self.capacity - self._current)} is free. Including "
            f"non-PyTorch memory, this process has {used} memory in use. Of the allocated "
            f"memory {used} is allocated by PyTorch, and 0 bytes is reserved by PyTorch "
            "but unallocated."
        )


def _backwards(held: dict[str, int], events: list[tuple[float, int, str]]) -> Iterator[Moment]:
    """From what is held now and the changes that led to it, what was held after each."""
    for seconds, size, kind in reversed(events):
        yield Moment(seconds, dict(held))
        held[kind] -= size
