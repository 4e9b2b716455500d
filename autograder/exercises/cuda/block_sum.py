"""A sum by all threads of a block, in shared memory, with barriers between the steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from autograder.cuda_answer import Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    SENTINEL,
    elements_text,
    missing_result,
    quarters,
    text,
    trouble,
    whole_numbers,
)
from autograder.verdict import Finding, Table

_SUMS = "sums[b] is the sum of block b's elements"
_ORDER = "right in whatever order the threads run"
_SHARED_WORK = "no thread adds, and no place receives, more than a few numbers"

_ATOMIC = 2  # see course.cuda.events.TOUCH
_WARPS = 32  # in the largest block: one atomic update for each is no queue

# (elements, threads a block, seed of the schedule)
_LAUNCHES = (
    (1000, 256, 0),
    (1000, 256, 1),
    (1, 32, 2),
    (4096, 1024, 3),
    (999, 64, 4),
    (640, 128, 5),
)

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> x = check::input<float>(argv[1]);
    int n = (int)x.size(), block = atoi(argv[2]), blocks = (n + block - 1) / block;
    std::vector<float> sums(blocks, SENTINEL);
    float *d_x, *d_sums;
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc(&d_sums, blocks * sizeof(float));
    cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_sums, sums.data(), blocks * sizeof(float), cudaMemcpyHostToDevice);
    block_sum<<<blocks, block, block * sizeof(float)>>>(d_x, d_sums, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(sums.data(), d_sums, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    check::result(sums.data(), blocks);
    cudaFree(d_x);
    cudaFree(d_sums);
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    x: np.ndarray
    block: int


def cases(generator: random.Random) -> list[Case]:
    found = []
    for n, block, seed in _LAUNCHES:
        x = quarters(generator, n, below=10)
        order = f", threads in the order of --seed {seed}" if seed else ""
        label = f"{elements_text(n)}, blocks of {block} threads{order}"
        options = {"seed": seed, "touches": True}
        found.append(Case(((x, block),), _Expected(x, block), label, options))
    return found


def sums_of(x: np.ndarray, block: int) -> np.ndarray:
    return np.array([x[i : i + block].sum() for i in range(0, len(x), block)], np.float32)


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    races = ran.run.fault("race", "barrier_divergent", "barrier_ended", "warp_lane_missing")
    found = [_with_advice(f, ran) for f in trouble(ran, _ORDER if races else _SUMS)]
    got = ran.array(0)
    if found or got is None:
        yield from found or [missing_result(_SUMS)]
        return
    yield from _wrong(got, expected) or _work(ran, expected)


def _with_advice(finding: Finding, ran: Ran) -> Finding:
    """A fault of a kind that this exercise knows the cause of."""
    fault = ran.run.fault(finding.code)
    memory = fault.memory if fault is not None else None
    if memory is None:
        return finding
    if finding.code == "race_between_blocks" and memory.name == "d_sums":
        advice = "Each block has a place of its own for its sum: sums[blockIdx.x]."
        return replace(finding, advice=advice)
    if finding.code == "out_of_bounds" and memory.space == "shared":
        advice = (
            "There is one place for each thread: t + stride must stay below blockDim.x. So the "
            "first stride is blockDim.x / 2, and only threads below it add."
        )
        return replace(finding, advice=advice)
    return finding


def _wrong(got: np.ndarray, expected: _Expected) -> list[Finding]:
    x, block = expected.x, expected.block
    wanted = sums_of(x, block)
    if got.shape == wanted.shape and np.array_equal(got, wanted):
        return []
    if known := whole_numbers(got, _SUMS):
        return known
    differing = np.flatnonzero(got != wanted)
    rows = tuple((str(b), text(got[b]), f"{wanted[b]:g}") for b in differing[:6])
    code, why, advice = _why(got, wanted, x, block)
    table = Table(("block", "sums[block]", "wanted"), rows)
    return [Finding(code, why, property=_SUMS, table=table, advice=advice)]


def _why(got: np.ndarray, wanted: np.ndarray, x: np.ndarray, block: int) -> tuple[str, str, str]:
    firsts = x[::block]
    if (got == SENTINEL).all():
        return "nothing_written", "No sum was written.", "Thread 0 of each block: sums[blockIdx.x]."
    if (got[1:] == SENTINEL).all() and len(got) > 1:
        return (
            "only_block_0",
            "Only sums[0] was written.",
            "Each block has its own place: sums[blockIdx.x].",
        )
    if len(got) > 1 and (got == wanted[0]).all():
        return (
            "same_elements",
            "Every block has the sum of block 0's elements.",
            "Which elements a block has depends on which it is: blockIdx.x * blockDim.x + "
            "threadIdx.x.",
        )
    if np.array_equal(got, firsts):
        return (
            "own_element",
            "Each sum is the first element of its block alone: nothing was added to it.",
            "Look at what the loop adds, and to what.",
        )
    if np.allclose(got, wanted + SENTINEL):
        return (
            "added_to_old",
            "The sums were added to what stood in sums before.",
            "sums[blockIdx.x] = …, not +=.",
        )
    if (got < wanted).all():
        return (
            "too_small",
            "Something is missing from every sum.",
            "With 8 threads: which pairs are added in each step, and does the last step, stride 1, "
            "take place?",
        )
    return (
        "wrong_values",
        "These are not the sums of the blocks.",
        "Follow 8 threads and 8 numbers through the loop on paper.",
    )


def _work(ran: Ran, expected: _Expected) -> list[Finding]:
    """How much each thread reads: of a tree 2·log₂(block), of one thread's loop all."""
    touches = ran.run.touches
    if touches is None or not len(touches) or expected.block < 128:
        return []
    atomics = touches[touches["write"] == _ATOMIC]
    _, arrivals = np.unique(atomics[["allocation", "block", "offset"]], return_counts=True)
    if arrivals.max(initial=0) > _WARPS:
        return [
            Finding(
                "one_place",
                f"The sums are right, but {arrivals.max():,} atomic updates of a block meet in one "
                "place, and there they are made one after the other.",
                property=_SHARED_WORK,
                advice="Add in shared memory, as a tree; then one thread writes the block's sum.",
            )
        ]
    reads = touches[touches["write"] == 0]
    threads, counts = np.unique(reads[["block", "thread"]], return_counts=True)
    allowed = 4 * expected.block.bit_length() + 8
    if not len(counts) or counts.max() <= allowed:
        return []
    most = int(counts.argmax())
    return [
        Finding(
            "one_thread_adds",
            f"The sums are right, but thread {threads[most]['thread']} of block "
            f"{threads[most]['block']} reads {counts[most]:,} numbers while others wait. A tree "
            f"needs {expected.block.bit_length() - 1} steps for {expected.block} threads.",
            property=_SHARED_WORK,
            advice="In each step half as many threads add, each one pair: s[t] += s[t + stride] "
            "for stride = blockDim.x / 2, then / 4, and so on to 1.",
        )
    ]


BLOCK_SUM = Exercise(
    name="block_sum",
    title="A sum by the whole block",
    properties=(Property(_ORDER, 2), Property(_SUMS, 2), Property(_SHARED_WORK, 1)),
    cases=cases,
    examine=examine,
    hint="`extern __shared__ float s[];` has one place for each thread. Every thread puts its "
    "element there, or 0 if it has none. Barrier. Then halve: threads below `stride` add "
    "`s[t + stride]` to `s[t]`; barrier; `stride /= 2`. The barrier stands inside the loop and "
    "outside the `if`, so that all threads reach it.",
    difficulty=4,
    minutes=20,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS.replace("SENTINEL", f"{SENTINEL:.1f}f"),
)
