"""``%%cuda`` cells as text: what is C++ in them, what they define, and the ones that were run."""

from __future__ import annotations

import re
from typing import Any

from course.cuda.source import Node, functions, name_in, parse, text, walk

MAGIC = "%%cuda"
_COMMENT = "comment"


class NoCell(LookupError):
    """No ``%%cuda`` cell that was run defines the name; the message says what to do."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence alone. No frame of ours would help."""
        return [str(self)]


def is_cuda(cell: str) -> bool:
    """Whether this is the text of a ``%%cuda`` cell."""
    words = cell.lstrip().split(None, 1)
    return bool(words) and words[0] == MAGIC


def cpp(cell: str) -> str:
    """The C++ of a cell, each line where it stands in the cell: the magic's is left empty."""
    if not is_cuda(cell):
        return cell
    before, after = cell.split(MAGIC, 1)
    return before + "".join(after.partition("\n")[1:])


def defines(name: str, cell: str) -> bool:
    """Whether the cell has a function, or a macro, of this name."""
    root = parse(cpp(cell).encode("utf-8", "replace"))
    return definition(name, root) is not None


def is_macro(name: str, cell: str) -> bool:
    """Whether what the cell defines by this name is a macro."""
    found = definition(name, parse(cpp(cell).encode("utf-8", "replace")))
    return found is not None and found.type.startswith("preproc")


def definition(name: str, root: Node) -> Node | None:
    """The last function with a body, or macro, of this name."""
    found = [f for f in functions(root) if _name_of(f) == name]
    macros = walk(root, "preproc_function_def", "preproc_def")
    found += [m for m in macros if text(m.child_by_field_name("name")) == name]
    return found[-1] if found else None


def _name_of(function: Node) -> str:
    name = name_in(function.child_by_field_name("declarator"))
    return text(name) if name is not None else ""


def defined(root: Node) -> list[str]:
    """The names of the functions that have a body."""
    return [name for name in map(_name_of, functions(root)) if name]


def is_empty(node: Node) -> bool:
    """Whether nothing but comments and ``#include`` stands in a body, or in a whole text."""
    kinds = (_COMMENT, "preproc_include")
    return all(child.type in kinds for child in node.named_children)


def last_cell(name: str) -> str:
    """The ``%%cuda`` cell that was run last of those that define this name, as it was typed.

    Raises:
        NoCell: there is none.
    """
    for cell in reversed(_typed_cells()):
        if is_cuda(cell) and defines(name, cell):
            return cell
    raise NoCell(f"{name} is not defined yet: run the %%cuda cell that defines it first.")


def last_mention(name: str) -> str | None:
    """The ``%%cuda`` cell that was run last of those in which this name stands."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return next((c for c in reversed(_typed_cells()) if is_cuda(c) and word.search(c)), None)


def _typed_cells() -> list[str]:
    try:
        from IPython import get_ipython
    except ImportError:
        return []
    shell: Any = get_ipython()
    return [str(cell) for cell in shell.history_manager.input_hist_raw] if shell else []
