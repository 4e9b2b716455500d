"""Each fault is found, in its line, with the thread and the element where there are any."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from course import cuda
from course.cuda.explain import EXPLAINED
from course.cuda.outcome import Fault
from tests.cuda.faulty import FAULTS, Faulty

_NUMBER: Counter[str] = Counter()


def name(case: Faulty) -> str:
    _NUMBER[case.kind] += 1
    return case.kind + (f"-{_NUMBER[case.kind]}" if _NUMBER[case.kind] > 1 else "")


def shown(fault: Fault, key: str, wanted: Any) -> Any:
    value = getattr(fault, key)
    return {k: value.get(k) for k in wanted} if key == "details" else value


@pytest.mark.parametrize("case", FAULTS, ids=name)
def test_found_and_placed(case: Faulty) -> None:
    run = cuda.run(case.text, backend="cpu", **{"time_limit": 20.0, **case.how})
    fault = run.fault(case.kind)
    assert fault is not None, (run.diagnostics, run)
    if case.line is not None:
        assert (fault.line, fault.part) == (case.line, "cell")
        assert fault.text == case.text.split("\n")[case.line - 1]
    found = {key: shown(fault, key, wanted) for key, wanted in case.expected.items()}
    assert found == case.expected
    assert fault.severity == case.severity
    assert fault.message.endswith(".") and "None" not in fault.message, fault.message
    assert run.ok == (case.severity == "warning" and run.exit_code == 0)
    others = {f.kind for f in run.errors} - {case.kind} - case.also
    assert not others, (others, run)


def test_every_kind_is_found_by_a_test() -> None:
    elsewhere = {"division_by_zero", "report_broken", "not_configured"}  # below
    assert {case.kind for case in FAULTS} | elsewhere == set(EXPLAINED)


def test_a_kernel_that_divides_by_zero() -> None:
    text = (
        "__global__ void k(int* d) { d[0] = 7 / d[1]; }\n"
        "int main() { int* d; cudaMalloc(&d, 8); cudaMemset(d, 0, 8); k<<<1, 1>>>(d);\n"
        "return cudaDeviceSynchronize() != cudaSuccess ? 0 : 1; }"
    )
    fault = cuda.run(text, backend="cpu").fault("division_by_zero")
    assert fault is not None and (fault.line, fault.thread) == (1, (0, 0, 0))


def test_a_kernel_called_through_a_pointer_without_a_configuration() -> None:
    text = (
        "__global__ void k() {}\nint main() { void (*f)() = k; f();\nreturn cudaGetLastError(); }"
    )
    run = cuda.run(text, backend="cpu")
    assert run.fault("not_configured") is not None and run.exit_code == 52


def test_a_program_that_writes_into_its_report() -> None:
    text = """#include <unistd.h>
int main() { const char* forged = "{\\"event\\":\\"fault\\",\\"pc\\":[]}\\n";
for (int f = 3; f < 64; ++f) { if (write(f, forged, 29) < 0) continue; } }"""
    run = cuda.run(text, backend="cpu")
    assert not run.ok and run.fault("report_broken") is not None


def test_two_sides_of_an_update_are_one_fault_and_its_cure_is_an_atomic() -> None:
    text = """__global__ void k(int* bins) { bins[threadIdx.x % 4]++; }
int main() { int *a, *d; cudaMalloc(&a, 4); cudaMalloc(&d, 16); cudaMemset(d, 0, 16);
k<<<1, 64>>>(d); cudaDeviceSynchronize(); cudaFree(a); cudaFree(d); }"""
    run = cuda.run(text, backend="cpu")
    (fault,) = run.faults
    assert fault.kind == "race" and fault.count > 60 and "atomicAdd" in fault.advice
    assert fault.memory is not None and fault.memory.name == "d"  # the second of its line
