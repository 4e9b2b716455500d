"""From CUDA C++ text to an executable, kept by the content of all that went into it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from course.cuda import diagnostics, toolchain
from course.cuda.outcome import Diagnostic
from course.cuda.process import Limits, call
from course.cuda.rewrite import Rewritten, as_it_is, rewrite
from course.cuda.source import function_names, parse
from course.cuda.toolchain import Compiler, ToolMissing, cpu_compiler

CPU = Path(__file__).parent / "cpu"
PARTS = ("prelude", "cell", "harness")
BASE = ("-std=c++17", "-g1", "-gdwarf-4", "-fPIE", "-pthread")
COMPILE_SECONDS = 60.0
KEPT_BUILDS = 300
_COMPILER_LIMITS = Limits(output=1 << 20, memory=0, addresses=4 << 30)

T = TypeVar("T")


class CompileError(ValueError):
    """The text is no CUDA C++. ``diagnostics`` say where, in the text's own lines."""

    def __init__(self, found: tuple[Diagnostic, ...]) -> None:
        first = next((d for d in found if d.severity == "error"), found[0])
        of = "" if first.part == "cell" else f" of the {first.part}"
        where = f"line {first.line}{of}: " if first.line else ""
        super().__init__(f"{where}{first.message}")
        self.diagnostics = found


@dataclass(frozen=True)
class Program:
    """A text and its executable. ``seconds`` is what building took; ``cached`` if next to none.

    ``parts`` are the texts that it was made of, by name: prelude, cell, harness.
    """

    parts: Mapping[str, Rewritten]
    executable: Path
    backend: str  # "cpu" or "gpu"
    warnings: tuple[Diagnostic, ...]
    seconds: float
    cached: bool

    @property
    def kernels(self) -> dict[str, int]:
        """The kernels of the cell, and the lines that they begin at."""
        return dict(self.parts["cell"].kernels)

    def line_text(self, part: str, line: int | None) -> str:
        return self.parts[part].line(line) if line and part in self.parts else ""


