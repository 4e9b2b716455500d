"""Every call is checked, launches too: calls, launches and kernels are made to fail by number."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.cuda_answer import CELL, Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    comparison,
    is_close,
    missing_result,
    quarters,
    trouble,
)
from autograder.verdict import Finding, Place
from course.cuda import errors
from course.cuda.outcome import EXITED

_QUIET = "when nothing fails, nothing is said and the result is right"
_ONCE = "the macro runs its call once"
_CALLS = "a call that fails ends the program, with file, line and reason"
_LAUNCH = "a launch that is refused is noticed"
_KERNEL = "a kernel that fails while it runs is noticed"

_INJECTED = {
    "malloc": ("the {nth} cudaMalloc fails", _CALLS),
    "free": ("the {nth} cudaFree fails", _CALLS),
    "copy": ("the {nth} cudaMemcpy fails", _CALLS),
    "launch": ("the launch is refused", _LAUNCH),
    "sync": ("the kernel fails while it runs", _KERNEL),
}
_NTH = ("first", "second")
_FILE = re.compile(r"\b[\w-]+\.(?:cu|cpp)\b")

HARNESS = r"""
static int counted = 0;
static cudaError_t count_call() { ++counted; return cudaSuccess; }
int main(int argc, char** argv) {
    std::vector<float> x = check::input<float>(argv[1]);
    // The macro is a statement: it can stand where a statement can.
    if (x.empty()) CUDA_CHECK(count_call());
    else CUDA_CHECK(count_call());
    check::result(&counted, 1);
    scale(x.data(), (int)x.size(), 3.0f);
    check::result(x.data(), x.size());
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    out: np.ndarray
    kind: str = ""


def cases(generator: random.Random) -> list[Case]:
    x = quarters(generator, 300)
    found = [Case(((x,),), _Expected(3 * x), "nothing fails")]
    for kind, number in (
        ("malloc", 1), ("malloc", 2), ("copy", 1), ("copy", 2), ("free", 1),
        ("launch", 1), ("sync", 1),
    ):  # fmt: skip
        label = f"a fault put in: {_INJECTED[kind][0].format(nth=_NTH[number - 1])}"
        expected = _Expected(3 * x, kind)
        found.append(Case(((x,),), expected, label, {"inject": (kind, number)}))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    if not expected.kind:
        yield from _quiet(ran, expected)
        return
    if ran.run.backend == "cpu" and not _was_injected(ran):
        return  # this program makes no such call: nothing to notice
    yield from _noticed(ran, expected)


def _quiet(ran: Ran, expected: _Expected) -> Iterator[Finding]:
    counted, out = ran.array(0, np.int32), ran.array(1)
    if counted is not None and counted.tolist() != [1]:
        yield Finding(
            "evaluated_twice" if counted[0] > 1 else "not_evaluated",
            f"CUDA_CHECK(f()) calls f {counted[0]} times. A cudaMalloc in its place would allocate "
            "as often.",
            property=_ONCE,
            advice="cudaError_t error = (call); and then look at error, not at call again.",
        )
        return
    found = list(trouble(ran, _QUIET))
    if found or out is None:
        yield from found or [missing_result(_QUIET)]
    elif ran.run.backend == "cpu" and not ran.run.launches:
        yield Finding(
            "not_on_device",
            "No kernel was launched, and x is as before.",
            property=_QUIET,
            advice="Allocate, copy, launch multiply, copy back, free; each in CUDA_CHECK.",
        )
    elif not is_close(out, expected.out):
        table = comparison(out, expected.out)
        yield Finding("wrong_values", "x is not scaled.", property=_QUIET, table=table)
    elif ran.run.stdout.strip() or ran.run.stderr.strip():
        yield Finding(
            "not_quiet",
            "Nothing failed, and the program prints all the same.",
            property=_QUIET,
            advice="Only an error is worth a message: error != cudaSuccess.",
        )


def _was_injected(ran: Ran) -> bool:
    return any(c.injected for c in ran.run.calls) or any(x.injected for x in ran.run.launches)


def _noticed(ran: Ran, expected: _Expected) -> Iterator[Finding]:
    run, property_ = ran.run, _INJECTED[expected.kind][1]
    said = run.stdout + run.stderr
    places, call = _where(ran)
    if run.state == EXITED and run.exit_code == 0 and not said.strip():
        yield Finding(
            "unchecked",
            f"{call} and nobody notices: the program goes on and ends with exit code 0"
            + ("." if is_close(_array(ran), expected.out) else ", and its result is wrong."),
            property=property_,
            places=places,
            advice=_ADVICE[expected.kind],
        )
    elif run.state == EXITED and run.exit_code == 0:
        yield Finding(
            "exit_code_0",
            f"{call}, and the program says so, but its exit code is 0: a script that runs it "
            "takes that for success.",
            property=property_,
            places=places,
            advice="exit(EXIT_FAILURE) after the message.",
        )
    elif run.state != EXITED:
        yield Finding(
            "crashed",
            f"{call}. {run.failure}",
            property=property_,
            places=places,
            advice="End the program by exit(EXIT_FAILURE) where the error is found.",
        )
    else:
        yield from _message(ran, said, property_, places, call)


def _array(ran: Ran) -> np.ndarray:
    found = ran.array(1)
    return np.zeros(0, np.float32) if found is None else found


_ADVICE = {
    "malloc": "CUDA_CHECK around each cudaMalloc.",
    "free": "CUDA_CHECK around each cudaFree: it, too, reports what went wrong before.",
    "copy": "CUDA_CHECK around each cudaMemcpy.",
    "launch": "A launch returns nothing. CUDA_CHECK(cudaGetLastError()) right after it asks how it "
    "went.",
    "sync": "The launch itself went well. What happened in the kernel is known when it has run: "
    "CUDA_CHECK(cudaDeviceSynchronize()), or a checked cudaMemcpy, which waits, too.",
}


def _where(ran: Ran) -> tuple[tuple[Place, ...], str]:
    """The line that failed, and a sentence about it."""
    call = next((c for c in ran.run.calls if c.injected), None)
    if call is not None:
        places = (Place(call.line),) if call.line and call.part == CELL else ()
        return places, f"{call.name} returns {errors.name(call.error)}"
    launch = next((x for x in ran.run.launches if x.injected), None)
    if launch is None:
        return (), "A call fails"
    places = (Place(launch.line),) if launch.line and launch.part == CELL else ()
    return places, f"The launch of {launch.kernel} fails ({errors.name(launch.error)})"


def _message(
    ran: Ran, said: str, property_: str, places: tuple[Place, ...], call: str
) -> Iterator[Finding]:
    codes = {c.error for c in ran.run.calls if c.error} | {
        x.error for x in ran.run.launches if x.error
    }
    reasons = [word for code in codes for word in (errors.name(code), errors.text(code))]
    lines = {int(number) for number in re.findall(r"\b\d{1,4}\b", _FILE.sub(" ", said))}
    wanted = places[0].line if places else 1
    last = 10_000 if property_ != _CALLS else wanted + 1
    if errors.text(0) in said or f"{errors.name(0)}\n" in said + "\n":
        yield Finding(
            "evaluated_twice",
            f"{call}, and the message is {_quoted(said)}: the macro makes the call a second time, "
            "for the message, and that time nothing fails.",
            property=_ONCE,
            places=places,
            advice="cudaError_t error = (call); and then look at error, not at call again.",
        )
    elif ran.run.backend == "cpu" and not any(reason and reason in said for reason in reasons):
        yield Finding(
            "no_reason",
            f"{call}. The message does not say why: {_quoted(said)}.",
            property=property_,
            places=places,
            advice="cudaGetErrorString(error) is the reason in words.",
        )
    elif not _FILE.search(said):
        yield Finding(
            "no_file",
            f"{call}. The message does not name the file: {_quoted(said)}.",
            property=property_,
            places=places,
            advice="__FILE__, expanded where the macro is used.",
        )
    elif not ran.run.stderr.strip():
        yield Finding(
            "not_stderr",
            f"{call}, and the message goes to stdout, among the results.",
            property=property_,
            places=places,
            advice="fprintf(stderr, …), or std::cerr.",
        )
    elif not any(wanted <= line <= last for line in lines):
        yield Finding(
            "wrong_line",
            f"{call}, in line {wanted}. The message names no such line: {_quoted(said)}.",
            property=property_,
            places=places,
            advice="__LINE__ in the macro is the line where the macro is used; in a function it is "
            "always the same one.",
        )


def _quoted(said: str) -> str:
    line = next((row for row in said.splitlines() if row.strip()), "(nothing was printed)")
    return f"“{line.strip()[:90]}”"


CUDA_CHECK = Exercise(
    name="CUDA_CHECK",
    title="No call unchecked",
    properties=(
        Property(_QUIET, 1),
        Property(_ONCE, 1),
        Property(_CALLS, 1),
        Property(_LAUNCH, 1),
        Property(_KERNEL, 1),
    ),
    cases=cases,
    examine=examine,
    hint="The macro: `#define CUDA_CHECK(call) do { cudaError_t error_ = (call); if (error_ != "
    "cudaSuccess) { fprintf(stderr, …); exit(EXIT_FAILURE); } } while (0)`, on one line or with a "
    "backslash at the end of each. After the launch there are two things to ask: "
    "`cudaGetLastError()`, whether it was accepted, and `cudaDeviceSynchronize()`, whether it ran.",
    difficulty=3,
    minutes=15,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS,
)
