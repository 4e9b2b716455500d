"""A kernel that is right under any launch: each thread goes on in steps of the whole grid."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.cuda_answer import Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    SENTINEL,
    added_to_old,
    comparison,
    elements_text,
    is_close,
    missing_result,
    not_written,
    quarters,
    touched,
    trouble,
    whole_numbers,
)
from autograder.verdict import Finding, Table

_ALL = "any grid covers any n"
_ONCE = "each element is computed once"
_NEIGHBOURS = "neighbouring threads work on neighbouring elements"

# (elements, blocks, threads a block)
_LAUNCHES = ((1000, 2, 64), (1000, 1, 1), (100, 8, 32), (1, 1, 32), (4099, 3, 96), (128, 2, 64))

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> x = check::input<float>(argv[1]), y = check::input<float>(argv[2]);
    int n = (int)x.size(), grid = atoi(argv[3]), block = atoi(argv[4]);
    float *d_x, *d_y, *d_out;
    std::vector<float> out(n, SENTINEL);
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc(&d_y, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_out, out.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    grid_stride<<<grid, block>>>(2.0f, d_x, d_y, d_out, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    check::result(out.data(), n);
    cudaFree(d_x);
    cudaFree(d_y);
    cudaFree(d_out);
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    out: np.ndarray
    grid: int
    block: int


def cases(generator: random.Random) -> list[Case]:
    found = []
    for n, grid, block in _LAUNCHES:
        x, y = quarters(generator, n), quarters(generator, n)
        label = f"{elements_text(n)}, grid {grid}, block {block}"
        expected = _Expected(2 * x + y, grid, block)
        found.append(Case(((x, y, grid, block),), expected, label, {"touches": True}))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    found = list(trouble(ran, _ALL))
    got = ran.array(0)
    if found or got is None:
        yield from found or [missing_result(_ALL)]
        return
    yield from _wrong(got, expected) or _order(ran, expected)


def _wrong(got: np.ndarray, expected: _Expected) -> list[Finding]:
    n, threads = len(got), expected.grid * expected.block
    written = np.flatnonzero(got != SENTINEL)
    if 0 < len(written) == threads < n and written[-1] == threads - 1:
        return [
            Finding(
                "one_step_only",
                f"The grid has {threads:,} threads, and only the first {threads:,} of {n:,} "
                "elements were computed: one for each thread.",
                property=_ALL,
                advice="A loop: from the thread's own number, in steps of gridDim.x * blockDim.x "
                f"(here {threads:,}), while i < n. A larger step leaves elements out.",
            )
        ]
    holes = list(not_written(got, _ALL, block=expected.block))
    if holes or is_close(got, expected.out):
        return holes
    known = added_to_old(got, expected.out, "out", _ALL) or whole_numbers(got, _ALL)
    if known:
        return known
    table = comparison(got, expected.out)
    return [Finding("wrong_values", "out[i] is not a * x[i] + y[i].", property=_ALL, table=table)]


def _sectors(elements: np.ndarray, threads: np.ndarray) -> int:
    """How many pieces of 32 bytes the first warp's first writes fall into."""
    firsts = [elements[threads == t][:1] for t in range(32)]
    return len(np.unique(np.concatenate(firsts) // 8))


def _order(ran: Ran, expected: _Expected) -> list[Finding]:
    if ran.run.touches is None or not len(ran.run.touches):
        return []
    writes = touched(ran, "d_out")
    writes = writes[writes["write"] > 0]
    elements = writes["offset"] // 4
    threads = writes["block"].astype(np.int64) * expected.block + writes["thread"]
    again = len(elements) - len(np.unique(elements))
    if again:
        return [
            Finding(
                "computed_again",
                f"{len(elements):,} elements were written where there are {len(expected.out):,}: "
                "several threads do the same work.",
                property=_ONCE,
                advice="The step is the number of threads in the whole grid, "
                "gridDim.x * blockDim.x; a smaller one makes the threads' ways overlap.",
            )
        ]
    total = expected.grid * expected.block
    if (elements % total == threads).all():
        return []
    pieces = _sectors(elements, threads)
    of_first = [int(e) for e, t in zip(elements, threads) if t == 0][:5]
    of_second = [int(e) for e, t in zip(elements, threads) if t == 1][:5]
    rows = (("0", " ".join(map(str, of_first))), ("1", " ".join(map(str, of_second))))
    return [
        Finding(
            "far_apart",
            f"Neighbouring threads do not work on neighbouring elements: in their first step the "
            f"32 threads of a warp write to {pieces} pieces of memory of 32 bytes each, where 4 "
            "would do. The table has each thread's elements.",
            property=_NEIGHBOURS,
            table=Table(("thread", "its elements"), rows),
            advice="Let thread 0 begin at 0 and thread 1 at 1, and all of them go on in steps of "
            "gridDim.x * blockDim.x.",
        )
    ]


GRID_STRIDE = Exercise(
    name="grid_stride",
    title="Any grid, any size",
    properties=(Property(_ALL, 2), Property(_ONCE, 1), Property(_NEIGHBOURS, 1)),
    cases=cases,
    examine=examine,
    hint="Begin as in `vec_add`, but write `for` where the `if` stood: `i` starts at the thread's "
    "number and grows by `gridDim.x * blockDim.x`, which is how many threads there are.",
    difficulty=2,
    minutes=8,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS.replace("SENTINEL", f"{SENTINEL:.1f}f"),
)
