"""A learner answers an exercise: right, then wrong, and sees the verdict below the check."""

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

LESSON = "05_collectives/05_collectives.ipynb"
EXERCISE = "ring_all_reduce"
WRONG = ROOT / "tests" / "answers" / EXERCISE / "wrong_send_first.py"


def test_a_right_and_then_a_wrong_answer(
    page: Page, lab: Lab, picture: Callable[[str], Path]
) -> None:
    notebook = Notebook.open(page, lab, LESSON)
    notebook.run(notebook.index_of("prelude"))
    notebook.run(notebook.index_with("from autograder.check import check"))
    answer = notebook.index_of(EXERCISE)

    notebook.replace_source(answer, notebooks.reference(EXERCISE))
    verdict = notebook.run_check(EXERCISE)
    expect(verdict).to_contain_text("5 of 5 points")
    verdict.scroll_into_view_if_needed()
    picture("right")

    notebook.replace_source(answer, WRONG.read_text(encoding="utf-8"))
    verdict = notebook.run_check(EXERCISE)
    expect(verdict).to_contain_text("0 of 5 points")
    expect(verdict).to_contain_text("every waiting rank is in a send")
    expect(verdict).to_contain_text("waits in send to rank")
    expect(verdict).to_contain_text("dist.send(")
    verdict.scroll_into_view_if_needed()
    picture("wrong")
