"""Fixtures of the browser tests: ``lab`` (running), ``page`` (Chromium), ``picture``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.lab import ROOT, Lab, running_lab

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",  # Chromium's own cannot start as root, and CI is root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000  # on two busy cores


@pytest.fixture
def release() -> Path:
    """The lessons that ``lab`` starts on; a test module may have its own."""
    return ROOT / "release"


@pytest.fixture
def lab(tmp_path: Path, release: Path) -> Iterator[Lab]:
    with running_lab(tmp_path, release) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(CHROMIUM_NAMES)} is installed")
    return found


@pytest.fixture
def page(chromium: str, tmp_path: Path, requests_away: list[str]) -> Iterator[object]:
    """A page of a fresh Chromium: nothing remembered, and no network but this machine."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            user_data_dir=tmp_path / "chromium",
            executable_path=chromium,
            headless=True,
            args=CHROMIUM_FLAGS,
            viewport={"width": 1360, "height": 900},
        )
        context.set_default_timeout(PATIENCE_MS)
        api.expect.set_options(timeout=PATIENCE_MS)
        context.on("request", lambda request: note_if_away(request.url, requests_away))
        context.route(is_away, lambda route: route.abort())
        page = context.pages[0]
        yield page
        page.screenshot(path=tmp_path / "end.png")  # what a failed test saw last
        context.close()


@pytest.fixture
def requests_away() -> list[str]:
    """Addresses outside this machine that the page asked for; a test may assert there are none."""
    return []


def is_away(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https", "ws", "wss") and (
        urlsplit(url).hostname != "127.0.0.1"
    )


def note_if_away(url: str, requests_away: list[str]) -> None:
    if is_away(url):
        requests_away.append(url)


@pytest.fixture
def picture(page: object, tmp_path: Path) -> Callable[[str], Path]:
    """``picture("name")`` keeps a screenshot in the test's folder, and says where."""

    def take(name: str) -> Path:
        path = tmp_path / f"{name}.png"
        page.screenshot(path=path)  # type: ignore[attr-defined]
        print(f"screenshot: {path}")
        return path

    return take
