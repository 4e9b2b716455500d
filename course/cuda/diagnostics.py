"""Compile errors in terms of the cell: g++'s, and those that only nvcc would give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from course.cuda.outcome import Diagnostic
from course.cuda.rewrite import Rewritten, is_kernel
from course.cuda.source import Node, functions, line, name_in, parse, qualifiers, text, walk

_ROW = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<rest>.*)$")
_SAID = re.compile(r"^(?P<severity>fatal error|error|warning): (?P<message>.*)$")
Rows = Iterable[tuple[str, int, int | None, str]]
_NOT_HERE = re.compile(
    r"((?:cu|thrust|nv|helper_|mma|cooperative_groups|device_|vector_|sm_)[^:]*): No such file"
)
_MISSING = re.compile(r"expected .* before ")
_CELL, _HARNESS = "cell", "harness"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:.*\\\n)*.*$", re.MULTILINE)
_INTERNAL = re.compile(r"(?:::)?cuda_cpu::|cuda_cpu_")


def _rows(stderr: str) -> Iterator[tuple[str, int, int | None, str]]:
    for row in stderr.splitlines():
        if match := _ROW.match(row):
            column = int(match["column"]) if match["column"] else None
            yield match["file"], int(match["line"]), column, match["rest"]


def compiler_errors(
    stderr: str, parts: Mapping[str, Rewritten], rows: Rows | None = None
) -> tuple[Diagnostic, ...]:
    """The errors and warnings about the parts of a program. One inside a header is the fault of
    the part's line that led there."""
    found: list[Diagnostic] = []
    led_here: tuple[str, int, int | None] | None = None
    for file, at, column, rest in _rows(stderr) if rows is None else rows:
        said = _SAID.match(rest)
        part = _part(file, parts)
        if not said:
            if part and "required from" in rest:
                led_here = (part, at, column)
            continue
        if part is None and led_here is None:
            continue
        where = (part, at, column) if part else led_here
        led_here = None
        if found and "cuda_cpu_shared_" in said["message"]:
            continue  # of an array whose declaration was wrong
        assert where is not None
        found.append(_diagnostic(said, *where, parts))
    errors = [d for d in found if d.severity == "error"]
    if errors:
        ours = [d for d in errors if d.part != _HARNESS] or errors
        errors = [*_open_macros(parts), *ours]
    return tuple((errors or found)[:20])


def _open_macros(parts: Mapping[str, Rewritten]) -> Iterator[Diagnostic]:
    """Macros that end too early: what a compiler says of those helps nobody."""
    of = parts.get(_CELL)
    if of is None:
        return
    source = of.source.decode("utf-8", "replace")
    for match in _DEFINE.finditer(source):
        if match[0].count("{") > match[0].count("}"):
            at = source[: match.end()].count("\n") + 1
            yield Diagnostic(
                "error",
                "the macro ends here, with a `{` still open",
                at,
                text=of.line(at),
                advice="A macro is one line: each of its lines but the last needs a backslash as "
                "its very last character.",
            )


def _part(file: str, parts: Mapping[str, Rewritten]) -> str | None:
    name = os.path.basename(file).removesuffix(".cu")
    return name if name in parts and file.endswith(".cu") else None


def _diagnostic(
    said: re.Match[str],
    part: str,
    at: int,
    column: int | None,
    parts: Mapping[str, Rewritten],
) -> Diagnostic:
    severity = "warning" if said["severity"] == "warning" else "error"
    message = re.sub(r" \[-[Wf][^\]]*\]$", "", said["message"])
    if missing := _NOT_HERE.match(message):
        message = (
            f"`{missing[1]}` is not part of CUDA on the CPU (course/cuda/README.md says what is)"
        )
    column = parts[part].column(at, column) if column else None
    if column and _MISSING.match(message):
        at, column = _where_missing(parts[part], at, column)
    return Diagnostic(
        severity=severity,
        message=_INTERNAL.sub("", message.replace("static assertion failed: ", "")),
        line=at,
        column=column,
        text=parts[part].line(at),
        part=part,
        advice=_advice(message, parts[part].line(at)),
    )


# What the compiler says, what stands in the line, and what helps.
_HELP = (
    (
        r"no matching function for call to .cudaMalloc",
        "",
        "`cudaMalloc` writes the address into your pointer, so it wants the pointer's own: "
        "`cudaMalloc(&d_a, bytes)`.",
    ),
    (
        r"invalid conversion from .const .*\*. to .*\*",
        "cudaMemcpy",
        "The destination comes first, as in C's memcpy: `cudaMemcpy(to, from, bytes, kind)`. What "
        "is `const` can only be a source.",
    ),
    (
        r"void value not ignored|invalid use of void expression|.void. to .",
        "<<<",
        "A launch returns nothing. How it went says `cudaGetLastError()`, right after it.",
    ),
    (
        r"cudaStream_t.* to .size_t|CUstream_st.* to .*(size_t|unsigned long)",
        "<<<",
        "The third argument of a launch is bytes of shared memory, the stream is the fourth: "
        "`<<<grid, block, 0, stream>>>`.",
    ),
    (
        r"return-statement with no value",
        "",
        "In a macro, `return` leaves the function in which it is used. `exit(EXIT_FAILURE)` ends "
        "the program from anywhere.",
    ),
    (
        r"no return statement in function|control reaches end of non-void",
        "",
        "The function promises a value: `return` one on every way through it.",
    ),
)


def _advice(message: str, row: str) -> str:
    return next((a for said, has, a in _HELP if re.search(said, message) and has in row), "")


