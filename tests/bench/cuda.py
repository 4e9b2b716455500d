"""What CUDA on the CPU costs: a million-thread vec_add against a plain loop, and the builds.

``python -m tests.bench.cuda`` prints it by itself.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from course import cuda
from course.cuda import builder

REPEATS = 5
MOST_SECONDS = 1.0
PROGRAM = (Path(__file__).parents[1] / "cuda" / "programs" / "vec_add.cu").read_text()
N = 1_000_000

# The same sums in the host code of the same kind of program: checked like a kernel is.
LOOP = """
#include <chrono>
#include <cstdio>
#include <vector>
__attribute__((noinline, no_sanitize("thread")))
void add(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
int main() {
    const int n = 1000000;
    std::vector<float> a(n, 1.0f), b(n, 2.0f), c(n);
    auto begin = std::chrono::steady_clock::now();
    add(a.data(), b.data(), c.data(), n);
    auto end = std::chrono::steady_clock::now();
    printf("%.9f", c[n / 2] == 3.0f ? std::chrono::duration<double>(end - begin).count() : 0.0);
}
"""


@dataclass(frozen=True)
class Figures:
    """Seconds."""

    runtime: float  # compiling what all programs share, once a machine
    cold: float  # compiling a program
    warm: float  # finding it compiled
    process: float  # the whole run of vec_add, with its copies and checks
    kernel: float
    loop: float


def measure() -> Figures:
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CACHE_HOME"] = empty
        try:
            return _measure()
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def _measure() -> Figures:
    began = time.perf_counter()
    builder.warm_up()
    runtime = time.perf_counter() - began
    cold = [_build(f"{PROGRAM}// {turn}\n") for turn in range(3)]
    warm = [_build(f"{PROGRAM}// 0\n") for _ in range(REPEATS)]
    program = cuda.build(f"{PROGRAM}// 0\n", backend="cpu")
    runs = [cuda.run(program, args=[str(N)]) for _ in range(REPEATS)]
    assert all(run.ok for run in runs), runs[0]
    loop = cuda.build(LOOP, backend="cpu")
    loops = [float(cuda.run(loop).stdout) for _ in range(REPEATS)]
    return Figures(
        runtime=runtime,
        cold=min(cold),
        warm=min(warm),
        process=min(run.seconds for run in runs),
        kernel=min(run.launches[0].seconds for run in runs),
        loop=min(loops),
    )


def _build(text: str) -> float:
    began = time.perf_counter()
    cuda.build(text, backend="cpu")
    return time.perf_counter() - began


def show(console: Console, figures: Figures) -> None:
    console.print(
        f"CUDA on the CPU: vec_add of a million threads {figures.kernel:.3f} s, each access "
        f"checked; a plain loop {figures.loop * 1e3:.2f} ms, {figures.kernel / figures.loop:.0f} "
        f"times less; its whole program {figures.process:.2f} s"
    )
    console.print(
        f"compiling it {figures.cold:.2f} s, found compiled {figures.warm * 1e3:.0f} ms; the "
        f"runtime, once a machine, {figures.runtime:.1f} s"
    )
    kept = figures.process <= MOST_SECONDS
    console.print(
        f"{'✔' if kept else '✘'} a million-thread vec_add in {figures.process:.2f} s "
        f"(promised {MOST_SECONDS:.0f} s)",
        style="green" if kept else "red",
    )


if __name__ == "__main__":
    show(Console(), measure())
