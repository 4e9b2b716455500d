"""Threads against processes: what Python's global interpreter lock leaves of several workers.

DataParallel calls its replicas' forward passes in threads of one process, DDP in processes.
Here the same two models' forward passes are repeated by several workers at once, on the CPU:

- ``small``: many small operations, between which Python has the most to do;
- ``large``: two large matrix products, during which torch has let the lock go.

>>> times = measure()
>>> times.speed_up("small", "threads", 2) < times.speed_up("small", "processes", 2)
True
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from course.ranks import launch

WORKS = ("small", "large")
WAYS = ("threads", "processes")


@dataclass(frozen=True)
class Row:
    """How many forward passes ``workers`` did together, and in how many seconds."""

    work: str
    way: str
    workers: int
    passes: int
    seconds: float

    @property
    def rate(self) -> float:
        """Forward passes a second, of all workers together."""
        return self.passes / self.seconds


@dataclass(frozen=True)
class GilTimes:
    """The best of several measurements for each case.

    ``cores`` are those that this process may use: no speed-up can be more, but by chance.
    ``gil`` is False in a Python without the lock.
    """

    rows: tuple[Row, ...]
    cores: int
    gil: bool

    def row(self, work: str, way: str, workers: int) -> Row:
        """One worker is the same in both ways. KeyError if it was not measured."""
        for row in self.rows:
            if (row.work, row.workers) == (work, workers) and (workers == 1 or row.way == way):
                return row
        raise KeyError(f"{work}, {way}, {workers}")

    def speed_up(self, work: str, way: str, workers: int) -> float:
        """Forward passes a second, against one worker alone."""
        return self.row(work, way, workers).rate / self.row(work, way, 1).rate

    @property
    def workers(self) -> tuple[int, ...]:
        """The numbers of workers measured, 1 among them."""
        return tuple(sorted({row.workers for row in self.rows}))

    def sentence(self) -> str:
        """The speed-ups with most workers, and what they could be."""
        most = self.workers[-1]
        said = "; ".join(
            f"of {name} operations, {most} threads do {self.speed_up(work, 'threads', most):.2f} "
            f"times the work of one, {most} processes {self.speed_up(work, 'processes', most):.2f}"
            for work, name in (("small", "many small"), ("large", "few large"))
        )
        bound = min(most, self.cores)
        lock = "" if self.gil else " This Python has no global interpreter lock."
        return (
            f"O{said[1:]}. There {'are' if self.cores > 1 else 'is'} {self.cores} "
            f"core{'s' * (self.cores != 1)}, so {bound} is the most to hope for; other programs "
            f"that run make every figure uncertain.{lock}"
        )


def measure(workers: Sequence[int] = (2,), seconds: float = 0.2, repeats: int = 3) -> GilTimes:
    """Measure all cases, in turn and ``repeats`` times; the best of each is kept.

    Args:
        workers: how many at once, besides 1, which is always measured.
        seconds: that a measurement lasts; all take about
            ``repeats * seconds * 2 * (1 + 2 * len(workers))``.
        repeats: how often each is measured. What else the machine does makes it slower.

    Raises:
        ValueError: nothing to measure.
        RuntimeError: the ranks in which it is measured failed; the message says how.
    """
    counts = sorted({1, *workers})
    if counts[0] < 1 or len(counts) < 2 or seconds <= 0 or repeats < 1:
        raise ValueError(
            "Measure with at least two workers, for more than 0 seconds, once or more: "
            f"not with workers={tuple(workers)}, seconds={seconds}, repeats={repeats}."
        )
    found: list[Row] = []
    for _ in range(repeats):
        for count in counts:
            found += _ranks("threads", 1, count, seconds)
            if count > 1:
                found += _ranks("processes", count, 1, seconds)
    best: dict[tuple[str, str, int], Row] = {}
    for row in found:
        key = (row.work, row.way, row.workers)
        if key not in best or row.rate > best[key].rate:
            best[key] = row
    return GilTimes(tuple(best.values()), _cores(), _has_gil())


def _ranks(way: str, processes: int, threads: int, seconds: float) -> list[Row]:
    run = launch(_in_rank, processes, threads, seconds, timeout=60 + 20 * seconds, backend="gloo")
    if not run.ok:
        raise RuntimeError(f"The measurement failed.\n{run.failure}")
    rows = []
    for place, work in enumerate(WORKS):
        passes = sum(value[place][0] for value in run.values)
        slowest = max(value[place][1] for value in run.values)
        rows.append(Row(work, way, processes * threads, passes, slowest))
    return rows


def _in_rank(threads: int, seconds: float) -> list[tuple[int, float]]:
    """For each of WORKS, forward passes and seconds of this rank's threads."""
    torch.set_num_threads(1)  # of one operation: it is the workers that are counted
    found = []
    for work in WORKS:
        dist.barrier()
        found.append(repeat_forward(work, threads, seconds))
    return found


def repeat_forward(work: str, threads: int, seconds: float) -> tuple[int, float]:
    """Forward passes that so many threads of this process do in about so many seconds.

    Returns:
        Passes, of all threads together, and seconds from the common start to the last end.
    """
    models = [model(work) for _ in range(threads)]
    start = threading.Barrier(threads)
    counts, spans = [0] * threads, [(0.0, 0.0)] * threads

    def repeat(place: int) -> None:
        forward, batch = models[place]
        forward(batch)  # the first one is slower
        start.wait()
        began = now = time.perf_counter()
        while now < began + seconds:
            forward(batch)
            counts[place] += 1
            now = time.perf_counter()
        spans[place] = began, now

    workers = [threading.Thread(target=repeat, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts), max(end for _, end in spans) - min(begin for begin, _ in spans)


def model(work: str) -> tuple[nn.Module, torch.Tensor]:
    """A model and a batch for it: of many small operations, or of two large ones."""
    if work == "small":
        layers = [(nn.Linear(8, 8), nn.ReLU()) for _ in range(100)]
        return nn.Sequential(*itertools.chain(*layers)), torch.randn(4, 8)
    if work == "large":
        return nn.Sequential(nn.Linear(768, 768), nn.Linear(768, 768)), torch.randn(768, 768)
    raise ValueError(f"work is {work!r}; it is 'small' or 'large'.")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _has_gil() -> bool:
    asks = getattr(sys, "_is_gil_enabled", None)
    return True if asks is None else bool(asks())
