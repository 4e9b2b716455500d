"""CUDA C++ into what g++ understands, with every line where it was.

Four things of CUDA are no C++: launches, kernels (whose body runs elsewhere than where they are
called), ``__shared__`` variables, and variables of the device. They are found in the syntax tree
and rewritten to calls of ``cpu/include/launch.h``; everything else is macros there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from course.cuda.source import (
    Node,
    ParserMissing,
    functions,
    leaves,
    line,
    name_in,
    parse,
    qualifiers,
    text,
    walk,
)

_ALLOCATORS = {"cudaMalloc", "cudaMallocHost", "cudaHostAlloc", "cudaMallocManaged"}
_ALLOCATORS |= {"cudaMallocAsync", "cudaMallocPitch"}


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` of the source become ``new``."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True)
class Rewritten:
    """The C++ text, and what is needed to speak of it in terms of the source.

    ``pointers`` names what each line allocates: ``{12: ("d_a",)}`` for ``cudaMalloc(&d_a, n)``.
    """

    text: bytes
    source: bytes
    edits: tuple[Edit, ...]
    kernels: dict[str, int]
    pointers: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def line(self, number: int) -> str:
        """A line of the source, counted from 1; empty where there is none."""
        rows = self.source.split(b"\n")
        return rows[number - 1].decode("utf-8", "replace") if 1 <= number <= len(rows) else ""

    def column(self, line_number: int, column: int) -> int:
        """The column in the source for a column in the C++ text; both count bytes from 1."""
        lines = self.text.split(b"\n")
        if not 1 <= line_number <= len(lines):
            return column
        at = sum(len(row) + 1 for row in lines[: line_number - 1]) + column - 1
        old = _old_offset(self.edits, at)
        return old - self.source.rfind(b"\n", 0, old)


def _old_offset(edits: tuple[Edit, ...], at: int) -> int:
    shift = 0
    for edit in edits:
        if at < edit.start + shift:
            break
        if at < edit.start + shift + len(edit.new):
            return edit.start
        shift += len(edit.new) - (edit.end - edit.start)
    return at - shift


def rewrite(source: str) -> Rewritten:
    raw = source.encode("utf-8", "replace")
    root = parse(raw)
    edits = [*_launches(root), *_kernels(root), *_shared(root), *_symbols(root)]
    edits += [*_in_macros(root), *_noinline(root)]
    edits.sort(key=lambda e: (e.start, e.end))
    return Rewritten(
        text=_apply(raw, edits),
        source=raw,
        edits=tuple(edits),
        kernels={_kernel_name(k): line(k) for k in functions(root) if is_kernel(k)},
        pointers=_pointers(root),
    )


def as_it_is(source: str) -> Rewritten:
    """For nvcc, which needs no rewriting; kernels' names are known where the parser is."""
    raw = source.encode("utf-8", "replace")
    try:
        kernels = {_kernel_name(k): line(k) for k in functions(parse(raw)) if is_kernel(k)}
    except ParserMissing:
        kernels = {}
    return Rewritten(raw, raw, (), kernels)


def _apply(raw: bytes, edits: list[Edit]) -> bytes:
    parts, at = [], 0
    for edit in edits:
        parts += [raw[at : edit.start], edit.new]
        at = edit.end
    return b"".join([*parts, raw[at:]])


def is_kernel(function: Node) -> bool:
    return "__global__" in qualifiers(function)


def _kernel_name(function: Node) -> str:
    name = name_in(function.child_by_field_name("declarator"))
    return text(name) if name is not None else "kernel"


# ------------------------------------------------------------------ k<<<grid, block>>>(arguments)


def _launches(root: Node) -> list[Edit]:
    """``k<<<g, b>>>(x)`` becomes ``(configure(g, b), k(x))``."""
    edits = []
    for call in walk(root, "call_expression"):
        triple = next((c for c in call.children if c.type == "kernel_call_syntax"), None)
        if triple is None or not (text(triple).startswith("<<<") and text(triple).endswith(">>>")):
            continue
        function = call.child_by_field_name("function")
        begin = b"(::cuda_cpu::configure(__FILE__, __LINE__, "
        edits.append(Edit(function.start_byte, triple.start_byte + 3, begin))
        edits.append(Edit(triple.end_byte - 3, triple.end_byte, b"), " + function.text))
        edits.append(Edit(call.end_byte, call.end_byte, b")"))
    return edits


def _in_macros(root: Node) -> list[Edit]:
    """Launches in the text of a macro, which the parser leaves as it is."""
    edits = []
    before = b"void f() { "
    for body in walk(root, "preproc_arg"):
        if b"<<<" not in body.text:
            continue
        shift = body.start_byte - len(before)
        for edit in _launches(parse(before + body.text + b"; }")):
            edits.append(Edit(edit.start + shift, edit.end + shift, edit.new))
    return edits


def _noinline(root: Node) -> list[Edit]:
    word = b"__noinline__"
    if word not in root.text:
        return []
    found = (node for node in leaves(root) if node.text == word)
    attribute = b"__attribute__((noinline))"
    return [Edit(node.start_byte, node.end_byte, attribute) for node in found]


# ------------------------------------------------------------------ __global__ void k(...) { ... }


