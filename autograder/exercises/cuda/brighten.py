"""Find the bug: a block too large, a launch that is refused, and nobody who is told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.cuda_answer import Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import missing_result, trouble
from autograder.verdict import Finding, Table

_RUNS = "the kernel runs, and every pixel is brighter"
_TOLD = "a launch that is refused is reported to the caller"
ADDED = 60

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<unsigned char> in = check::input<unsigned char>(argv[1]);
    int width = atoi(argv[2]), height = atoi(argv[3]);
    std::vector<unsigned char> out(in.size(), 0);
    unsigned char *d_in, *d_out;
    cudaMalloc(&d_in, in.size());
    cudaMalloc(&d_out, out.size());
    cudaMemcpy(d_in, in.data(), in.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(d_out, out.data(), out.size(), cudaMemcpyHostToDevice);
    int told = (int)brighten(d_in, d_out, width, height);
    cudaDeviceSynchronize();
    cudaMemcpy(out.data(), d_out, out.size(), cudaMemcpyDeviceToHost);
    check::result(&told, 1);
    check::result(out.data(), out.size());
    cudaFree(d_in);
    cudaFree(d_out);
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    out: np.ndarray
    refused: bool = False


def cases(generator: random.Random) -> list[Case]:
    found = []
    for width, height, refused in ((70, 45, False), (1, 1, False), (33, 100, False), (8, 8, True)):
        numbers = np.random.default_rng(generator.getrandbits(32))
        pixels = numbers.integers(1, 256, (height, width)).astype(np.uint8)
        wanted = np.minimum(pixels.astype(np.int32) + ADDED, 255).astype(np.uint8)
        label = f"an image of {width} × {height}" + ", the launch made to fail" * refused
        options = {"inject": ("launch", 1)} if refused else {}
        expected = _Expected(wanted, refused)
        found.append(Case(((pixels, width, height),), expected, label, options))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    told, flat = ran.array(0, np.int32), ran.array(1, np.uint8)
    if expected.refused:
        if ran.run.backend == "cpu" and told is not None and told[0] == 0:
            yield Finding(
                "not_reported",
                "The launch is refused, and brighten returns cudaSuccess. Its caller goes on with "
                "an image that nobody made.",
                property=_TOLD,
                advice="return cudaGetLastError(); right after the launch.",
            )
        return
    found = list(trouble(ran, _RUNS))
    if found or told is None or flat is None:
        yield from found or [missing_result(_RUNS)]
    elif told[0] != 0:
        yield Finding(
            "reports_an_error",
            f"Nothing failed, and brighten returns error {told[0]}.",
            property=_TOLD,
        )
    else:
        yield from _pixels(flat.reshape(expected.out.shape), expected.out)


def _pixels(got: np.ndarray, wanted: np.ndarray) -> Iterator[Finding]:
    if np.array_equal(got, wanted):
        return
    places = np.argwhere(got != wanted)[:6]
    rows = tuple((f"row {r}, column {c}", str(got[r, c]), str(wanted[r, c])) for r, c in places)
    table = Table(("pixel", "got", "wanted"), rows)
    black = got == 0
    advice = (
        "The grid: (width + block.x - 1) / block.x blocks across, and as many down as the height "
        "needs."
    )
    if black.all():
        code, why = "nothing_written", "No pixel was written."
    elif black.mean() > 0.05:  # a byte that wraps around can be 0, too
        code = "holes"
        why = f"{int(black.sum()):,} of {black.size:,} pixels were never written."
    else:
        code, why = "wrong_pixels", "The pixels are not 60 brighter (255 at most)."
        advice = "A pixel is a byte, 0 to 255: add as int, cap the sum, then store it."
    yield Finding(code, why, property=_RUNS, table=table, advice=advice)


BRIGHTEN = Exercise(
    name="brighten",
    title="A launch that never was",
    properties=(Property(_RUNS, 2), Property(_TOLD, 1)),
    cases=cases,
    examine=examine,
    hint="How many threads has a block of 33 × 32? And where does a program learn that a launch "
    "was refused?",
    difficulty=2,
    minutes=8,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS,
)