def cache_directory() -> Path:
    """``$XDG_CACHE_HOME/multi-gpu-course/cuda``; a temporary folder where that cannot be made."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for folder in (Path(base), Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"):
        place = folder / "multi-gpu-course" / "cuda"
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    raise ToolMissing("There is no folder in which compiled programs could be kept: set TMPDIR.")


def build(
    source: str,
    *,
    prelude: str = "",
    harness: str = "",
    backend: str | None = None,
    arch: str | None = None,
    seconds: float = COMPILE_SECONDS,
) -> Program:
    """Compile CUDA C++: with nvcc where there are a GPU and nvcc, else for the CPU with g++.

    ``prelude`` stands before the source and ``harness`` after it, each with lines of its own.

    Raises:
        CompileError: the text is wrong, or takes longer than ``seconds``.
        ToolMissing: there is no compiler, or it fails on the course's own files.
    """
    if backend not in (None, "cpu", "gpu"):
        raise ValueError(f"backend is {backend!r}; it is 'cpu', 'gpu', or None to choose.")
    texts = dict(zip(PARTS, (prelude, source, harness), strict=True))
    chosen = backend or toolchain.best_backend()
    return build_gpu(texts, arch, seconds) if chosen == "gpu" else build_cpu(texts, seconds)


def has_main(source: str) -> bool:
    """Whether the text has a function ``main``."""
    return "main" in function_names(parse(source.encode("utf-8", "replace")))


def _joined(texts: Mapping[str, bytes], first: str) -> bytes:
    parts = [first.encode()]
    for name, text in texts.items():
        if text:
            parts.append(f'#line 1 "{name}.cu"\n'.encode() + text + b"\n")
    return b"".join(parts)


# ------------------------------------------------------------------ for the CPU


def build_cpu(texts: Mapping[str, str], seconds: float = COMPILE_SECONDS) -> Program:
    began = time.monotonic()
    compiler = cpu_compiler()
    parts = {name: rewrite(text) for name, text in texts.items()}
    found = diagnostics.refused_by_nvcc(parts)
    if found:
        raise CompileError(found)
    # Without a return g++ makes code that runs on into whatever comes next.
    flags = (*BASE, "-O1", "-Werror=return-type", *compiler.instrument)
    place = (
        cache_directory()
        / f"program-{_key(compiler.version, *flags, _sources_key(), *texts.values())}"
    )
    cached = place.is_dir()
    if not cached:
        _build(compiler, flags, parts, place, seconds)
    return _program(parts, place, "cpu", cached, began)


def _program(
    parts: Mapping[str, Rewritten], place: Path, backend: str, cached: bool, began: float
) -> Program:
    told = json.loads((place / "warnings.json").read_text())
    os.utime(place)
    return Program(
        parts=parts,
        executable=place / "program",
        backend=backend,
        warnings=tuple(Diagnostic(**fields) for fields in told),
        seconds=time.monotonic() - began,
        cached=cached,
    )


def _build(
    compiler: Compiler,
    flags: tuple[str, ...],
    parts: Mapping[str, Rewritten],
    place: Path,
    seconds: float,
) -> None:
    guarded = guard(compiler)
    runtime = _Background(lambda: runtime_object(compiler))
    with _work_folder() as folder:
        work = Path(folder)
        texts = {name: part.text for name, part in parts.items()}
        (work / "program.cpp").write_bytes(_joined(texts, '#include "cuda_runtime.h"\n'))
        include = (f"-I{CPU / 'include'}", "-fdiagnostics-plain-output", *compiler.few_errors, "-c")
        command = [compiler.path, *flags, *include, "program.cpp", "-o", "program.o"]
        try:
            compiled = _call(guarded, command, work, seconds)
            found = diagnostics.compiler_errors(compiled.stderr, parts)
            if compiled.code != 0:
                raise CompileError(found or diagnostics.unexplained(compiled.stderr))
        finally:
            object_file = runtime.result()
        objects = ["program.o", str(object_file)]
        link = [compiler.path, *BASE, "-pie", "-rdynamic", *objects, "-ldl", "-o", "program"]
        linked = _call(guarded, link, work, seconds)
        if linked.code != 0:
            raise CompileError(diagnostics.from_linker(linked.stderr))
        _keep(work, place, found)


def _keep(work: Path, place: Path, found: tuple[Diagnostic, ...]) -> None:
    for file in work.iterdir():
        if file.name != "program":
            file.unlink()
    (work / "warnings.json").write_text(json.dumps([vars(d) for d in found]))
    _move(work, place)
    _prune(place.parent)


def _work_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=cache_directory(), prefix="building-")


def runtime_object(compiler: Compiler) -> Path:
    """The compiled runtime, which is the same for all programs."""
    source = CPU / "runtime" / "runtime.cpp"
    flags = (*BASE, "-O1", f"-I{CPU / 'include'}", "-c")
    return _own_file(compiler, "runtime", ".o", source, flags)


def guard(compiler: Compiler) -> Path:
    """The program that other programs run under (see :mod:`course.cuda.process`)."""
    return _own_file(compiler, "guard", "", CPU / "guard.cpp", ("-std=c++17", "-O1"))


def _own_file(
    compiler: Compiler, name: str, suffix: str, source: Path, flags: tuple[str, ...]
) -> Path:
    place = cache_directory() / f"{name}-{_key(compiler.version, *flags, _sources_key())}{suffix}"
    if place.exists():
        return place
    with _work_folder() as folder:
        made = Path(folder) / "made"
        command = [compiler.path, *flags, str(source), "-o", str(made)]
        told = _call(None, command, Path(folder), COMPILE_SECONDS)
        if told.code != 0:
            raise ToolMissing(
                f"The C++ compiler {compiler.path} cannot compile the course's own {source.name}: "
                f"{_first_error(told.stderr)}"
            )
        os.replace(made, place)
    return place


def _first_error(stderr: str) -> str:
    rows = [row for row in stderr.splitlines() if row.strip()]
    return next((row for row in rows if "error" in row), rows[0] if rows else "it says nothing")


@dataclass(frozen=True)
class _Told:
    code: int
    stderr: str


def _call(guarded: Path | None, command: list[str], work: Path, seconds: float) -> _Told:
    """Run a compiler. Raises CompileError if it takes too long or too much memory."""
    try:
        ended = call(guarded, command, work, toolchain.environment(), seconds, _COMPILER_LIMITS)
    except OSError as error:
        raise ToolMissing(f"The compiler {command[0]} does not run: {error}") from error
    if ended.how == "failed":
        raise ToolMissing(f"The compiler {command[0]} does not run: {os.strerror(ended.number)}")
    if ended.how == "time":
        late = Diagnostic("error", f"Compiling was ended after {seconds:g} seconds.", None)
        raise CompileError((late,))
    stderr = ended.stderr.decode("utf-8", "replace")
    if ended.how == "signal":
        stderr += f"\nerror: {command[0]} was ended by signal {ended.number}"
    return _Told(ended.number if ended.how == "exit" else 1, stderr)


# ------------------------------------------------------------------ for the GPU


def build_gpu(
    texts: Mapping[str, str], arch: str | None = None, seconds: float = COMPILE_SECONDS
) -> Program:
    """With nvcc, for the machine's own GPU or for ``arch`` (``"sm_80"``)."""
    began = time.monotonic()
    nvcc = toolchain.nvcc()
    if nvcc is None:
        raise ToolMissing(
            "There is no nvcc: `pip install nvidia-cuda-nvcc` brings it, or install NVIDIA's CUDA "
            "toolkit."
        )
    flags = ("-std=c++17", "-O2", "-lineinfo", "--extended-lambda", f"-arch={arch or 'native'}")
    version = toolchain.nvcc_version(nvcc, os.stat(nvcc).st_mtime_ns)
    place = cache_directory() / f"gpu-{_key(nvcc, version, *flags, *texts.values())}"
    cached = place.is_dir()
    parts = {name: as_it_is(text) for name, text in texts.items()}
    if not cached:
        _nvcc(
            nvcc,
            (*toolchain.nvcc_library_flags(nvcc), "-o", "program"),
            flags,
            parts,
            place,
            seconds,
        )
    return _program(parts, place, "gpu", cached, began)


