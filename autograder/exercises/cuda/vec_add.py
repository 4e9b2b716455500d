"""The first kernel: one thread an element, and a guard for the threads that are too many."""

from __future__ import annotations

import random
from collections.abc import Iterator

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

_SUMS = "c[i] is a[i] + b[i] for every i"
_BOUNDS = "no thread touches anything past the end"
_PARALLEL = "every thread computes one element"

# (elements, threads a block, blocks more than needed)
_LAUNCHES = (
    (500, 96, 3),
    (257, 256, 0),
    (1, 256, 0),
    (255, 256, 0),
    (256, 256, 0),
    (20_011, 33, 1),
)

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> a = check::input<float>(argv[1]), b = check::input<float>(argv[2]);
    int n = (int)a.size(), block = atoi(argv[3]), grid = atoi(argv[4]);
#ifdef __CUDACC__
    const int room = 64;  // a canary; on the CPU the end of c is watched
#else
    const int room = 0;
#endif
    std::vector<float> c(n + room, SENTINEL);
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, n * sizeof(float));
    cudaMalloc(&d_b, n * sizeof(float));
    cudaMalloc(&d_c, c.size() * sizeof(float));
    cudaMemcpy(d_a, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice);
    KERNEL<<<grid, block>>>(d_a, d_b, d_c, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    check::result(c.data(), c.size());
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    return 0;
}
"""


def harness(kernel: str) -> str:
    return HARNESS.replace("KERNEL", kernel).replace("SENTINEL", f"{SENTINEL:.1f}f")


def cases(generator: random.Random) -> list[Case]:
    found = []
    for n, block, spare in _LAUNCHES:
        a, b = quarters(generator, n), quarters(generator, n)
        grid = -(-n // block) + spare
        label = f"{elements_text(n)}, {grid:,} block{'s' * (grid != 1)} of {block} threads"
        options = {"touches": n < 2000}
        found.append(Case(((a, b, block, grid),), (a, b, block), label, options))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    a, b, block = case.expected
    found = list(trouble(ran, _BOUNDS if ran.run.fault("out_of_bounds") else _SUMS))
    got = ran.array(0)
    if found or got is None:
        yield from found or [missing_result(_SUMS)]
        return
    wrong = _wrong(got, a, b, block)
    holes = wrong and wrong[0].code in ("tail_not_written", "holes")
    yield from (_other_element(ran, block) if holes else []) or wrong or _spread(ran, len(a))


def _wrong(got: np.ndarray, a: np.ndarray, b: np.ndarray, block: int) -> list[Finding]:
    n, wanted = len(a), a + b
    if (got[n:] != SENTINEL).any():
        return [
            Finding(
                "out_of_bounds",
                f"An element past the end was written: c has {n:,}.",
                property=_BOUNDS,
                advice="There are more threads than elements: guard the access, if (i < n).",
            )
        ]
    holes = list(not_written(got[:n], _SUMS, block=block))
    if holes or is_close(got[:n], wanted):
        return holes
    known = added_to_old(got[:n], wanted, "c", _SUMS) or whole_numbers(got[:n], _SUMS)
    return known or [
        Finding(
            "wrong_values",
            "The result is not a[i] + b[i].",
            property=_SUMS,
            table=comparison(got[:n], wanted),
            advice="Which elements does thread i read, what does it do with them, and where does "
            "it write?",
        )
    ]


def _other_element(ran: Ran, block: int) -> list[Finding]:
    """Where elements are left out: a thread that works on another one than its own."""
    if ran.run.touches is None or not len(ran.run.touches):
        return []
    writes = touched(ran, "d_c")
    writes = writes[writes["write"] > 0]
    own = writes["block"].astype(np.int64) * block + writes["thread"]
    astray = writes[writes["offset"] // 4 != own]
    if not len(astray):
        return []
    first = astray[0]
    at, its = int(first["offset"]) // 4, int(first["block"]) * block + int(first["thread"])
    return [
        Finding(
            "wrong_index",
            f"Thread {first['thread']} of block {first['block']} writes element {at:,}. Its own "
            f"is element {its:,}: the blocks before it have {block} threads each.",
            property=_SUMS,
            advice="i = blockIdx.x * blockDim.x + threadIdx.x. blockDim is how many threads a "
            "block has, gridDim how many blocks there are.",
        )
    ]


def _spread(ran: Ran, n: int) -> list[Finding]:
    """Who wrote what, where that was recorded (a GPU does not tell)."""
    if ran.run.touches is None or not len(ran.run.touches):
        return []
    writes = touched(ran, "d_c")
    writes = writes[writes["write"] > 0]
    threads, counts = np.unique(writes[["block", "thread"]], return_counts=True)
    if counts.max(initial=0) <= 1:
        return []
    rows = tuple(
        (str(t["block"]), str(t["thread"]), f"{c:,}") for t, c in zip(threads[:6], counts[:6])
    )
    if len(threads) == 1 and n > 1:
        code, why = "one_thread", "One thread computes all elements, and the others do nothing."
    else:
        code, why = (
            "many_each",
            f"{len(threads):,} threads wrote {counts.sum():,} times: some write more than one "
            "element, or the same one again.",
        )
    return [
        Finding(
            code,
            why,
            property=_PARALLEL,
            table=Table(("block", "thread", "elements written"), rows),
            advice="No loop: each thread works out its own i, and does one addition.",
        )
    ]


VEC_ADD = Exercise(
    name="vec_add",
    title="One thread, one element",
    properties=(Property(_BOUNDS, 1), Property(_SUMS, 2), Property(_PARALLEL, 1)),
    cases=cases,
    examine=examine,
    hint="A thread's number in the whole grid is `blockIdx.x * blockDim.x + threadIdx.x`. Call it "
    "`i`. The last block has threads whose `i` is `n` or more; they must do nothing.",
    difficulty=1,
    minutes=8,
    seconds=2.0,
    language=CUDA,
    harness=harness("vec_add"),
)
