"""A learner moves the widgets of their own code, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder import notebooks
from tests.browser.lab import Lab
from tests.browser.notebook import Notebook, expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def opened(page: Page, lab: Lab, lesson: str, answered: str) -> Notebook:
    """The lesson, its first cells run, and one exercise answered."""
    notebook = Notebook.open(page, lab, f"{lesson}/{lesson}.ipynb")
    notebook.run(notebook.index_of("prelude"))
    notebook.run(notebook.index_with("from autograder.check import check"))
    answer = notebook.index_of(answered)
    notebook.replace_source(answer, notebooks.reference(answered))
    notebook.run(answer)
    return notebook


def picture_of(output: Locator) -> str:
    return output.locator("img.widget-image").get_attribute("src") or ""


def test_the_ring_is_stepped_through_with_the_slider(
    page: Page, lab: Lab, picture: Callable[[str], Path]
) -> None:
    notebook = opened(page, lab, "05_collectives", "ring_all_reduce")
    output = notebook.run(notebook.index_with("ring.show("))
    expect(output).to_contain_text("At the start every rank holds its own numbers")
    first = picture_of(output)
    slider = output.locator(".noUi-handle")
    slider.scroll_into_view_if_needed()
    slider.focus()
    slider.press("ArrowRight")
    expect(output).to_contain_text("Step 1 of 6")
    assert picture_of(output) != first
    picture("ring")


def test_bucket_size_and_overlap_are_moved(
    page: Page, lab: Lab, picture: Callable[[str], Path]
) -> None:
    notebook = opened(page, lab, "03_ddp", "BucketedDDP")
    output = notebook.run(notebook.index_with("show_buckets(BucketedDDP)"))
    expect(output).to_contain_text("5 messages")
    slider = output.locator(".noUi-handle")
    slider.scroll_into_view_if_needed()
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    expect(output).to_contain_text("1 message,")
    overlapped = picture_of(output)
    output.locator("input[type=checkbox]").uncheck()
    expect(output.locator("img.widget-image")).not_to_have_attribute("src", overlapped)
    picture("buckets")
