"""A notebook in JupyterLab, handled as a learner does: by clicks and keys, seen as drawn.

    notebook = Notebook.open(page, lab, "05_collectives/05_collectives.ipynb")
    notebook.run(notebook.index_of("prelude"))
    notebook.run(notebook.index_with("from autograder.check import check"))
    notebook.replace_source(notebook.index_of("ring_all_reduce"), answer)
    verdict = notebook.run_check("ring_all_reduce")

Cells are counted from 0, as in the file. JupyterLab keeps all of them in the page, because
``make lab`` sets its windowing mode to "none".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

KERNEL_NAME = "Multi-GPU course"
SLOWEST_CELL_MS = 120_000  # the first check of a notebook imports torch


def expect(locator: Locator) -> Any:
    """Playwright's ``expect``, imported late: this module must import where it is not installed."""
    from playwright.sync_api import expect as playwright_expect

    return playwright_expect(locator)


class Notebook:
    """The notebook in front. ``file`` is the copy on disk that the page shows."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.file = file
        # One panel for each open notebook; those behind carry this class.
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @classmethod
    def open(cls, page: Page, lab: Lab, path: str) -> Notebook:
        """Open ``path`` by its address, and wait until its kernel is ready."""
        page.goto(lab.url(path))
        notebook = cls(page, lab.work / path)
        notebook.wait_until_ready()
        return notebook

    def wait_until_ready(self) -> None:
        """The cells are there, and the course's kernel was chosen without asking."""
        expect(self.panel.locator(".jp-Cell").first).to_be_visible()
        expect(self.panel.locator(".jp-KernelName")).to_contain_text(KERNEL_NAME)
        expect(self.panel.locator(".jp-Notebook-ExecutionIndicator")).to_have_attribute(
            "data-status", "idle"
        )

    # --- finding a cell -----------------------------------------------------------------------

    def index_of(self, grade_id: str) -> int:
        """The place of the cell with this nbgrader id, from the file that was opened."""
        ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in self.cells()]
        assert grade_id in ids, f"no cell has the grade_id {grade_id!r}; there are {set(ids)}"
        return ids.index(grade_id)

    def index_with(self, text: str) -> int:
        """The place of the first code cell whose source contains ``text``."""
        for index, cell in enumerate(self.cells()):
            if cell["cell_type"] == "code" and text in "".join(cell["source"]):
                return index
        raise AssertionError(f"no code cell contains {text!r}")

    def cells(self) -> list[dict[str, Any]]:
        return list(json.loads(self.file.read_text(encoding="utf-8"))["cells"])

    def cell(self, index: int) -> Locator:
        return self.panel.locator(".jp-Notebook .jp-Cell").nth(index)

    # --- writing and running ------------------------------------------------------------------

    def source(self, index: int) -> str:
        """What the editor holds, line by line as drawn."""
        return "\n".join(self.cell(index).locator(".cm-line").all_text_contents())

    def replace_source(self, index: int, source: str) -> None:
        """Select all of the cell's text and put ``source`` in its place, as pasting does."""
        editor = self.cell(index).locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source.rstrip("\n"))
        written = self.source(index)
        assert written == source.rstrip("\n"), f"the cell did not take the text: {written!r}"

    def run(self, index: int, timeout_ms: int = SLOWEST_CELL_MS) -> Locator:
        """Run one cell with Shift+Enter, wait until it is done, and return its output area."""
        cell = self.cell(index)
        number = cell.locator(".jp-InputArea-prompt").first
        before = number.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        # "[ ]:" or "[3]:" before, "[*]:" while it runs, the next number when it is done.
        done = "(text, before) => /\\[\\d+\\]/.test(text) && text !== before"
        self.page.wait_for_function(
            f"([element, before]) => ({done})(element.innerText, before)",
            arg=[number.element_handle(), before],
            timeout=timeout_ms,
        )
        return cell.locator(".jp-OutputArea").first

    def run_check(self, exercise: str) -> Locator:
        """Run the answer cell of ``exercise`` and the cell that checks it; return the verdict."""
        self.run(self.index_of(exercise))
        return self.run(self.index_of(f"check-{exercise}"))