def check_with_nvcc(
    source: str,
    *,
    prelude: str = "",
    harness: str = "",
    arch: str = "sm_80",
    seconds: float = COMPILE_SECONDS,
) -> tuple[Diagnostic, ...]:
    """Compile with nvcc and keep nothing; needs no GPU and no ``main``. Returns the warnings.

    Raises:
        CompileError: nvcc refuses the text.
        ToolMissing: there is no nvcc.
    """
    nvcc = toolchain.nvcc()
    if nvcc is None:
        raise ToolMissing("There is no nvcc: `pip install nvidia-cuda-nvcc` brings it.")
    texts = dict(zip(PARTS, (prelude, source, harness), strict=True))
    parts = {name: as_it_is(text) for name, text in texts.items()}
    flags = ("-std=c++17", "--extended-lambda", f"-arch={arch}")
    return _nvcc(nvcc, ("-c", "-o", "program"), flags, parts, None, seconds)


def _nvcc(
    nvcc: str,
    output: tuple[str, ...],
    flags: tuple[str, ...],
    parts: Mapping[str, Rewritten],
    place: Path | None,
    seconds: float,
) -> tuple[Diagnostic, ...]:
    guarded = guard(cpu_compiler())
    with _work_folder() as folder:
        work = Path(folder)
        texts = {name: part.source for name, part in parts.items()}
        (work / "program.cu").write_bytes(_joined(texts, ""))
        command = [nvcc, *flags, "program.cu", *output]
        told = _call(guarded, command, work, seconds)
        found = diagnostics.nvcc_errors(told.stderr, parts)
        if told.code != 0:
            raise CompileError(found or diagnostics.from_linker(told.stderr))
        if place is not None:
            _keep(work, place, found)
    return found


# ------------------------------------------------------------------ keeping


class _Background(Generic[T]):
    """A function in a thread of its own: two compilers run at once where there are two cores."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._values.append(self._function())
        except BaseException as error:
            self._error = error

    def result(self) -> T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._values[0]


def warm_up() -> None:
    """Compile what all programs share, so that the first of them need not wait for it."""
    compiler = cpu_compiler()
    guard(compiler)
    runtime_object(compiler)


@cache
def _sources_key() -> str:
    files = sorted(path for path in CPU.rglob("*") if path.suffix in (".h", ".cpp"))
    return _key(*(path.read_text() for path in files))


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _move(work: Path, place: Path) -> None:
    """Into its place, at once; who came second leaves the first one's."""
    finished = place.with_name(f"building-{place.name}.{os.getpid()}.{threading.get_ident()}")
    shutil.copytree(work, finished)
    try:
        os.rename(finished, place)
    except OSError:
        shutil.rmtree(finished, ignore_errors=True)


def _prune(folder: Path) -> None:
    """Forget the builds that were used longest ago."""
    found = [*folder.glob("program-*"), *folder.glob("gpu-*")]
    for old in sorted(found, key=_age)[KEPT_BUILDS:]:
        shutil.rmtree(old, ignore_errors=True)
    for left in folder.glob("building-*"):  # of a process that was killed
        if _age(left) > 3600:
            shutil.rmtree(left, ignore_errors=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def text_file(name: str, text: str) -> Path:
    """A file of the cache with this text."""
    place = cache_directory() / f"{name}-{_key(text)}.txt"
    if not place.exists():
        with _work_folder() as folder:
            made = Path(folder) / "made"
            made.write_text(text)
            os.replace(made, place)
    return place
