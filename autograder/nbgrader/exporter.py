"""How nbgrader opens the notebooks that it autogrades."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.converters import Autograde

from autograder.nbgrader.gradebook import make_known
from autograder.nbgrader.reading import read
from autograder.nbgrader.transplant import Transplant


class SubmissionExporter(NotebookExporter):
    """Opens a submission whatever is wrong with it; :class:`Transplant` makes it whole.

    nbgrader opens two files for each submission: what was handed in, which Transplant then
    works on, and what Transplant wrote, which is opened as any notebook.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if isinstance(self.parent, Autograde):  # it makes its exporter before all else
            make_known(self.parent)

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> Any:
        if not any(isinstance(each, Transplant) for each in self._preprocessors):
            return super().from_filename(filename, resources=resources, **kw)
        reading = read(Path(filename))
        resources = ResourcesDict() if resources is None else resources
        resources["submission"] = {"trouble": reading.trouble, "note": reading.note}
        return self.from_notebook_node(reading.notebook, resources=resources, **kw)
