"""What a launch could leave behind: processes, descriptors, listening ports, files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from course.ranks import launch
from course.ranks.activity import open_descriptors
from tests.ranks import jobs


def processes() -> set[int]:
    """All descendants of this process that are more than a zombie on its way out."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
    return found


def ports() -> set[int]:
    """On which this process or one of its descendants listens."""
    found = set()
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            sockets = process.net_connections(kind="tcp")
            found |= {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN}
    return found


def files() -> set[str]:
    """In the current folder and the temporary one (tests/ranks have one of their own)."""
    return {str(path) for folder in (".", tempfile.gettempdir()) for path in Path(folder).iterdir()}


@contextmanager
def nothing_left() -> Iterator[None]:
    """Everything that the block launches must be gone at its end, within two seconds."""
    launch(jobs.give_back, 1, None)  # the server itself is to stay
    kinds = (processes, ports, files)
    before, descriptors = [kind() for kind in kinds], open_descriptors()
    yield
    give_up = time.monotonic() + 2
    while True:
        left = [kind() - old for kind, old in zip(kinds, before, strict=True)]
        more = open_descriptors() - descriptors
        if not any(left) and more <= 0:
            return
        assert time.monotonic() < give_up, f"left: {left}, and {more} descriptors"
        time.sleep(0.02)
