"""No picture belongs to pyplot: a notebook would show it once more when the cell ends."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def nothing_of_pyplots() -> Iterator[None]:
    yield
    left = plt.get_fignums()
    plt.close("all")
    assert not left, "a widget made a figure with pyplot; make it with style.Picture"
