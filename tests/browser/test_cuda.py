"""Lesson 01 as a learner meets it: a %%cuda cell, an answer in CUDA C++, and its two widgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder import notebooks
from tests.browser.lab import ROOT, Lab
from tests.browser.notebook import Notebook, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NO_GUARD = ROOT / "tests" / "answers" / "vec_add" / "wrong_no_guard.cu"


@pytest.fixture
def notebook(page: Page, lab: Lab) -> Notebook:
    notebook = Notebook.open(page, lab, "01_cuda/01_cuda.ipynb")
    notebook.run(notebook.index_of("prelude"))
    notebook.run(notebook.index_with("from autograder.check import check"))
    return notebook


def test_a_program_and_its_fault(notebook: Notebook, picture: Callable[[str], Path]) -> None:
    hello = notebook.run(notebook.index_with("void hello()"))
    expect(hello).to_contain_text("thread 3 of block 1")
    picture("hello")
    fault = notebook.run(notebook.index_with("the host reads memory of the device"))
    expect(fault).to_contain_text("Host code reads")
    fault.scroll_into_view_if_needed()
    picture("fault")


def test_a_kernel_with_and_without_its_guard(
    notebook: Notebook, picture: Callable[[str], Path]
) -> None:
    answer = notebook.index_of("vec_add")
    unguarded = "%%cuda\n" + NO_GUARD.read_text(encoding="utf-8")
    notebook.replace_source(answer, unguarded)
    verdict = notebook.run_check("vec_add")
    expect(verdict).to_contain_text("which has no such element")
    expect(verdict).to_contain_text("c[i] = a[i] + b[i];")
    verdict.scroll_into_view_if_needed()
    picture("wrong")
    notebook.replace_source(answer, notebooks.reference("vec_add"))
    expect(notebook.run_check("vec_add")).to_contain_text("4 of 4 points")


def test_a_launch_and_a_block_are_changed(
    notebook: Notebook, picture: Callable[[str], Path]
) -> None:
    answer = notebook.index_of("vec_add")
    notebook.replace_source(answer, notebooks.reference("vec_add"))
    notebook.run(answer)
    launch = notebook.run(notebook.index_with('grid.show("vec_add"'))
    expect(launch).to_contain_text("144 threads")
    press(launch, 1, "ArrowLeft")
    expect(launch).to_contain_text("96 threads")
    picture("grid")
    card = notebook.run(notebook.index_with("occupancy_widget.show("))
    expect(card).to_contain_text("limited by registers")
    before = card.locator(".widget-html").inner_text()
    press(card, 0, "ArrowRight")
    expect(card.locator(".widget-html")).not_to_have_text(before)
    picture("occupancy")


def press(output: object, slider: int, key: str) -> None:
    """Move the slider that stands at this place of the output, by one step."""
    handle = output.locator(".noUi-handle").nth(slider)  # type: ignore[attr-defined]
    handle.scroll_into_view_if_needed()
    handle.focus()
    handle.press(key)
