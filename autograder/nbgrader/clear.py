"""What stands in a released notebook where a solution stood."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions as NbGraderClearSolutions
from traitlets import Dict

from autograder.exercise import CUDA
from autograder.notebooks import CODE_STUB, CUDA_STUB
from course.cuda.cells import is_cuda


class ClearSolutions(NbGraderClearSolutions):
    """nbgrader's own, which knows one language a notebook; a ``%%cuda`` cell is of another."""

    code_stub = Dict(
        {"python": "\n".join(CODE_STUB), CUDA: "\n".join(CUDA_STUB)},
        help="The code snippet that will replace code solutions",
    ).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Any, cell_index: int
    ) -> tuple[NotebookNode, Any]:
        language = CUDA if is_cuda(cell.source) else resources["language"]
        cell, _ = super().preprocess_cell(cell, {**resources, "language": language}, cell_index)
        return cell, resources