def _where_missing(of: Rewritten, at: int, column: int) -> tuple[int, int]:
    """The end of the line before, if what is missing is missing before a line's first word."""
    if of.line(at).encode("utf-8", "replace")[: column - 1].strip():
        return at, column
    before = next((n for n in range(at - 1, 0, -1) if of.line(n).strip()), None)
    if before is None:
        return at, column
    return before, len(of.line(before).encode("utf-8", "replace").rstrip()) + 1


_NVCC_ROW = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<rest>(?:fatal )?(?:error|warning).*)$"
)
_NVCC_NUMBER = re.compile(r"(error|warning)\s*(?:#[\w-]+)?: ")


def nvcc_errors(stderr: str, parts: Mapping[str, Rewritten]) -> tuple[Diagnostic, ...]:
    """nvcc's own, and those of the host compiler behind it."""
    rows: list[tuple[str, int, int | None, str]] = []
    for row in stderr.splitlines():
        if match := _NVCC_ROW.match(row):
            said = _NVCC_NUMBER.sub(r"\1: ", match["rest"])
            rows.append((match["file"], int(match["line"]), None, said))
        else:
            rows += _rows(row)
    return compiler_errors("", parts, rows)


def unexplained(stderr: str) -> tuple[Diagnostic, ...]:
    """A compiler that failed without naming a line of the cell."""
    rows = [row for row in stderr.splitlines() if row.strip()]
    said = next((row for row in rows if "error" in row.lower()), rows[-1] if rows else "")
    return (Diagnostic("error", f"The compiler failed: {said or 'it did not say why'}", None),)


def from_linker(stderr: str) -> tuple[Diagnostic, ...]:
    missing = re.findall(r"undefined reference to `([^']*)'", stderr)
    if "main" in missing:
        return (Diagnostic("error", "The program has no function `main`.", None),)
    if missing:
        what = f"`{missing[0]}` is declared, and defined nowhere."
        return (Diagnostic("error", what, None),)
    return unexplained(stderr)


# ------------------------------------------------------------------ what nvcc would refuse


def refused_by_nvcc(parts: Mapping[str, Rewritten]) -> tuple[Diagnostic, ...]:
    """Mistakes about host and device, which g++ does not know of."""
    roots = {name: parse(part.source) for name, part in parts.items() if part.source}
    sides: dict[str, set[str]] = {}
    for function in (f for root in roots.values() for f in functions(root)):
        name = name_in(function.child_by_field_name("declarator"))
        if name is not None:
            sides.setdefault(text(name), set()).update(_sides(function))
    found: list[Diagnostic] = []
    for part, root in roots.items():
        said = [r for function in functions(root) for r in _refused(function, sides)]
        said += _initialised_shared(root)
        found += [_error(node, message, part, parts[part]) for node, message in said]
    return tuple(found)


def _sides(function: Node) -> set[str]:
    words = qualifiers(function) | _outer_words(function)
    if "__global__" in words:
        return {"kernel"}
    if "__device__" in words:
        return {"host", "device"} if "__host__" in words else {"device"}
    return {"host", "device"} if "constexpr" in words else {"host"}


def _outer_words(function: Node) -> set[str]:
    """Of a member function nothing more; the parser puts some words of a template outside."""
    parent = function.parent
    outside = parent is not None and parent.type == "template_declaration"
    return qualifiers(parent) if outside else set()


Refusal = tuple[Node, str]


def _refused(function: Node, sides: Mapping[str, set[str]]) -> Iterator[Refusal]:
    mine = _sides(function)
    name = text(name_in(function.child_by_field_name("declarator")) or function)
    if is_kernel(function) and text(function.child_by_field_name("type") or function) != "void":
        yield function, f"the kernel `{name}` must return void"
    for call in walk(function.child_by_field_name("body"), "call_expression"):
        yield from _refused_call(call, name, mine, sides)


def _refused_call(
    call: Node, caller: str, mine: set[str], sides: Mapping[str, set[str]]
) -> Iterator[Refusal]:
    called = call.child_by_field_name("function")
    if called.type == "template_function":
        called = called.child_by_field_name("name")
    name = text(called)
    theirs = sides.get(name, set()) if called.type == "identifier" else set()
    launched = any(child.type == "kernel_call_syntax" for child in call.children)
    on_device = "kernel" in mine or "device" in mine
    if theirs == {"kernel"} and not launched:
        yield call, f"the kernel `{name}` is called without `<<<grid, block>>>`"
    elif launched and theirs and "kernel" not in theirs:
        yield call, f"`{name}` is launched, and is no `__global__` function"
    elif theirs == {"host"} and on_device and "host" not in mine:
        yield (
            call,
            (
                f"`{name}` is a host function and is called from `{caller}`, which runs on the "
                "device: `__device__` before it makes it one for the device"
            ),
        )
    elif theirs == {"device"} and mine == {"host"}:
        yield call, f"`{name}` is a `__device__` function, and host code cannot call it"


def _initialised_shared(root: Node) -> Iterator[Refusal]:
    for node in walk(root, "declaration"):
        if "__shared__" not in qualifiers(node):
            continue
        if any(d.type == "init_declarator" for d in node.children_by_field_name("declarator")):
            yield (
                node,
                (
                    "a `__shared__` variable cannot be initialised where it is declared: "
                    "let one thread assign, and then synchronise"
                ),
            )


def _error(node: Node, message: str, part: str, of: Rewritten) -> Diagnostic:
    at = line(node)
    return Diagnostic("error", message, at, node.start_point[1] + 1, of.line(at), part)
