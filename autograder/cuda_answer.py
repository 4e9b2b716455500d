"""An answer in CUDA C++: the text of a ``%%cuda`` cell, compiled with a program that calls it.

The program, an exercise's harness, stands below the answer and has ``main``. What it is given and
what it hands back are files, whose names are among its arguments: the answer's results are judged
outside of its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.verdict import Finding, Place
from course import cuda
from course.cuda import cells
from course.cuda.source import parse

CELL = "cell"  # the part of a program that is the answer
RESULTS = "results"
MEMORY_BYTES = 1 << 30
STUB = "// YOUR CODE HERE"  # stands in a released cell where the solution stood

# ``check::input<float>(path)`` is what a case gave as an array; ``check::result(pointer, count)``
# hands one back. A case's arguments are argv[1] and so on.
LIBRARY = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>
namespace check {
template <class T> std::vector<T> input(const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file) exit(98);
    fseek(file, 0, SEEK_END);
    std::vector<T> values((size_t)ftell(file) / sizeof(T));
    rewind(file);
    if (fread(values.data(), sizeof(T), values.size(), file) != values.size()) exit(98);
    fclose(file);
    return values;
}
inline FILE* results() {
    static FILE* file = fopen("results", "wb");
    if (!file) exit(97);
    return file;
}
template <class T> void result(const T* data, size_t count) {
    FILE* file = results();
    unsigned long long head[2] = {sizeof(T), count};
    fwrite(head, sizeof head, 1, file);
    fwrite(data, sizeof(T), count, file);
    fflush(file);
}
}  // namespace check
"""


@dataclass(frozen=True)
class Ran:
    """One run of an answer with its harness, however it ended.

    ``results`` are what the harness handed back, in order, each the bytes of an array.
    """

    run: cuda.CudaRun
    results: tuple[bytes, ...]

    def array(self, number: int, kind: type = np.float32) -> np.ndarray | None:
        """A result, or None where the program did not get as far."""
        if number >= len(self.results):
            return None
        data = self.results[number]
        return np.frombuffer(
            data[: len(data) // np.dtype(kind).itemsize * np.dtype(kind).itemsize], kind
        )


# --- the text, before anything is compiled -----------------------------------------------------


def refused(text: str, name: str) -> Finding | None:
    """Why there is nothing to compile: ``stub`` or ``missing``."""
    root = parse(cells.cpp(text).encode("utf-8", "replace"))
    definition = cells.definition(name, root)
    body = definition.child_by_field_name("body") if definition is not None else None
    if cells.is_empty(root) or (body is not None and cells.is_empty(body)):
        return Finding("stub", f"{name} has not been written yet.")
    if definition is not None:
        return None
    if STUB in text:  # what is given besides the answer is no answer
        return Finding("stub", f"{name} has not been written yet.")
    others = cells.defined(root)
    instead = f" It defines {', '.join(others)}." if others else ""
    return Finding(
        "missing",
        f"This cell does not define {name}.{instead}",
        advice=f"Write {name} in the %%cuda cell above the check.",
    )


def build(text: str, harness: str, backend: str = "cpu") -> cuda.Program:
    """The answer with the harness below it.

    For the CPU, also where there is a GPU: the course's own runtime sees more than a GPU tells,
    and a verdict is then the same on every machine.

    Raises:
        CompileError: the answer is no CUDA C++, or not what the harness calls.
        ToolMissing: there is no compiler.
    """
    return cuda.build(cells.cpp(text), harness=LIBRARY + harness, backend=backend)


_FUNCTION = (
    "Keep the first line of the function as it was given: its name, and the types and order of "
    "its parameters."
)
_MACRO = (
    "A macro that stands for several statements is used like one, also between `if` and `else`: "
    "put them into `do { … } while (0)`, without a semicolon at its end."
)


def not_compiled(error: cuda.CompileError, text: str, name: str) -> Finding:
    """The compiler's words, at the lines of the cell."""
    errors = [d for d in error.diagnostics if d.severity == "error"] or list(error.diagnostics)
    ours = [d for d in errors if d.part == CELL]
    if not ours:
        return Finding(
            "signature",
            f"The check's program cannot use {name} as this cell defines it: "
            f"{errors[0].message.rstrip('.')}.",
            advice=_MACRO if cells.is_macro(name, text) else _FUNCTION,
        )
    places = tuple(
        Place(d.line, d.text, d.message, column=d.column) for d in ours[:4] if d.line is not None
    )
    where = f" in line {ours[0].line}" if ours[0].line else ""
    message = f"The compiler refuses this cell{where}: {ours[0].message.rstrip('.')}."
    advice = next((d.advice for d in ours if d.advice), "")
    return Finding("syntax", message, places=places, advice=advice)


# --- running ------------------------------------------------------------------------------------


def run(
    program: cuda.Program, inputs: Sequence[Any], options: Mapping[str, Any], seconds: float
) -> Ran:
    """Run a built answer: arrays among ``inputs`` become files, all else words of argv.

    ``options`` are keyword arguments of :func:`course.cuda.run`: seed, inject and the like.

    Raises:
        ToolMissing: the program cannot be started.
    """
    files = {f"input-{i}": _bytes(v) for i, v in enumerate(inputs) if isinstance(v, np.ndarray)}
    words = [f"input-{i}" if f"input-{i}" in files else str(v) for i, v in enumerate(inputs)]
    how = {"time_limit": seconds, "memory_limit": MEMORY_BYTES} | dict(options)
    ended = cuda.run(program, args=words, inputs=files, outputs=(RESULTS,), **how)
    return Ran(ended, tuple(_records(ended.files.get(RESULTS, b""))))


def _bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _records(data: bytes) -> Iterator[bytes]:
    """What was handed back; a record that was cut off is left out."""
    at = 0
    while at + 16 <= len(data):
        size, count = (int(n) for n in np.frombuffer(data[at : at + 16], dtype=np.uint64))
        at += 16
        if at + size * count > len(data):
            return
        yield data[at : at + size * count]
        at += size * count
