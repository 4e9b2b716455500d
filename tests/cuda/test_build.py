"""From text to program: errors at the cell's own lines, parts, the cache, compilers that fail."""
# ruff: noqa: E501 - programs in C++ keep their lines

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from course import cuda
from course.cuda import builder, show, toolchain

VEC_ADD = (Path(__file__).parent / "programs" / "vec_add.cu").read_text()
MAIN = "int main() { return 0; }\n"


def errors(text: str, **parts: str) -> list[tuple[int | None, str, str]]:
    with pytest.raises(cuda.CompileError) as caught:
        cuda.build(text, backend="cpu", **parts)  # type: ignore[arg-type]
    found = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert all(d.line is None or d.text for d in found)
    return [(d.line, d.part, d.message) for d in found]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("int main() {\n    return one;\n}", 2, "'one' was not declared"),
        ("int main() {\n    int a = 1\n    return a;\n}", 2, "expected ',' or ';'"),
        ("__global__ void k(int n) {\n  n = x;\n}\n" + MAIN, 2, "'x' was not declared"),
        (
            "__global__ void k(int n) { }\nint main() {\n  k<<<1, 2>>>(1, 2); }",
            3,
            "too many arguments",
        ),
        (
            "__global__ void k() { }\nint main() {\n  k(); }",
            3,
            "called without `<<<grid, block>>>`",
        ),
        ("void k() { }\nint main() {\n  k<<<1, 1>>>(); }", 3, "is no `__global__` function"),
        ("__global__ int k() { return 1; }\n" + MAIN, 1, "must return void"),
        (
            "int host() { return 1; }\n__global__ void k() {\n  host(); }\n" + MAIN,
            3,
            "is a host function",
        ),
        (
            "__device__ int d() { return 1; }\nint main() {\n  return d(); }",
            3,
            "host code cannot call it",
        ),
        ("__global__ void k() {\n  __shared__ int s = 0; }\n" + MAIN, 2, "cannot be initialised"),
        ("__global__ void k() {\n  threadIdx.x = 1; }\n" + MAIN, 2, "read-only"),
        ("__global__ void k() {\n  __shfl_down(1, 1); }\n" + MAIN, 2, "was not declared"),
        ("__global__ void k() {\n  __shared__ float s[20000]; s[0] = 1; }\n" + MAIN, 2, "48 KiB"),
        ("#include <nowhere.h>\n" + MAIN, 1, "No such file"),
        (
            "#include <curand_kernel.h>\n" + MAIN,
            1,
            "`curand_kernel.h` is not part of CUDA on the CPU",
        ),
        (
            "#include <string>\n__global__ void k(std::string s) { s.size(); }\nint main() {\n  k<<<1, 1>>>({}); }",
            2,
            "trivially copyable",
        ),
    ],
)
def test_errors_are_at_the_lines_of_the_cell(text: str, line: int, says: str) -> None:
    found = errors(text)
    assert (line, "cell") in [(at, part) for at, part, _ in found], found
    assert any(says in message for at, _, message in found if at == line), found


@pytest.mark.parametrize(
    ("body", "tip"),
    [
        ("float* d; cudaMalloc(d, 4);", "cudaMalloc(&d_a, bytes)"),
        ("const float c = 0; cudaMemcpy(&c, &c, 4, cudaMemcpyDeviceToHost);", "destination comes"),
        ("cudaStream_t s; k<<<1, 1, s>>>();", "the stream is the fourth"),
        ("if (k<<<1, 1>>>()) return 1;", "cudaGetLastError()"),
    ],
)
def test_what_a_compiler_says_to_nobody_gets_a_tip(body: str, tip: str) -> None:
    with pytest.raises(cuda.CompileError) as caught:
        cuda.build(f"__global__ void k() {{ }}\nint main() {{ {body} }}", backend="cpu")
    assert any(tip in d.advice for d in caught.value.diagnostics), caught.value.diagnostics
    assert tip in show.diagnostics_text(caught.value.diagnostics).replace("\n       ", " ")


