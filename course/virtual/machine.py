"""The virtual GPUs that are switched on: their ledgers, and what moved between them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch

from course.virtual import kinds, sizes
from course.virtual.memory import Ledger

CPU = torch.device("cpu")
MOST_TRANSFERS = 100_000  # kept; older ones are dropped


@dataclass(frozen=True)
class Transfer:
    """One copy from a device to another; ``kind`` is what the copied tensor was to its device.

    A tensor on the CPU has no ledger: what comes from there is ``"others"``. ``seconds`` is
    of time.perf_counter, taken when the copy was done.
    """

    source: torch.device
    target: torch.device
    bytes: int
    seconds: float
    kind: str


class Machine(Sequence[torch.device]):
    """A sequence of devices, ``vgpu:0`` first. In a process one machine at a time is on.

    As a context manager it is switched off at the end, and the machine around it is on again.
    ``computes`` is False where tensors have no numbers, only sizes.
    """

    def __init__(self, count: int, memory: int, rounding: int, computes: bool) -> None:
        if count < 1:
            raise ValueError(f"A machine has at least one GPU, not {count}.")
        self.devices = tuple(torch.device("vgpu", i) for i in range(count))
        self.ledgers = tuple(Ledger(self, device, memory, rounding) for device in self.devices)
        self.computes = computes
        self.transfers: deque[Transfer] = deque(maxlen=MOST_TRANSFERS)

        self._around: Machine | None = None  # what is on again after the ``with`` block
        self._entered = False

    def switch_on(self) -> Machine:
        """Until the end of the ``with`` block, or, without one, until another is switched on."""
        global _on
        if _on is not None:
            self._around = _on if _on._entered else _on._around
        _on = self
        return self

    @overload
    def __getitem__(self, index: int) -> torch.device: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[torch.device, ...]: ...
    def __getitem__(self, index: int | slice) -> torch.device | tuple[torch.device, ...]:
        return self.devices[index]

    def __len__(self) -> int:
        return len(self.devices)

    def __iter__(self) -> Iterator[torch.device]:
        return iter(self.devices)

    def __enter__(self) -> Machine:
        self._entered = True
        return self

    def __exit__(self, *error: Any) -> None:
        global _on
        _on = self._around
        if _on is None:
            kinds.stop_watching()

    def __repr__(self) -> str:
        memory = sizes.text(self.ledgers[0].capacity)
        return f"{len(self)} × vgpu with {memory}" + ("" if self.computes else ", accounting only")

    def ledger(self, device: torch.device | str | int) -> Ledger:
        """Raises RuntimeError, in CUDA's words, when there is no such device."""
        index = device if isinstance(device, int) else torch.device(device).index or 0
        if not 0 <= index < len(self):
            raise RuntimeError(
                f"vgpu error: invalid device ordinal: there is no vgpu:{index}, "
                f"only {', '.join(map(str, self))}"
            )
        return self.ledgers[index]

    def moved(self, source: torch.device, target: torch.device, size: int, kind: str) -> None:
        """Note a transfer that is done."""
        self.transfers.append(Transfer(source, target, size, time.perf_counter(), kind))


_on: Machine | None = None


def switched_on() -> Machine:
    """The machine that is on.

    Raises:
        RuntimeError: none is.
    """
    if _on is None:
        raise RuntimeError("There are no virtual GPUs: call course.virtual.gpus(...) first.")
    return _on
