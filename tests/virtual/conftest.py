"""Every test here begins and ends without virtual GPUs."""

from __future__ import annotations

import gc

import pytest

from course.virtual import machine


@pytest.fixture(autouse=True)
def _none_left_on():
    assert machine._on is None
    gc.freeze()  # what is alive before the test needs no walking over
    yield
    gc.unfreeze()
    left, machine._on = machine._on, None
    assert left is None, "a test left its virtual GPUs switched on"