def test_a_macro_that_ends_too_early_is_named_first() -> None:
    text = "#define OK(x) do { \\\n  int e = x;\n  if (e) exit(e); \\\n } while (0)\n" + MAIN
    assert errors(text)[0] == (2, "cell", "the macro ends here, with a `{` still open")
    assert {part for _, part, _ in errors(text, harness="int more() { OK(1); }")} == {"cell"}


def test_a_function_that_returns_nothing_is_an_error() -> None:
    assert errors("cudaError_t f() { cudaDeviceSynchronize(); }\n" + MAIN)[0][0] == 1


def test_no_main_and_an_undefined_function() -> None:
    assert errors("__global__ void k() { }") == [
        (None, "cell", "The program has no function `main`.")
    ]
    missing = errors("int f();\nint main() { return f(); }")
    assert missing == [(None, "cell", "`f()` is declared, and defined nowhere.")]


def test_the_column_is_that_of_the_cell() -> None:
    text = "__global__ void k(int a) { }\nint main() { k<<<1, 1>>>(1); k<<<1, 1>>>(wrong); }"
    with pytest.raises(cuda.CompileError) as caught:
        cuda.build(text, backend="cpu")
    first = caught.value.diagnostics[0]
    assert (first.line, first.column) == (2, text.split("\n")[1].index("wrong") + 1)
    assert str(caught.value).startswith("line 2: ")


def test_each_part_has_lines_of_its_own() -> None:
    kernel = "\n\n__global__ void fill(T* a) {\n  a[threadIdx.x] = wrong; }"
    harness = "\nint main() {\n  T* d; cudaMalloc(&d, 8);\n  fill<<<1, 3>>>(d); return cudaDeviceSynchronize(); }"
    parts = {"prelude": "using T = float;\n", "harness": harness}
    assert errors(kernel, **parts) == [(4, "cell", "'wrong' was not declared in this scope")]
    right = kernel.replace("wrong", "1")
    first = errors(right, prelude="using T = floot;", harness=harness)[0]
    assert first[:2] == (1, "prelude")
    assert errors("", **parts)[0][:2] == (4, "harness")
    run = cuda.run(right, backend="cpu", **parts)  # type: ignore[arg-type]
    fault = run.fault("out_of_bounds")
    assert fault is not None and (fault.line, fault.part) == (4, "cell")
    assert fault.memory is not None and fault.memory.name == "d"
    assert (fault.memory.line, fault.memory.part) == (3, "harness")
    assert "(8 bytes)" in fault.message  # and not in which line of a text that nobody sees
    assert (run.launches[0].line, run.launches[0].part) == (4, "harness")
    assert (run.calls[0].line, run.calls[0].part) == (3, "harness")


def test_warnings_are_kept_with_the_build() -> None:
    text = "int main() { int x; return x = 1, 0; }\n#warning look here"
    for _ in range(2):
        program = cuda.build(text, backend="cpu")
        assert [(w.line, w.severity) for w in program.warnings] == [(2, "warning")]


@pytest.mark.parametrize("text", ["", "}", "{", "<<<", "__global__", "\0", "int main( {", "é" * 50])
def test_odd_texts_are_compile_errors(text: str) -> None:
    assert errors(text)


def test_a_launch_inside_a_macro_and_inside_a_template() -> None:
    text = """
template <class T> __global__ void set(T* to, T value) { *to = value; }
#define LAUNCH(kernel, ...) do { kernel<<<1, 1>>>(__VA_ARGS__); } while (0)
template <class T> T through(T value) {
    T *d, back; cudaMalloc(&d, sizeof(T)); LAUNCH(set<T>, d, value);
    cudaMemcpy(&back, d, sizeof(T), cudaMemcpyDeviceToHost); cudaFree(d); return back; }
int main() { return through(40) + (int)through(2.5f); }
"""
    run = cuda.run(text, backend="cpu")
    assert run.exit_code == 42 and len(run.launches) == 2 and not run.faults, run


