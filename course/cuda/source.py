"""CUDA C++ text parsed with tree-sitter's CUDA grammar."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from course.cuda.toolchain import ToolMissing

Node = Any  # tree_sitter.Node


class ParserMissing(ToolMissing):
    """The packages tree-sitter and tree-sitter-cuda are not installed."""


@cache
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_cuda
    except ImportError as error:
        raise ParserMissing(
            "CUDA cells need the packages tree-sitter and tree-sitter-cuda: "
            "`pip install tree-sitter tree-sitter-cuda` brings them."
        ) from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def parse(source: bytes) -> Node:
    """The root of the syntax tree. A text with errors has a tree, too, with ERROR nodes in it."""
    return _parser().parse(source).root_node


def walk(node: Node, *types: str) -> Iterator[Node]:
    """The nodes of these types below (and at) a node, outer ones first."""
    stack = [node]
    while stack:
        here = stack.pop()
        if here.type in types:
            yield here
        stack.extend(reversed(here.children))


def leaves(node: Node) -> Iterator[Node]:
    """The nodes that have no children: the words of the text."""
    stack = [node]
    while stack:
        here = stack.pop()
        if not here.children:
            yield here
        stack.extend(reversed(here.children))


def text(node: Node) -> str:
    return node.text.decode("utf-8", "replace")


def line(node: Node) -> int:
    """Counted from 1."""
    return node.start_point[0] + 1


def qualifiers(node: Node) -> set[str]:
    """``__global__``, ``__shared__``, ``extern`` and the like, of a definition or declaration."""
    return {text(child) for child in node.children if _is_qualifier(child)}


def _is_qualifier(node: Node) -> bool:
    word = text(node) if node.end_byte - node.start_byte < 24 else ""
    return node.type in ("type_qualifier", "storage_class_specifier") or word.startswith("__")


def name_in(declarator: Node) -> Node | None:
    """The identifier that a declarator declares: ``s`` of ``*s[4]``."""
    while declarator is not None and declarator.type != "identifier":
        if declarator.type == "qualified_identifier":
            declarator = declarator.child_by_field_name("name")
            continue
        inner = declarator.child_by_field_name("declarator")
        if inner is None:  # parentheses and references have no such field
            kinds = ("identifier", "_declarator")
            inner = next((c for c in declarator.named_children if c.type.endswith(kinds)), None)
        declarator = inner
    return declarator


def function_names(root: Node) -> set[str]:
    """The names of all functions that have a body."""
    names = (name_in(f.child_by_field_name("declarator")) for f in functions(root))
    return {text(name) for name in names if name is not None}


def functions(root: Node) -> Iterator[Node]:
    """All definitions of functions that have a body."""
    for node in walk(root, "function_definition"):
        body = node.child_by_field_name("body")
        if body is not None and body.type == "compound_statement":
            yield node
