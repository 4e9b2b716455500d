"""The host's side of a kernel: memory there, copies both ways, the launch, and memory back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.cuda_answer import CELL, Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    SENTINEL,
    comparison,
    elements_text,
    is_close,
    missing_result,
    quarters,
    trouble,
)
from autograder.verdict import Finding, Place, Table

_SUMS = "the sums arrive in c"
_DEVICE = "the kernel computes them, and every call succeeds"
_FREED = "what was allocated is freed"
_EMPTY = "nothing happens for n = 0"

# (elements,)
# The largest has more than 256 times 1,024: blocks that grow with n are then refused.
_SIZES = (1000, 256, 1, 300_001, 0)

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> a = check::input<float>(argv[1]), b = check::input<float>(argv[2]);
    int n = (int)a.size();
    std::vector<float> c(n + 64, SENTINEL);
    vec_add_host(a.data(), b.data(), c.data(), n);
    check::result(c.data(), c.size());
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    a: np.ndarray
    b: np.ndarray


def cases(generator: random.Random) -> list[Case]:
    found = []
    for n in _SIZES:
        a, b = quarters(generator, n), quarters(generator, n)
        found.append(Case(((a, b),), _Expected(a, b), elements_text(n)))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    n = len(expected.a)
    if n == 0:
        yield from trouble(ran, _EMPTY)
        return
    found = list(_bytes(ran, n)) or list(trouble(ran, _DEVICE))
    got = ran.array(0)
    if not found and ran.run.backend == "cpu" and not ran.run.launches:
        yield _not_on_device()
        return
    yield from found
    if got is None:
        yield missing_result(_SUMS)
    elif not any(f.property == _SUMS for f in found):
        sums = _sums(got, expected)
        yield from sums[:1] if not found else map(_consequence, sums[:1])
    if not found:
        yield from _failed_calls(ran)
    yield from _left(ran)


def _consequence(sums: Finding) -> Finding:
    """What another finding explains already: a guess at a second cause would lead astray."""
    return Finding(
        "consequence",
        "So the sums are not in c, either.",
        property=sums.property,
        advice="First mend what stands above.",
    )


def _bytes(ran: Ran, n: int) -> Iterator[Finding]:
    """Elements counted where bytes are meant, in an allocation or a copy."""
    asked = [("cudaMalloc", a.bytes, a.line) for a in ran.run.allocations]
    asked += [("cudaMemcpy", o.bytes, o.line) for o in ran.run.operations if o.kind == "copy"]
    wrong = [(what, line) for what, count, line in asked if count == n]
    if wrong:
        what, _ = wrong[0]
        yield Finding(
            "bytes",
            f"{what} counts bytes and was given {n:,}: that is how many elements there are. With "
            f"4 bytes each, it is room for a quarter of them.",
            property=_SUMS,
            places=tuple(Place(line, note=what) for what, line in wrong if line),
            advice="size_t bytes = n * sizeof(float); and use it everywhere.",
        )


def _sums(got: np.ndarray, expected: _Expected) -> list[Finding]:
    n, wanted = len(expected.a), expected.a + expected.b
    if (got[n:] != SENTINEL).any():
        return [
            Finding(
                "past_the_end",
                f"Something was written past the end of c, which has {n:,} elements.",
                property=_SUMS,
                advice="n * sizeof(float) bytes, not more.",
            )
        ]
    right = np.isclose(got[:n], wanted)
    if right.all():
        return []
    first = int(np.flatnonzero(~right)[0])
    table = comparison(got[:n], wanted)
    if (got[:n] == SENTINEL).all():
        return [
            Finding(
                "not_copied_back",
                "Nothing arrived in c.",
                property=_SUMS,
                advice="The result is in device memory. Copy it: cudaMemcpy(c, d_c, bytes, "
                "cudaMemcpyDeviceToHost).",
            )
        ]
    if is_close(got[:n], 2 * expected.a) or is_close(got[:n], 2 * expected.b):
        return [
            Finding(
                "same_twice",
                "One of the two inputs was added to itself.",
                property=_SUMS,
                table=table,
                advice="Two arrays are copied to the device, each from its own on the host.",
            )
        ]
    if first == n // 256 * 256 and right[:first].all():
        return [
            Finding(
                "rounded_down",
                f"The elements from {first:,} on are not right: the grid has too few blocks, "
                "because the division rounds down.",
                property=_SUMS,
                table=table,
                advice="(n + block - 1) / block blocks.",
            )
        ]
    message = f"c is not a + b from element {first:,} on."
    advice = "What does each of the three arrays on the device hold before the launch, and after?"
    return [Finding("wrong_values", message, property=_SUMS, table=table, advice=advice)]


def _not_on_device() -> Finding:
    """Of all properties: a loop on the host leaks nothing, and has nothing to be praised for."""
    return Finding(
        "not_on_device",
        "No kernel was launched: what c holds, the host put there.",
        advice="add<<<blocks, block>>>(d_a, d_b, d_c, n);",
    )


def _failed_calls(ran: Ran) -> Iterator[Finding]:
    failed = next((c for c in ran.run.calls if c.error and c.part == CELL), None)
    if failed is not None:
        yield Finding(
            "call_failed",
            f"{failed.name} reported an error, and nobody looked.",
            property=_DEVICE,
            places=(Place(failed.line or 1),),
        )


def _left(ran: Ran) -> Iterator[Finding]:
    leaks = ran.run.leaks
    if not leaks:
        return
    rows = tuple((a.name or "?", f"{a.bytes:,}", str(a.line)) for a in leaks)
    yield Finding(
        "leak",
        f"{len(leaks)} allocation{'s were' if len(leaks) > 1 else ' was'} never freed. A program "
        "that calls this function a thousand times fills the card.",
        property=_FREED,
        table=Table(("pointer", "bytes", "line"), rows),
        places=tuple(Place(a.line, note="allocated") for a in leaks if a.line),
        advice="cudaFree for each cudaMalloc, on every way out of the function.",
    )


VEC_ADD_HOST = Exercise(
    name="vec_add_host",
    title="The whole way, there and back",
    properties=(Property(_SUMS, 2), Property(_DEVICE, 1), Property(_FREED, 1), Property(_EMPTY, 1)),
    cases=cases,
    examine=examine,
    hint="Three `cudaMalloc(&d_a, bytes)`, two `cudaMemcpy(d_a, a, bytes, "
    "cudaMemcpyHostToDevice)`, the launch, one `cudaMemcpy` back, three `cudaFree`. `cudaMemcpy` "
    "waits for the kernel. A grid of 0 blocks is an error: return early when `n` is 0.",
    difficulty=2,
    minutes=15,
    partial=True,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS.replace("SENTINEL", f"{SENTINEL:.1f}f"),
)
