"""A newcomer's first minute: the start page, the lesson, a cell that runs. Nothing in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

from tests.browser.lab import ROOT, Lab
from tests.browser.notebook import Notebook, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSON = "05_collectives/05_collectives.ipynb"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The real lessons, and below the first one a cell for this test to run and change."""
    folder = tmp_path / "release"
    shutil.copytree(ROOT / "release", folder)
    notebook = nbformat.read(folder / LESSON, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("print(6 * 7)"))
    nbformat.write(notebook, folder / LESSON)
    return folder


def test_a_newcomer_reads_opens_and_runs(
    page: Page, lab: Lab, picture: Callable[[str], Path], requests_away: list[str]
) -> None:
    page.goto(lab.start_url)
    start = page.locator(".jp-MarkdownViewer")
    expect(start.locator("h1")).to_contain_text("Multi-GPU course")
    page.wait_for_timeout(3000)  # what would pop up, pops up a moment after the start
    picture("1-start")
    assert_nothing_in_the_way(page)

    start.locator(f'a[href*="{LESSON}"]').click()
    notebook = Notebook(page, lab.work / LESSON)
    notebook.wait_until_ready()
    picture("2-lesson")
    assert_nothing_in_the_way(page)

    code = notebook.index_with("6 * 7")
    expect(notebook.run(code)).to_contain_text("42")
    lines = "import sys\n\nif True:\n    print(sys.executable)\nprint('two')"
    notebook.replace_source(code, lines)
    assert notebook.source(code).split("\n") == lines.split("\n")
    expect(notebook.run(code)).to_contain_text("two")
    picture("3-run")
    assert_nothing_in_the_way(page)
    assert requests_away == []


def assert_nothing_in_the_way(page: Page) -> None:
    for what in (".jp-Dialog", ".Toastify__toast", ".jp-mod-styled.jp-mod-warn"):
        assert page.locator(what).count() == 0, page.locator(what).first.inner_text()
