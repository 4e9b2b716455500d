"""The verdict on each answer, written where nbgrader reads points and students read why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Unicode

from autograder.nbgrader.transplant import NOTES
from autograder.nbgrader.verdicts import VerdictStore
from autograder.notebooks import check_id
from autograder.render import as_html
from autograder.verdict import INFRASTRUCTURE, Verdict


class NotJudged(RuntimeError):
    """There is no verdict on an answer, for a reason that is not the student's."""


class Judge(NbGraderPreprocessor):
    """Judges each answer and fills in the output of the cell that checks it."""

    verdicts = Unicode(
        "verdicts",
        help="Folder, below the course's root, of verdicts to use again for the same answer "
        "(empty: judge every answer anew)",
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Fill in the output of each check cell.

        Raises:
            NotJudged: a cell checks no exercise of the course, or the infrastructure failed, not
                the answer. nbgrader then drops this submission's result, goes on with the next,
                ends with an error, and tries this one again in its next run, because it still
                needs autograding. The other way, manual grading, would ask a person to do what
                a second try does.
        """
        store = VerdictStore(self._folder())
        answers = {c.metadata.nbgrader.grade_id: c.source for c in nb.cells if is_solution(c)}
        for cell in nb.cells:
            if is_grade(cell) and not is_solution(cell):  # both: a person grades it
                name = _exercise(cell, answers)
                self._show(store.verdict(name, answers[name]), cell)
        return nb, resources

    def _folder(self) -> Path | None:
        return Path(CourseDirectory(parent=self).root, self.verdicts) if self.verdicts else None

    def _show(self, verdict: Verdict, cell: NotebookNode) -> None:
        if verdict.state == INFRASTRUCTURE:
            why = " ".join(finding.message for finding in verdict.findings)
            raise NotJudged(
                f"{verdict.exercise} could not be judged, through no fault of the answer: {why} "
                "Nothing was decided; run nbgrader autograde again."
            )
        notes = tuple(cell.metadata.pop(NOTES, ()))
        shown = dataclasses.replace(verdict, notes=notes + verdict.notes)
        data = {"text/plain": points(verdict, cell), "text/html": as_html(shown)}
        cell.outputs = [new_output("execute_result", data, execution_count=None)]


def _exercise(cell: NotebookNode, answers: Mapping[str, str]) -> str:
    """The exercise that a cell checks.

    A test of another kind would have to be executed; left as it is, nbgrader would take a cell
    without output for a passed one and give all its points.
    """
    grade_id = cell.metadata.nbgrader.grade_id
    for name in answers:
        if check_id(name) == grade_id:
            return name
    raise NotJudged(
        f"The cell {grade_id} checks no exercise of this course, and grading here starts no "
        "kernel that could run it: grade such an assignment in a course folder of its own."
    )


def points(verdict: Verdict, cell: NotebookNode) -> str:
    """The points as nbgrader reads them, on the scale of the cell that was released.

    nbgrader fails a submission whose points are above the cell's, be it by rounding.
    """
    most = float(cell.metadata.nbgrader.points)
    share = verdict.points / verdict.max_points if verdict.max_points else 0.0
    value = min(max(share, 0.0), 1.0) * most
    return f"{value:g}" if float(f"{value:g}") <= most else repr(value)
