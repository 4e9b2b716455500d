"""Lesson 02 as a learner meets it: a wrong answer, a right one, and its two widgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder import notebooks
from tests.browser.lab import Lab
from tests.browser.notebook import Notebook, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVENLY = """\
def scatter(batch, devices):
    return [rows.to(d) for rows, d in zip(batch.tensor_split(len(devices)), devices)]
"""


@pytest.fixture
def notebook(page: Page, lab: Lab) -> Notebook:
    notebook = Notebook.open(page, lab, "02_dp/02_dp.ipynb")
    notebook.run(notebook.index_of("prelude"))
    notebook.run(notebook.index_with("from autograder.check import check"))
    return notebook


def test_a_wrong_and_a_right_scatter(notebook: Notebook, picture: Callable[[str], Path]) -> None:
    answer = notebook.index_of("scatter")
    notebook.replace_source(answer, EVENLY)
    notebook.run(answer)
    verdict = notebook.run_check("scatter")
    expect(verdict).to_contain_text("DataParallel cuts as torch.chunk does: 3, 3 and 3")
    picture("scatter_wrong")
    notebook.replace_source(answer, notebooks.reference("scatter"))
    notebook.run(answer)
    expect(notebook.run_check("scatter")).to_contain_text("4 of 4 points")


def test_a_step_is_gone_through_and_a_configuration_changed(
    notebook: Notebook, picture: Callable[[str], Path]
) -> None:
    notebook.run(notebook.index_with("step = dp_step.example()"))
    picture("dp_stages")
    output = notebook.run(notebook.index_with("dp_step_widget.show(step)"))
    slider = output.locator(".noUi-handle")
    slider.scroll_into_view_if_needed()
    slider.focus()
    slider.press("ArrowRight")
    expect(output).to_contain_text("sent the whole model")
    picture("dp_step")
    output = notebook.run(notebook.index_with("memory_widget.show("))
    expect(output).to_contain_text("It fits.")
    picture("dp_memory")
