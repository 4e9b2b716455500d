"""What holds for every test: in CI nothing is skipped, unless it needs a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

IN_CI = os.environ.get("CI") == "true"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if item.get_closest_marker("gpu") is None:
        forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A module may be skipped as a whole (``importorskip``), before it has any test."""
    report: Any = yield
    if "gpu" not in collector.path.parts:
        forbid_skip(report)
    return report


def forbid_skip(report: Any) -> None:
    if not IN_CI or not report.skipped or hasattr(report, "wasxfail"):
        return
    _, _, reason = report.longrepr
    report.outcome = "failed"
    report.longrepr = f"In CI only a test that needs a GPU may be skipped. {reason}"
