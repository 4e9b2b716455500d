"""What students hand in: each submission as a file, what it is worth, and what it must be told."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.exercises import collectives
from autograder.notebooks import check_id, reference

LESSON = collectives.LESSON
NAMES = [exercise.name for exercise in LESSON.exercises]
FIRST = NAMES[0]  # the exercise whose cells are tampered with

Notebook = dict[str, Any]
Cell = dict[str, Any]


@dataclass(frozen=True)
class Submission:
    """``right`` are the exercises that earn all points, the others earn none.

    ``says`` must all stand in the graded notebook, whose student reads them.
    """

    student: str
    content: bytes
    right: list[str] = field(default_factory=lambda: NAMES)
    says: tuple[str, ...] = ()
    filename: str = f"{LESSON.name}.ipynb"


def wrong(name: str, body: str = "return None") -> str:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"def {name}(*arguments):\n{lines}\n"


DEADLOCK = """\
if dist.get_world_size() > 1:
    dist.recv(torch.empty(1), src=(dist.get_rank() + 1) % dist.get_world_size())"""


def all_submissions(released: Notebook) -> list[Submission]:
    return [*answered(released), *tampered(released), *broken(released)]


def answered(released: Notebook) -> Iterator[Submission]:
    """Whole notebooks with good and bad answers."""

    def one(student: str, text: str, right: bool, *says: str) -> Submission:
        content = packed(solved(released, {FIRST: text}))
        return Submission(student, content, NAMES if right else NAMES[1:], says)

    half = len(NAMES) // 2
    answers = {name: wrong(name) for name in NAMES[half:]}
    yield Submission("perfect", packed(solved(released)))
    yield Submission("empty", packed(released), right=[], says=("has not been written yet",))
    yield Submission("half", packed(solved(released, answers)), right=NAMES[:half])
    yield one("deadlock", wrong(FIRST, DEADLOCK), False, "Deadlock", "rank 0 waits in recv")
    yield one("exit", wrong(FIRST, "import sys\nsys.exit(0)"), False, "sys.exit(0) at line 3")
    yield one("hard_exit", wrong(FIRST, "import os\nos._exit(0)"), False, "left with exit code 0")
    yield one("syntax", f"def {FIRST}(:\n    pass", False, "line 1")
    noise = "\nimport sys\nprint('careful!', file=sys.stderr)"
    yield one("noisy", reference(FIRST) + noise, True)
    odd = "\n# \x1b[31mred\x1b[0m, a snake 🐍, half a pair \ud83d\n"
    yield one("odd_characters", reference(FIRST) + odd, True)
    yield one("windows", reference(FIRST).replace("\n", "\r\n"), True)
    yield one("nul", reference(FIRST) + "\n# \0", False, "null byte")


def tampered(released: Notebook) -> Iterator[Submission]:
    """Right answers in notebooks whose cells and metadata are not what was released."""

    def one(
        student: str, change: Callable[[Notebook], None], *says: str, right: list[str] = NAMES
    ) -> Submission:
        notebook = solved(released)
        change(notebook)
        return Submission(student, packed(notebook), right, says)

    def copied_answer(notebook: Notebook) -> None:
        place, answer = find(notebook, FIRST)
        notebook["cells"].insert(place, answer | {"source": wrong(FIRST)})

    def copied_check(notebook: Notebook) -> None:
        place, check = find(notebook, check_id(FIRST))
        notebook["cells"].insert(place, copy.deepcopy(check))

    def no_answer(notebook: Notebook) -> None:
        del notebook["cells"][find(notebook, FIRST)[0]]

    def no_check(notebook: Notebook) -> None:
        del notebook["cells"][find(notebook, check_id(FIRST))[0]]

    def forged_check(notebook: Notebook) -> None:
        _, answer = find(notebook, FIRST)
        answer["source"] = wrong(FIRST)
        _, check = find(notebook, check_id(FIRST))
        check["source"] = "100"
        data = {"text/plain": ["100"]}
        check["outputs"] = [
            {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}
        ]

    def more_points(notebook: Notebook) -> None:
        find(notebook, check_id(FIRST))[1]["metadata"]["nbgrader"]["points"] = 1000

    def other_kernel(notebook: Notebook) -> None:
        notebook["metadata"]["kernelspec"] = {"name": "julia", "display_name": "Julia"}

    def below(notebook: Notebook) -> None:
        place, answer = find(notebook, FIRST)
        new = {**copy.deepcopy(answer), "metadata": {}}
        answer["source"] = find(released, FIRST)[1]["source"]
        notebook["cells"].insert(place + 1, new)

    def markdown(notebook: Notebook) -> None:
        _, answer = find(notebook, FIRST)
        answer["cell_type"] = "markdown"
        del answer["outputs"], answer["execution_count"]

    def big(notebook: Notebook) -> None:
        text = "x" * 5_000_000
        notebook["cells"][0] |= {"attachments": {}}
        _, check = find(notebook, check_id(FIRST))
        check["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
        notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"a": text}}

    def nonsense(notebook: Notebook) -> None:
        notebook |= {"nbformat": 99, "nbformat_minor": "x"}
        notebook["metadata"] = {"language": 3, "kernelspec": "none"}
        notebook["cells"] += [3, {}, {"cell_type": "x", "metadata": {"nbgrader": 1}, "source": 1}]

    yield one("copied_answer", copied_answer, "twice")
    yield one("copied_check", copied_check)
    yield one("no_answer", no_answer, "was not in the notebook", right=NAMES[1:])
    yield one("no_check", no_check)
    yield one("forged_check", forged_check, right=NAMES[1:])
    yield one("more_points", more_points)
    yield one("other_kernel", other_kernel)
    yield one("below", below, "not from the answer cell")
    yield one("markdown", markdown, "had become a markdown cell")
    yield one("big", big)
    yield one("nonsense", nonsense)


def broken(released: Notebook) -> Iterator[Submission]:
    """Files that are no notebook, or are not where one is expected."""

    def none(student: str, content: bytes, *says: str) -> Submission:
        return Submission(student, content, [], ("could not be read", *says))

    whole = packed(solved(released))
    conflict = whole.replace(b' "cells"', b'<<<<<<< HEAD\n "cells"', 1)
    yield none("truncated", whole[: len(whole) * 2 // 3], "ends in the middle")
    yield none("zero_bytes", b"", "empty")
    yield none("zeros", b"\0" * 4096, "zero bytes")
    yield none("web_page", b"<!DOCTYPE html>\n<html></html>", "web page")
    yield none("zip", b"PK\3\4 and so on", "ZIP")
    yield none("latin", whole[:40] + b"\xe9\xff" + whole[40:], "not text")
    yield none("conflict", conflict, "git")
    yield none("list", b"[1, 2]", "no cells")
    yield none("deep", b"[" * 200_000, "nested")
    yield Submission(
        "renamed", whole, says=("(1).ipynb` was graded",), filename=f"{LESSON.name} (1).ipynb"
    )


def solved(released: Notebook, instead: dict[str, str] | None = None) -> Notebook:
    """The released notebook with the reference answers, or others."""
    notebook = copy.deepcopy(released)
    for name in NAMES:
        find(notebook, name)[1]["source"] = (instead or {}).get(name) or reference(name)
    return notebook


def find(notebook: Notebook, grade_id: str) -> tuple[int, Cell]:
    for place, cell in enumerate(notebook["cells"]):
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id:
            return place, cell
    raise LookupError(grade_id)


def packed(notebook: Notebook) -> bytes:
    """As JupyterLab saves it; half a surrogate pair is written as JSON spells it."""
    try:
        return json.dumps(notebook, indent=1, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(notebook, indent=1).encode()
