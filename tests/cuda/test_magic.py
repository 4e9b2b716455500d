"""The cell magic: what a cell shows, and its lines."""
# ruff: noqa: E501 - programs in C++ keep their lines

from __future__ import annotations

import re

import pytest
from IPython.core.error import UsageError
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

from course.cuda import magic
from course.cuda.outcome import CudaRun

HELLO = (
    '#include <cstdio>\nint main(int n, char** w) { printf("hello %s\\n", n > 1 ? w[1] : ""); }\n'
)
KERNEL = "__global__ void fill(float* a) {\n    a[threadIdx.x] = 1;\n}\n"
MAIN = """int main() {
    float* d;
    if (cudaMalloc(&d, 128) != cudaSuccess) return 3;
    fill<<<1, 33>>>(d);
    if (cudaGetLastError() != cudaSuccess) return 4;
    return cudaDeviceSynchronize() != cudaSuccess ? 5 : 0;
}
"""


def run(line: str, cell: str) -> CudaRun:
    found = magic.run_cell(f"--cpu {line}", cell)
    assert isinstance(found, CudaRun), found
    return found


def test_a_cell_with_main_runs() -> None:
    ended = run("--args 'you there'", HELLO)
    assert ended.ok and ended.stdout == "hello you\n"
    assert run("", HELLO).stdout == "hello \n"


def test_a_cell_without_main_is_compiled_only() -> None:
    found = magic.run_cell("--cpu", KERNEL)
    assert found == "Compiled: fill (line 2). There is no main in this cell, so nothing was run."


@pytest.mark.parametrize("rest", ["", MAIN])
def test_compile_errors_are_at_the_lines_of_the_cell(rest: str) -> None:
    ended = run("", KERNEL.replace("= 1;", "= one;") + rest)
    assert ended.state == "not_compiled" and ended.diagnostics[0].line == 3
    assert "line 3 │" in repr(ended) and "'one' was not declared" in repr(ended)
    assert "line 3" in ended._repr_html_()


def test_a_fault_is_at_its_line_of_the_cell() -> None:
    ended = run("", KERNEL + MAIN)
    fault = ended.fault("out_of_bounds")
    assert fault is not None and fault.line == 3 and ended.exit_code == 5
    shown = re.sub(r"<[^>]*>", "", ended._repr_html_())
    assert "Thread 32 of block 0 of fill writes element 32 of d (128 bytes" in shown
    assert "a[threadIdx.x] = 1;" in shown


@pytest.mark.parametrize(
    ("option", "code"), [("malloc", 3), ("launch", 4), ("sync", 5), ("call", 3)]
)
def test_a_call_is_made_to_fail(option: str, code: int) -> None:
    right = KERNEL.replace("a[", "if (threadIdx.x < 32) a[")
    ended = run(f"--fail-{option} 1", right + MAIN)
    assert ended.exit_code == code
    assert any(x.injected for x in (*ended.calls, *ended.launches)) or option == "sync"


def test_options() -> None:
    assert run("--seed 7", HELLO).seed == 7
    named = '#include <cstdio>\nint main() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); printf("%s %d", p.name, p.major); }'
    assert run("--card h100", named).stdout == "CPU in the place of an NVIDIA H100 9"
    touched = run("--touches", KERNEL + MAIN)
    assert len(touched.touches) == 32
    assert "--seed" in str(magic.run_cell("--help", ""))


@pytest.mark.parametrize(
    "line", ["--what", "--seed x", "--fail-malloc 0", "--fail-malloc 1 --fail-copy 1", "'"]
)
def test_wrong_options_are_named(line: str) -> None:
    with pytest.raises(UsageError, match=r"^%%cuda: .*\."):
        magic.run_cell(line, HELLO)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    found = magic.run_cell("--cpu", HELLO)
    assert isinstance(found, str) and "needs a C++ compiler" in found and "apt-get" in found


def test_in_a_notebook() -> None:
    shell = start_ipython()
    shell.run_line_magic("load_ext", "course.cuda.magic")
    with capture_output() as shown:
        shell.run_cell("%%cuda --cpu --name mine\n" + HELLO)
    assert "hello" in shown.outputs[0].data["text/plain"]
    assert shell.user_ns["mine"].ok
    with capture_output() as shown:
        shell.run_cell("%%cuda --cpu\n" + KERNEL)
    assert shown.stdout.startswith("Compiled: fill (line 2).")
    with capture_output() as shown:
        shell.run_cell("%cuda")
    assert "--fail-malloc K" in shown.stdout
    with capture_output() as shown:
        shell.run_cell("%%cuda --nonsense\n" + HELLO)
    assert "%%cuda: unrecognized arguments: --nonsense" in shown.stdout + shown.stderr