def _kernels(root: Node) -> list[Edit]:
    """The body becomes a closure over the arguments, which the call queues."""
    edits = []
    for kernel in filter(is_kernel, functions(root)):
        body = kernel.child_by_field_name("body")
        bounds = ", ".join(_launch_bounds(kernel))
        known = f'"{_kernel_name(kernel)}", __PRETTY_FUNCTION__, {line(kernel)}, {bounds}'
        begin = (
            f"{{static const ::cuda_cpu::Kernel cuda_cpu_kernel{{{known}}}; "
            "::cuda_cpu::launched(cuda_cpu_kernel, "
            "[=]() mutable __attribute__((always_inline)) -> void {"
        )
        edits.append(Edit(body.start_byte, body.start_byte + 1, begin.encode()))
        edits.append(Edit(body.end_byte - 1, body.end_byte, b"});}"))
    return edits


def _launch_bounds(kernel: Node) -> list[str]:
    bounds = next(walk(kernel, "launch_bounds"), None)
    given = [f"(int)({text(c)})" for c in bounds.named_children] if bounds is not None else []
    return [*given, "0", "0"][:2]


# ------------------------------------------------------------------ __shared__ float s[256];


def _declarations(root: Node, *wanted: str) -> list[tuple[Node, set[str]]]:
    found = ((node, qualifiers(node)) for node in walk(root, "declaration"))
    return [(node, words) for node, words in found if words & set(wanted)]


def _shared(root: Node) -> list[Edit]:
    edits = []
    for node, words in _declarations(root, "__shared__"):
        declarators = node.children_by_field_name("declarator")
        kind = _specifiers(node)
        if "extern" in words:
            inside = any(_is_inside_function(node))
            made = [_dynamic(kind, d, inside) for d in declarators]
        else:
            made = [_static(kind, d) for d in declarators]
        new = " ".join(made) + "\n" * node.text.count(b"\n")
        edits.append(Edit(node.start_byte, node.end_byte, new.encode()))
    return edits


def _specifiers(node: Node) -> str:
    """What stands before the declarators, without what is CUDA's own."""
    first = node.child_by_field_name("declarator")
    before = [c for c in node.children if c.end_byte <= first.start_byte]
    dropped = ("__shared__", "__device__", "static", "extern")
    return " ".join(text(c) for c in before if text(c) not in dropped)


def _is_inside_function(node: Node) -> list[bool]:
    inside, node = [], node.parent
    while node is not None:
        inside.append(node.type == "compound_statement")
        node = node.parent
    return inside


def _static(kind: str, declarator: Node) -> str:
    name = text(name_in(declarator))
    holder = f"cuda_cpu_shared_{name}_{declarator.start_byte}"
    return (
        f"struct {holder} {{ {kind} {_one_line(declarator)}; }}; "
        f'auto& {name} = ::cuda_cpu::shared<{holder}>("{name}").{name};'
    )


def _dynamic(kind: str, declarator: Node, inside: bool) -> str:
    name = name_in(declarator)
    assert name is not None
    start, end = name.start_byte - declarator.start_byte, name.end_byte - declarator.start_byte
    raw = declarator.text
    array = f"{kind} {(raw[:start] + raw[end:]).decode()}"
    if inside:
        return f'auto* {text(name)} = ::cuda_cpu::dynamic_shared_array<{array}>("{text(name)}");'
    return f'static const ::cuda_cpu::DynamicShared<{array}> {text(name)}{{"{text(name)}"}};'


def _one_line(node: Node) -> str:
    return " ".join(text(node).split("\n"))


# ------------------------------------------------------------------ __device__ int counter;


def _symbols(root: Node) -> list[Edit]:
    """A variable of the device makes itself known, right after its declaration."""
    edits = []
    for node, words in _declarations(root, "__device__", "__constant__", "__managed__"):
        if "extern" in words or any(_is_inside_function(node)):
            continue
        flags = [str(word in words).lower() for word in ("__managed__", "__constant__")]
        made = ""
        for declarator in node.children_by_field_name("declarator"):
            if next(walk(declarator, "function_declarator"), None) is not None:
                continue
            name = text(name_in(declarator))
            made += (
                f" static ::cuda_cpu::Symbol cuda_cpu_symbol_{name}{{(const void*)&{name}, "
                f'sizeof({name}), "{name}", {line(node)}, {", ".join(flags)}}};'
            )
        edits.append(Edit(node.end_byte, node.end_byte, made.encode()))
    return edits


# ------------------------------------------------------------------ what cudaMalloc names


def _pointers(root: Node) -> dict[int, tuple[str, ...]]:
    names: dict[int, list[str]] = {}
    for call in walk(root, "call_expression"):
        if text(call.child_by_field_name("function")).split("<")[0] not in _ALLOCATORS:
            continue
        arguments = call.child_by_field_name("arguments").named_children
        if arguments:
            names.setdefault(line(call), []).append(_pointed(arguments[0]))
    return {at: tuple(found) for at, found in names.items()}


def _pointed(argument: Node) -> str:
    """``d_a`` of ``&d_a`` and of ``(void**)&d_a``."""
    inner = next(walk(argument, "pointer_expression"), None)
    return text(inner.child_by_field_name("argument")) if inner is not None else text(argument)
