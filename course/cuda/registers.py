"""Registers, spills and shared memory of kernels, as the real ptxas gives them out: no GPU needed.

Where there is no nvcc, figures that were recorded from one (``recorded.json``, which says from
which) stand in for the texts that they were recorded for.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course.cuda import cells, toolchain

RECORDED = Path(__file__).with_name("recorded.json")
MANY_SUMS = Path(__file__).with_name("many_sums.cu").read_text(encoding="utf-8")  # lesson 01's
ARCHITECTURES = ("sm_80", "sm_89", "sm_90")  # Ampere, Ada, Hopper
_SECONDS = 60

_ENTRY = re.compile(r"Compiling entry function '(?P<symbol>\S+)' for '(?P<arch>\w+)'")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[0\]")


class NoFigures(RuntimeError):
    """There is no nvcc here, and nothing was recorded for this text; says what to install."""


@dataclass(frozen=True)
class Figures:
    """One kernel. ``stack`` are bytes of local memory of a thread, spills among them."""

    name: str
    symbol: str
    registers: int
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    constant: int = 0
    arch: str = ""

    @property
    def local(self) -> int:
        return self.stack


def figures(text: str, arch: str = "sm_80") -> tuple[Figures, ...]:
    """The kernels of a text (or of a ``%%cuda`` cell), in the order in which ptxas names them.

    Raises:
        NoFigures: there is no nvcc, and nothing was recorded for this text.
        ValueError: nvcc refuses the text; the message is its own.
    """
    source = cells.cpp(text)
    nvcc = toolchain.nvcc()
    if nvcc is not None:
        return _compiled(source, arch, nvcc)
    known = _recorded().get(key(source, arch))
    if known is None:
        raise NoFigures(
            "Registers come from NVIDIA's own compiler, and there is no nvcc here: "
            "`pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm` brings one "
            "(it needs no GPU)."
        )
    return tuple(Figures(**fields) for fields in known)


def kernel(text: str, name: str, arch: str = "sm_80") -> Figures:
    """The figures of one kernel.

    Raises:
        LookupError: the text has no kernel of this name.
        NoFigures, ValueError: as :func:`figures`.
    """
    for found in figures(text, arch):
        if found.name == name:
            return found
    raise LookupError(f"There is no kernel {name!r} in this text.")


def table(text: str, archs: Sequence[str] = ARCHITECTURES) -> str:
    """The figures as lines of text, or the sentence that says why there are none."""
    rows: list[tuple[str, ...]] = [
        ("arch", "kernel", "registers", "local memory", "spilled", "shared")
    ]
    try:
        for arch in archs:
            for f in figures(text, arch):
                spilled = f.spill_stores + f.spill_loads
                numbers = (f.registers, f"{f.stack} bytes", f"{spilled} bytes", f"{f.shared} bytes")
                rows.append((arch, f.name, *map(str, numbers)))
    except NoFigures as error:
        return str(error)
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows)


@functools.lru_cache(maxsize=256)
def _compiled(source: str, arch: str, nvcc: str) -> tuple[Figures, ...]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cell.cu").write_text(source, encoding="utf-8")
        command = [nvcc, f"-arch={arch}", "-cubin", "-Xptxas", "-v", "-o", "cell.cubin", "cell.cu"]
        try:
            told = subprocess.run(
                command,
                cwd=folder,
                env=toolchain.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoFigures(f"{nvcc} does not work: {error}") from error
    if told.returncode:
        raise ValueError(told.stderr.strip() or "nvcc failed and did not say why.")
    return parsed(told.stderr + told.stdout)


def parsed(words: str) -> tuple[Figures, ...]:
    """What ``ptxas -v`` says of each kernel."""
    found = []
    parts = re.split(r"(?=Compiling entry function)", words)[1:]
    for part in parts:
        entry, stack, used = _ENTRY.search(part), _STACK.search(part), _USED.search(part)
        if entry is None or used is None:
            continue
        shared, constant = _SHARED.search(part), _CONSTANT.search(part)
        found.append(
            Figures(
                name=_base_name(entry["symbol"]),
                symbol=entry["symbol"],
                registers=int(used["registers"]),
                stack=int(stack["stack"]) if stack else 0,
                spill_stores=int(stack["stores"]) if stack else 0,
                spill_loads=int(stack["loads"]) if stack else 0,
                shared=int(shared[1]) if shared else 0,
                constant=int(constant[1]) if constant else 0,
                arch=entry["arch"],
            )
        )
    return tuple(found)


def _base_name(symbol: str) -> str:
    """``vec_add`` of ``_Z7vec_addPKfS0_Pfi``: the Itanium C++ ABI writes a name after its length.

    Of nested names the last; of plain C the name itself.
    """
    rest = symbol[2:] if symbol.startswith("_Z") else ""
    nested = rest.startswith("N")
    rest, name = rest[1:] if nested else rest, symbol
    while rest and (rest[0].isdigit() or rest[0] == "L"):
        rest = rest.lstrip("L")
        digits = len(rest) - len(rest.lstrip("0123456789"))
        length = int(rest[:digits] or 0)
        name, rest = rest[digits : digits + length], rest[digits + length :]
        if not nested:
            break
    return name


# --- recorded figures ---------------------------------------------------------------------------


def key(source: str, arch: str) -> str:
    """Under this key a text's figures are recorded; blanks and empty lines do not matter."""
    squeezed = "\n".join(" ".join(line.split()) for line in source.splitlines() if line.strip())
    return f"{arch}-{hashlib.sha256(squeezed.encode()).hexdigest()[:16]}"


@functools.cache
def _recorded() -> dict[str, list[dict[str, Any]]]:
    if not RECORDED.is_file():
        return {}
    return json.loads(RECORDED.read_text(encoding="utf-8"))["figures"]


def record(texts: list[str]) -> None:
    """Write the figures of these texts for all architectures; needs nvcc."""
    nvcc = toolchain.nvcc()
    if nvcc is None:
        raise NoFigures("Recording needs nvcc.")
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    found = {
        key(cells.cpp(text), arch): [asdict(f) for f in figures(text, arch)]
        for text in texts
        for arch in ARCHITECTURES
    }
    told = {"nvcc": version.strip().splitlines()[-1], "figures": found}
    RECORDED.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
