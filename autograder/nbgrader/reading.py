"""A submitted file, whatever it is, to a small valid notebook, or to what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

MAX_BYTES = 256 * 2**20  # above it, reading would cost the grader gigabytes

NEW_CELL = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}
OTHER_FORMATS = {b"PK": "a ZIP archive", b"%PDF": "a PDF", b"\x1f\x8b": "a gzip archive"}


class Unreadable(ValueError):
    """The file is no notebook; the message tells the student why, in a sentence or two."""


@dataclass(frozen=True)
class Reading:
    """``notebook`` has the text, type and grade_id of each cell, and nothing else.

    ``trouble`` is why nothing could be read (the notebook is then empty), ``note`` what the
    student should know about the file.
    """

    notebook: NotebookNode
    trouble: str = ""
    note: str = ""


def read(path: Path) -> Reading:
    """Read a submission. When ``path`` is missing, its folder's only other notebook is read."""
    try:
        found = _located(path)
        notebook = new_notebook(cells=[_cell(cell) for cell in _cells(_parsed(_bytes(found)))])
    except Unreadable as error:
        return Reading(new_notebook(), trouble=str(error))
    if found == path:
        return Reading(notebook)
    return Reading(notebook, note=f"Your file `{found.name}` was graded as `{path.name}`.")


def expect_lesson_name(assignment: str, student: str, notebooks: list[str]) -> None:
    """nbgrader's pre-convert hook: a lesson's notebook is expected under the lesson's name.

    nbgrader skips a notebook of another name. It asks for the expected one instead, and
    :func:`read` finds what there is.
    """
    from autograder.exercises import LESSONS

    is_lesson = any(lesson.name == assignment for lesson in LESSONS)
    if is_lesson and all(Path(notebook).stem != assignment for notebook in notebooks):
        notebooks[:] = [str(Path(notebooks[0]).with_name(f"{assignment}.ipynb"))]


def _located(path: Path) -> Path:
    if path.exists():
        return path
    others = sorted(path.parent.glob("*.ipynb"))
    if len(others) == 1:
        return others[0]
    names = ", ".join(f"`{other.name}`" for other in others)
    raise Unreadable(f"There is no `{path.name}`; of {names}, it is not clear which to grade.")


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(
                f"The file is larger than {MAX_BYTES // 2**20} MiB: clear the outputs that fill it."
            )
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"The file could not be opened ({error.strerror}).") from None


def _parsed(data: bytes) -> Any:
    if not data.strip():
        raise Unreadable(f"The file is empty ({len(data)} bytes).")
    if not data.strip(b"\0"):
        raise Unreadable("The file holds only zero bytes: it was damaged when saved or copied.")
    for start, name in OTHER_FORMATS.items():
        if data.startswith(start):
            raise Unreadable(f"The file is {name}, whatever its name says.")
    try:
        text = data.decode(json.detect_encoding(data))
        return json.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"Line {line} holds bytes that are not text (UTF-8).") from None
    except json.JSONDecodeError as error:
        raise Unreadable(_what_is_wrong(text, error)) from None
    except RecursionError:
        raise Unreadable("The file's contents are nested too deeply for a notebook.") from None
    except ValueError as error:  # a number of thousands of digits
        raise Unreadable(f"The file holds something that cannot be read ({error}).") from None


def _what_is_wrong(text: str, error: json.JSONDecodeError) -> str:
    line = text.split("\n")[error.lineno - 1]
    if text.lstrip().startswith("<") and not text.startswith("<<<<<<<"):
        return "The file is a web page, not a notebook: download the notebook itself."
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return f"Line {error.lineno} is a conflict that git left when it merged two versions."
    cut = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip()) - 5
    if cut and text.lstrip().startswith("{"):
        lines = text.rstrip("\n").count("\n") + 1
        return f"The file ends in the middle, in line {lines}: it was cut off when saved or sent."
    where = f"line {error.lineno}, character {error.colno}"
    return f"The file is not a notebook (at {where}, as JSON: {error.msg})."


def _cells(data: Any) -> list[dict[str, Any]]:
    if isinstance(data, dict) and isinstance(data.get("worksheets"), list):
        raise Unreadable("The notebook is in a format from before 2015: open it and save it anew.")
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("The file is valid JSON but not a notebook: it has no cells.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _cell(cell: dict[str, Any]) -> NotebookNode:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    new = NEW_CELL.get(str(cell.get("cell_type")), new_raw_cell)
    grade_id = _grade_id(cell)
    label = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return new(_encodable(source if isinstance(source, str) else ""), metadata=label)


def _grade_id(cell: dict[str, Any]) -> str:
    metadata = cell.get("metadata")
    label = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = label.get("grade_id") if isinstance(label, dict) else None
    return _encodable(grade_id) if isinstance(grade_id, str) else ""


def _encodable(text: str) -> str:
    """Halves of surrogate pairs, which JSON can spell and no file can hold, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