def test_a_build_is_kept_by_its_content(own_cache: Path) -> None:
    began = time.monotonic()
    first = cuda.build(VEC_ADD, backend="cpu")
    cold = time.monotonic() - began
    again = cuda.build(VEC_ADD, backend="cpu")
    other = cuda.build(VEC_ADD + " ", backend="cpu")
    assert not first.cached and again.cached and not other.cached
    assert again.executable == first.executable != other.executable
    assert again.seconds < 1 and cold < 20  # 0.02 s and 0.5 s on a quiet machine
    assert first.kernels == {"vec_add": 15}
    kinds = {path.name.split("-")[0] for path in own_cache.iterdir()}
    assert kinds == {"guard", "program", "runtime"}
    assert len(list(own_cache.glob("program-*"))) == 2


def test_old_builds_are_forgotten(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "KEPT_BUILDS", 2)
    programs = [cuda.build(f"int main() {{ return {n}; }}", backend="cpu") for n in range(3)]
    assert [p.executable.exists() for p in programs] == [False, True, True]


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(
        cuda.ToolMissing, match=r"no g\+\+ or clang\+\+ here: .*apt-get install g\+\+"
    ):
        cuda.build(VEC_ADD, backend="cpu")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 1", "does not run"),
        (
            '[ "$1" = --version ] && echo g++ 12 && exit 0; echo "internal error: no" >&2; exit 1',
            "cannot compile the course's own guard.cpp: internal error: no",
        ),
        (
            '[ "$1" = --version ] && echo g++ 12 && exit 0; kill -9 $$',
            "cannot compile the course's own",
        ),
    ],
)
def test_a_compiler_that_fails(
    script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    broken = tmp_path / "g++"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    with pytest.raises(cuda.ToolMissing, match=says):
        cuda.build(VEC_ADD, backend="cpu")
    assert not list(builder.cache_directory().glob("building-*"))


def test_a_text_that_compiles_without_end(own_cache: Path) -> None:
    text = "template <int N> struct F { static const int v = F<N - 1>::v + F<N - 2>::v; };\n"
    text += '#include "/dev/zero"\n' + MAIN
    began = time.monotonic()
    with pytest.raises(cuda.CompileError):
        cuda.build(text, backend="cpu", seconds=3)
    assert time.monotonic() - began < 30
    assert not list(own_cache.glob("building-*"))


def test_no_cache_folder_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert builder.cache_directory().is_relative_to(tmp_path / f"cache-{os.getuid()}")


def test_an_unknown_backend() -> None:
    with pytest.raises(ValueError, match="'cpu', 'gpu'"):
        cuda.build(MAIN, backend="tpu")


def test_nvcc_says_where_too() -> None:
    if toolchain.nvcc() is None:
        pytest.skip("no nvcc here")
    with pytest.raises(cuda.CompileError) as caught:
        cuda.check_with_nvcc("__global__ void k(int* a) {\n  a[0] = wrong;\n}", prelude="\n\n")
    first = caught.value.diagnostics[0]
    assert (first.line, first.part, first.text) == (2, "cell", "  a[0] = wrong;")
    assert first.message == 'identifier "wrong" is undefined'


def test_without_nvcc_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "nvcc", lambda: None)
    with pytest.raises(cuda.ToolMissing, match="pip install nvidia-cuda-nvcc"):
        cuda.build(MAIN, backend="gpu")


def test_a_program_for_the_gpu_takes_no_injection() -> None:
    program = cuda.Program({}, Path("/nowhere"), "gpu", (), 0.0, True)
    with pytest.raises(ValueError, match="on the CPU only"):
        cuda.run(program, inject=("malloc", 1))
