"""The small models that this lesson's exercises copy to several devices.

Everything is float64, so that a result is compared to the last digits, and comes from a seed.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch

from autograder.exercises.ddp.models import FEATURES, Parts, data
from autograder.exercises.ddp.models import Net as PlainNet
from autograder.exercises.ddp.models import fill as fill_any

__all__ = ["FEATURES", "PATIENCE", "Net", "Notes", "build", "data"]

PATIENCE = 1.5  # seconds that a replica waits for the others to run beside it


class Notes:
    """What a model noted in its forwards, of itself and of all its replicas."""

    def __init__(self) -> None:
        self.forwards: list[dict[str, Any]] = []
        self.meeting: threading.Barrier | None = None  # where forwards wait for each other
        self._lock = threading.Lock()

    def note(self, **facts: Any) -> None:
        met = self.meeting is None
        if self.meeting is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                self.meeting.wait(PATIENCE)
                met = True
        with self._lock:
            self.forwards.append({**facts, "met": met})

    def __deepcopy__(self, memo: Any) -> Notes:
        return self  # replicas write into the same book


class Net(PlainNet):
    """Frozen, tied and nested parameters and buffers; each forward leaves a note."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.notes = Notes()

    def forward(self, x: torch.Tensor, branch: str | None = None) -> torch.Tensor:
        self.notes.note(
            device=str(x.device),
            rows=len(x),
            tied=not hasattr(self, "again") or self.again.weight is self.middle.weight,
            thawed=hasattr(self, "frozen") and bool(self.frozen.weight.requires_grad),
            training=self.training and self.middle.training,
        )
        return super().forward(x, branch)


def build(parts: Parts, seed: int) -> Net:
    """The model on the CPU, filled from the seed."""
    with torch.random.fork_rng(devices=[]):
        model = Net(parts)
    fill_any(model, seed)
    return model
