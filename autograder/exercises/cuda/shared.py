"""What the exercises in CUDA C++ share: what the run itself found, and arrays compared."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.cuda_answer import CELL, Ran
from autograder.verdict import Finding, Place, Table
from course import cuda
from course.cuda.outcome import EXITED, Fault, Launch

SENTINEL = -12345.0  # stands where a result belongs until somebody writes it: wrong, and not zero
NOT_RUN = ("block_too_large", "block_too_deep", "empty_grid", "empty_block", "grid_too_large")


def quarters(generator: random.Random, count: int, below: int = 1000) -> np.ndarray:
    """Multiples of ¼ as float32, none of them whole or 0: sums of them are exact.

    Whole numbers would let pass a kernel that computes with ``int``.
    """
    numbers = np.random.default_rng(generator.getrandbits(32))
    whole, part = numbers.integers(0, below, count), numbers.integers(1, 4, count)
    return (whole + part / 4).astype(np.float32)


def elements_text(count: int) -> str:
    return f"{count:,} element{'s' * (count != 1)}"


def trouble(ran: Ran, property_: str = "", leaving_out: Sequence[str] = ()) -> Iterator[Finding]:
    """The first thing that went wrong in the run itself, if any did."""
    fault = next((f for f in ran.run.errors if f.kind not in leaving_out), None)
    if fault is not None:
        yield of_fault(fault, property_, ran.run.launches)
    elif ran.run.state != EXITED or ran.run.exit_code:
        code = ran.run.state if ran.run.state != EXITED else "exit_code"
        yield Finding(code, ran.run.failure, property=property_, places=())


def of_fault(fault: Fault, property_: str = "", launches: Sequence[Launch] = ()) -> Finding:
    """A fault as a finding; of one in a kernel also where that was launched, if by the answer."""
    launched = next((x for x in launches if x.operation == fault.operation), None)
    places = list(_places(fault))
    if fault.kernel is not None and launched is not None and launched.part == CELL:
        places += [Place(launched.line, note="launched here")] if launched.line else []
    return Finding(
        fault.kind, fault.message, property=property_, places=tuple(places), advice=fault.advice
    )


def _places(fault: Fault) -> Iterator[Place]:
    if fault.line is not None and fault.part == CELL:
        yield Place(fault.line, fault.text.strip())
    other = fault.other
    if other is not None and other.line and other.part == CELL and other.line != fault.line:
        yield Place(other.line, note="the other")


def text(value: float) -> str:
    return "not written" if value == SENTINEL else f"{value:.8g}"


def comparison(got: np.ndarray, wanted: np.ndarray, most: int = 6) -> Table:
    """The first elements that differ."""
    differing = np.flatnonzero(~np.isclose(got, wanted, rtol=1e-4, atol=1e-4))[:most]
    rows = tuple((f"{i:,}", text(got[i]), text(wanted[i])) for i in differing)
    return Table(("element", "got", "wanted"), rows)


def is_close(got: np.ndarray, wanted: np.ndarray) -> bool:
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-4, atol=1e-4)


def added_to_old(got: np.ndarray, wanted: np.ndarray, name: str, property_: str) -> list[Finding]:
    """Results that were added to what stood in the array before."""
    if got.shape != wanted.shape or not np.allclose(got, wanted + SENTINEL, atol=1e-2):
        return []
    return [
        Finding(
            "added_to_old",
            f"The right numbers were added to what stood in {name} before, and nobody said that "
            "it is 0: cudaMalloc clears nothing.",
            property=property_,
            table=comparison(got.reshape(-1), wanted.reshape(-1)),
            advice=f"{name}[…] = …, not +=.",
        )
    ]


def whole_numbers(got: np.ndarray, property_: str) -> list[Finding]:
    """Results without a fraction, of inputs that all have one (see :func:`quarters`)."""
    if got.size < 3 or (got != np.trunc(got)).any():
        return []
    return [
        Finding(
            "whole_numbers",
            "Every result is a whole number, and the inputs are not: on the way, they were stored "
            "in whole numbers.",
            property=property_,
            advice="float for what holds them, not int.",
        )
    ]


def missing_result(property_: str) -> Finding:
    return Finding(
        "no_result",
        "The program ended before the result was there.",
        property=property_,
        advice="Does the function end the program itself, by exit or abort?",
    )


def not_written(got: np.ndarray, property_: str, *, block: int) -> Iterator[Finding]:
    """Elements that still hold the sentinel."""
    holes = np.flatnonzero(got == SENTINEL)
    if not holes.size:
        return
    n, first, last = len(got), int(holes[0]), int(holes[-1])
    if holes.size == n:
        yield Finding(
            "nothing_written",
            f"None of the {n:,} elements of the result was written.",
            property=property_,
            advice="Does the kernel write through the pointer that it was given, and is its guard "
            "not the wrong way round?",
        )
    elif first == min(block, n) and last == n - 1 and holes.size == n - first:
        yield Finding(
            "only_first_block",
            f"Elements 0 to {first - 1:,} are written, as many as a block has threads, and none "
            "after them: all blocks work on the same elements.",
            property=property_,
            advice="threadIdx.x counts within a block. Which block it is says blockIdx.x: "
            "blockIdx.x * blockDim.x + threadIdx.x.",
        )
    elif last == n - 1 and holes.size == n - first:
        yield Finding(
            "tail_not_written",
            f"Elements {first:,} to {last:,} were never written.",
            property=property_,
            advice="Which threads should have had them? Look at the guard: an element i exists "
            "when i < n.",
        )
    else:
        yield Finding(
            "holes",
            f"{holes.size:,} of {n:,} elements were never written, the first of them {first:,}.",
            property=property_,
            advice="Each element needs a thread: work out the index of thread 0 of block 1 by "
            "hand.",
        )


def touched(ran: Ran, pointer: str) -> np.ndarray:
    """The accesses of kernels to the memory that was allocated to a pointer, in global memory."""
    rows = cuda.touched(ran.run, pointer)
    return rows[rows["space"] == _GLOBAL]


_GLOBAL = 1  # see course.cuda.events.TOUCH
