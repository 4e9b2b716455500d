"""``make bench``: what a check costs, against the two usual ways of running the same test.

All figures are of this machine and this minute; the ratios are what to compare.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from autograder import notebooks
from autograder.exercise import Exercise
from autograder.exercises import find
from autograder.judge import judge, judge_as
from course.machine import this_machine
from course.ranks import launch
from tests.bench import cuda, rivals, virtual

REPEATS = 9
RIVAL_REPEATS = 3
GROWTH = (1, 2, 4, 8, 16)
MOST_SECONDS, LEAST_RATIO = 0.3, 25.0  # what a check at 4 ranks promises


def seconds_of(work: Callable[[], object], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return times


def at(exercise: Exercise, ranks: int) -> Exercise:
    """The exercise with only those of its cases that have so many ranks, and only the first."""

    def cases(generator):  # type: ignore[no-untyped-def]
        return [next(c for c in exercise.cases(generator) if c.world_size == ranks)]

    return dataclasses.replace(exercise, cases=cases)


def compare(progress: Progress, ranks: int) -> dict[str, float]:
    """Median seconds of the check and of its rivals, on the same answer and the same inputs."""
    lesson, exercise = find("ring_all_reduce")
    text = notebooks.reference("ring_all_reduce")
    one = at(exercise, ranks)
    test = rivals.the_test(lesson, one, text)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "check": (lambda: passed(judge_as(lesson, one, text, seed=1)), REPEATS),
        "mp.spawn": (lambda: rivals.spawn(test), RIVAL_REPEATS),
        "torchrun": (lambda: rivals.torchrun(test), RIVAL_REPEATS),
    }
    task = progress.add_task(f"ring_all_reduce, {ranks} ranks", total=len(ways))
    medians = {}
    for name, (work, repeats) in ways.items():
        work()  # warm: files in the cache, the server running
        medians[name] = statistics.median(seconds_of(work, repeats))
        progress.advance(task)
    return medians


def passed(verdict) -> None:  # type: ignore[no-untyped-def]
    assert verdict.passed, verdict


def main() -> None:
    console = Console()
    machine = this_machine()
    console.print(f"{machine.cores} cores, {machine.gpus} GPUs")
    with Progress(console=console, transient=True) as progress:
        figures = {ranks: compare(progress, ranks) for ranks in (2, 4)}
        task = progress.add_task("growth and memory", total=len(GROWTH) + 3)
        growth = {}
        for ranks in GROWTH:
            growth[ranks] = statistics.median(seconds_of(lambda n=ranks: reduce_once(n), 7))
            progress.advance(task)
        whole = statistics.median(seconds_of(check_whole, REPEATS))
        progress.advance(task)
        memory = {"warm": warm_memory(4)}
        progress.advance(task)
        memory["mp.spawn"] = rivals.spawn_memory(4)
        progress.advance(task)
    show(console, figures, growth, whole, memory)
    virtual.show(console, virtual.measure())
    cuda.show(console, cuda.measure())


def check_whole() -> None:
    passed(judge("ring_all_reduce", notebooks.reference("ring_all_reduce")))


def reduce_once(ranks: int) -> None:
    assert launch(rivals.reduce_ones, ranks).ok


def warm_memory(ranks: int) -> float:
    return statistics.mean(launch(rivals.memory_mib, ranks).values)


def show(console, figures, growth, whole, memory) -> None:  # type: ignore[no-untyped-def]
    table = Table("ranks", "check", "mp.spawn", "torchrun", title="one test of ring_all_reduce")
    for ranks, f in figures.items():
        rival = [f"{f[k]:.2f} s = {f[k] / f['check']:.0f} ×" for k in ("mp.spawn", "torchrun")]
        table.add_row(str(ranks), f"{f['check']:.3f} s", *rival)
    console.print(table)
    console.print(f"whole check of ring_all_reduce, all its cases: {whole:.3f} s")
    table = Table(*(str(n) for n in growth), title="launch with one all_reduce, by ranks")
    table.add_row(*(f"{seconds:.3f} s" for seconds in growth.values()))
    console.print(table)
    console.print(
        f"memory of a rank, shared pages divided (PSS): {memory['warm']:.0f} MiB warm, "
        f"{memory['mp.spawn']:.0f} MiB under mp.spawn"
    )
    four = figures[4]
    ratio = min(four["mp.spawn"], four["torchrun"]) / four["check"]
    kept = four["check"] <= MOST_SECONDS and ratio >= LEAST_RATIO
    console.print(
        f"{'✔' if kept else '✘'} at 4 ranks: {four['check']:.3f} s (promised {MOST_SECONDS} s), "
        f"{ratio:.0f} times faster (promised {LEAST_RATIO:.0f})",
        style="green" if kept else "red",
    )


if __name__ == "__main__":
    main()
