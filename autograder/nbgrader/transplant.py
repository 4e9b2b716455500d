"""The answers of a submission, put into the notebook that was released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_solution

from autograder.notebooks import check_id, find_answers

NOTES = "notes"  # where a check cell's metadata keeps what the student is to be told


class NotReleased(RuntimeError):
    """There is no released notebook to put answers into."""


class Transplant(NbGraderPreprocessor):
    """Keeps of a submission the text of its answers, and nothing else.

    So cells that were deleted, copied or edited, changed points and kernels, outputs and widget
    state have no effect. What the student should know is noted at the check cell or, when it
    concerns the whole file, in a cell above all others.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Return the released notebook with the submission's answers.

        Raises:
            NotReleased: the release folder does not have this notebook.
        """
        released = self._released(resources["nbgrader"])
        cells = {
            c.metadata.nbgrader.grade_id: c for c in released.cells if "nbgrader" in c.metadata
        }
        stubs = {name: cell.source for name, cell in cells.items() if is_solution(cell)}
        submission = resources["submission"] or {"trouble": "", "note": ""}
        for name, answer in find_answers(nb, stubs).items():
            cells[name].source = answer.text
            check = cells.get(check_id(name))
            if check is not None and not submission["trouble"]:
                check.metadata[NOTES] = list(answer.notes)
        if submission["trouble"] or submission["note"]:
            released.cells.insert(0, _about(**submission))
            self.log.warning("%s", submission["trouble"] or submission["note"])
        return released, resources

    def _released(self, names: dict[str, str]) -> NotebookNode:
        course = CourseDirectory(parent=self)
        folder = Path(course.format_path(course.release_directory, ".", names["assignment"]))
        path = folder / f"{names['notebook']}.ipynb"
        if not path.is_file():
            command = f"nbgrader generate_assignment {names['assignment']}"
            raise NotReleased(f"{path} is missing: run '{command}' first.")
        return nbformat.read(path, as_version=4)


def _about(trouble: str, note: str) -> NotebookNode:
    if not trouble:
        return new_markdown_cell(f"> **About your file.** {note}", id="about-your-file")
    return new_markdown_cell(
        "> **Your file could not be read, so there was nothing to grade: 0 points.**\n>\n"
        f"> {trouble}\n>\n"
        "> Open your notebook in JupyterLab, see that your answers are there, save it, and hand "
        "it in again. Ask your instructor when it does not open there either.",
        id="about-your-file",
    )
