"""The widgets of lesson 02 in a real browser: memory of the cards, a step of DataParallel."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import Lab
from tests.browser.notebook import Notebook, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = [
    "from course.measure.memory import Config\nfrom course.widgets import dp_step, memory",
    'memory.show(Config(model="BERT-base", card=8, batch=64, length=64))',
    "dp_step.show()",
]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A lesson that has nothing but the widgets."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{place}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for place, source in enumerate(CELLS)
    ]
    kernel = {"display_name": "Multi-GPU course", "language": "python", "name": "multi-gpu-course"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = tmp_path / "release" / "widgets" / "widgets.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook))
    return tmp_path / "release"


def test_controls_are_moved(page: Page, lab: Lab, picture: Callable[[str], Path]) -> None:
    notebook = Notebook.open(page, lab, "widgets/widgets.ipynb")
    notebook.run(0)
    cards = notebook.run(1)
    expect(cards).to_contain_text("It fits. GPU 0, the fullest,")
    picture("memory")
    cards.locator("select").nth(3).select_option("DDP")  # model, scores, words, way
    expect(cards).to_contain_text("It fits. Each GPU needs")
    picture("memory-ddp")
    step = notebook.run(2)
    expect(step).to_contain_text("Scatter. The batch")
    slider = step.locator(".noUi-handle")
    slider.scroll_into_view_if_needed()
    slider.focus()
    slider.press("ArrowRight")
    expect(step).to_contain_text("Replicate. Every other GPU")
    step.scroll_into_view_if_needed()
    picture("step")
