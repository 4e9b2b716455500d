"""The compilers of this machine: g++ or clang++ for the CPU, nvcc and ptxas for the GPU."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


class ToolMissing(RuntimeError):
    """No compiler, or one that does not work. No fault of the program that was to be compiled."""


@dataclass(frozen=True)
class Compiler:
    path: str
    kind: str  # "gcc" or "clang"
    version: str

    @property
    def few_errors(self) -> tuple[str, ...]:
        return ("-ferror-limit=20",) if self.kind == "clang" else ("-fmax-errors=20",)

    @property
    def instrument(self) -> tuple[str, ...]:
        """Flags that make it call the runtime before each memory access of the program."""
        checks = ("-fsanitize=thread", "-fsanitize=bounds,signed-integer-overflow")
        if self.kind == "clang":
            return (*checks, "-mllvm", "-tsan-instrument-func-entry-exit=0")
        return (
            *checks,
            "--param=tsan-instrument-func-entry-exit=0",
            "--param=tsan-distinguish-volatile=1",
        )


def cpu_compiler() -> Compiler:
    """The C++ compiler: ``$CXX``, else g++, else clang++.

    Raises:
        ToolMissing: there is none, or it cannot say its version.
    """
    if sys.platform != "linux":
        raise ToolMissing(
            "CUDA on the CPU runs on Linux only: on Windows in WSL2, on a Mac in a container."
        )
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "clang++"]
    found = next(filter(None, map(shutil.which, wanted)), None)
    if found is None:
        raise ToolMissing(
            f"CUDA on the CPU needs a C++ compiler, and there is no {' or '.join(wanted)} here: "
            "on Debian and Ubuntu, `sudo apt-get install g++` brings it."
        )
    return _identify(found, os.stat(found).st_mtime_ns)


@functools.cache
def _identify(path: str, _changed: int) -> Compiler:
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissing(f"The C++ compiler {path} does not run: {error}") from error
    kind = "clang" if "clang" in told else "gcc"
    return Compiler(path, kind, f"{told.splitlines()[0] if told else ''} {platform.machine()}")


def environment() -> dict[str, str]:
    """What compilers see of ours: English messages, and what tells them where things are."""
    names = ("PATH", "HOME", "TMPDIR", "CUDA_HOME", "CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH")
    return {**{n: os.environ[n] for n in names if n in os.environ}, "LC_ALL": "C"}


def nvcc() -> str | None:
    """nvcc of the course's environment (PyPI's or conda's), on PATH, or in the usual place."""
    folders = [folder / "bin" for folder in _pypi_folders()]
    folders.append(Path(sys.prefix) / "bin")
    path = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    usual = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"
    return next(filter(None, map(_nvcc_in, [*folders, *path, usual])), None)


def _nvcc_in(folder: Path) -> str | None:
    return shutil.which("nvcc", path=str(folder))


def nvcc_library_flags(path: str) -> tuple[str, ...]:
    """PyPI's packages keep the libraries where nvcc itself does not look for them."""
    folder = Path(path).resolve().parent.parent / "lib"
    return (f"-L{folder}",) if (folder / "libcudart_static.a").exists() else ()


def _pypi_folders() -> list[Path]:
    """``nvidia/cu13`` of the packages for CUDA 13, ``nvidia/cuda_nvcc`` of older ones."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    roots = [Path(root) for root in spec.submodule_search_locations or []] if spec else []
    folders = [(*sorted(root.glob("cu[0-9]*"), reverse=True), root / "cuda_nvcc") for root in roots]
    return [folder for group in folders for folder in group]


@functools.cache
def nvcc_version(path: str, _changed: int) -> str:
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissing(f"The CUDA compiler {path} does not run: {error}") from error
    return told


def best_backend() -> str:
    """``"gpu"`` where there are a GPU and nvcc, else ``"cpu"``."""
    if not any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/dxg")):
        return "cpu"
    from course.machine import this_machine

    return "gpu" if this_machine().gpus and nvcc() else "cpu"
