"""Each released notebook, with the reference answers, from top to bottom in a real kernel."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.exercise import Lesson
from autograder.exercises import LESSONS
from autograder.notebooks import ROOT, check_id, grade_id, reference

pytestmark = pytest.mark.slow

SECONDS = 90  # on two cores
PATIENCE = 3  # a busy machine is no fault of the notebook


def solved(lesson: Lesson) -> Any:
    path = ROOT / "release" / lesson.name / f"{lesson.name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    names = {exercise.name for exercise in lesson.exercises}
    for cell in notebook.cells:
        if cell.cell_type == "code" and grade_id(cell) in names:
            cell.source = reference(grade_id(cell))
    return notebook


def points_of(cell: Any) -> list[str]:
    """nbgrader reads a check's points from the plain text of its result."""
    return [o.data["text/plain"] for o in cell.outputs if "data" in o]


def pictures_of(cell: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


@pytest.mark.timeout(SECONDS * PATIENCE + 60)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_with_the_reference_answers_every_cell_runs_and_every_check_passes(
    lesson: Lesson, tmp_path: Path
) -> None:
    notebook = solved(lesson)
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    began = time.monotonic()
    client.execute()  # raises at the first cell that does
    seconds = time.monotonic() - began
    print(f"{lesson.name}: {seconds:.0f} s")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell.source for cell in code if pictures_of(cell) > 1], "a picture is shown twice"
    cells = {grade_id(cell): cell for cell in code}
    shown = {e.name: points_of(cells[check_id(e.name)]) for e in lesson.exercises}
    assert shown == {e.name: [f"{e.points:g}"] for e in lesson.exercises}
    assert seconds < SECONDS * PATIENCE
