"""What a build or a run could leave behind; and a cache that is empty."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from course.cuda import builder


def left_behind() -> tuple[set[int], set[str], int]:
    """Descendants that run, entries of the temporary folder, and the count of descriptors."""
    running = set()
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                running.add(process.pid)
        except psutil.NoSuchProcess:
            continue
    files = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("cuda-")}
    return running, files, len(os.listdir("/proc/self/fd"))


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The test must leave no process, file or descriptor."""
    before = left_behind()
    yield
    give_up = time.monotonic() + 3
    while (after := left_behind()) != before:
        running, files, descriptors = (
            after[0] - before[0],
            after[1] - before[1],
            after[2] - before[2],
        )
        if not running and not files and descriptors <= 0:
            return
        assert time.monotonic() < give_up, (running, files, descriptors)
        time.sleep(0.05)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without programs, for this test alone; what all programs share is in it."""
    builder.warm_up()
    shared = [p for kind in ("guard-*", "runtime-*") for p in builder.cache_directory().glob(kind)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for path in shared:
        shutil.copy2(path, builder.cache_directory())
    return builder.cache_directory()
