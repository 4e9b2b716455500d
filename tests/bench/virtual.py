"""What a virtual GPU costs: a training step of a small transformer on one, and on the plain CPU.

``python -m tests.bench.virtual`` prints it by itself.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import course.virtual
from course.virtual import gpus

WIDTH, LAYERS, HEADS, BATCH, LENGTH = 64, 2, 4, 8, 32
REPEATS = 60
MOST_RATIO = 3.0  # what is promised

# Where a step's time goes besides the arithmetic, by function of course/virtual.
PARTS = {
    "a Python object for each result": (
        "wrap",
        "<built-in method _make_wrapper_subclass>",
        "<built-in method torch._C._make_wrapper_subclass>",
    ),
    "arguments and results, unwrapped and wrapped": ("run", "_inner", "_outer", "check_devices"),
    "the ledger: bytes, peak, timeline": (
        "on_device",
        "allocate",
        "__init__",
        "__del__",
        "_count",
        "_read_notes",
        "_keep_peak",
    ),
    "the kind of each block": ("of_result", "of_copy", "enter", "leave"),
}
PART = {function: part for part, functions in PARTS.items() for function in functions}
REST = "the rest of course/virtual"
HERE = str(Path(course.virtual.__file__).parent)
PROFILED = 10


@dataclass(frozen=True)
class Figures:
    """Seconds of a step, the least of many; operations of a step that reached a virtual GPU."""

    plain: float
    virtual: float
    operations: int
    parts: dict[str, float]  # share of the time that course/virtual adds, 0 to 1

    @property
    def ratio(self) -> float:
        return self.virtual / self.plain


def step_on(device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(BATCH, LENGTH, WIDTH).to(device)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return step


def measure() -> Figures:
    with gpus(1):
        plain, virtual = step_on("cpu"), step_on("vgpu:0")
        seconds: dict[Callable[[], None], float] = {}
        for turn in range(REPEATS):  # in turns, so that a busy machine is busy for both
            for step in (plain, virtual):
                began = time.perf_counter()
                step()
                took = time.perf_counter() - began
                if turn >= 2:
                    seconds[step] = min(seconds.get(step, took), took)
        return Figures(seconds[plain], seconds[virtual], *_taken_apart(virtual))


def _taken_apart(step: Callable[[], None]) -> tuple[int, dict[str, float]]:
    """Operations a step, and the share of each part in what is added, by a profiler."""
    rounds = [_profile(step) for _ in range(PROFILED)]
    least = {part: min(seconds[part] for _, seconds in rounds) for part in (*PARTS, REST)}
    whole = sum(least.values())
    return rounds[0][0], {part: seconds / whole for part, seconds in least.items()}


def _profile(step: Callable[[], None]) -> tuple[int, Counter[str]]:
    """Operations of one step, and seconds in each part's own functions."""
    profile = cProfile.Profile()
    profile.runcall(step)
    own: Counter[str] = Counter()
    operations = 0
    for (file, _, name), (calls, _, seconds, *_) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if file.startswith(HERE) or "_make_wrapper_subclass" in name:
            own[PART.get(name, REST)] += seconds
        if file.startswith(HERE) and name == "__torch_dispatch__":
            operations = calls
    return operations, own


def show(console: Console, figures: Figures) -> None:
    added = figures.virtual - figures.plain
    console.print(
        f"step of a transformer ({LAYERS} layers of {WIDTH}, batch {BATCH} × {LENGTH}, Adam): "
        f"{figures.plain * 1e3:.1f} ms on the CPU, {figures.virtual * 1e3:.1f} ms on a virtual "
        f"GPU; {figures.operations} operations, {added / figures.operations * 1e6:.0f} µs more each"
    )
    table = Table("share", "of the Python that course/virtual adds (by a profiler)")
    for part, share in sorted(figures.parts.items(), key=lambda item: -item[1]):
        table.add_row(f"{share:.0%}", part)
    console.print(table)
    console.print("The rest of what is added is torch's way from C++ into Python and back.")
    kept = figures.ratio <= MOST_RATIO
    console.print(
        f"{'✔' if kept else '✘'} {figures.ratio:.1f} times the CPU (promised {MOST_RATIO:.0f})",
        style="green" if kept else "red",
    )


if __name__ == "__main__":
    show(Console(), measure())
