"""JupyterLab as ``make lab`` starts it, for a test: its own port, folders and token."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STARTS_WITHIN = 60.0
STOPS_WITHIN = 15.0


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab. ``work`` is the folder that a learner sees in it."""

    port: int
    token: str
    work: Path
    log: Path

    @property
    def start_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/lab/tree/START.md?token={self.token}"

    def url(self, path: str) -> str:
        """The address that opens ``path`` of the work folder."""
        return f"http://127.0.0.1:{self.port}/lab/tree/{path}?token={self.token}"

    def api(self, path: str) -> object:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}",
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


@contextlib.contextmanager
def running_lab(folder: Path, release: Path = ROOT / "release") -> Iterator[Lab]:
    """Run the command of ``make lab BROWSER=none`` on copies of ``release`` under ``folder``.

    The Makefile's own command line is held to this one by tests/house/test_make.py.
    """
    port = 8888 + 64 * (os.getpid() % 100)  # a first guess: house/lab.py moves on from a busy one
    log = folder / "lab.log"
    command = [sys.executable, "house/lab.py", "--port", str(port), "--browser", "none"]
    command += ["--release", str(release), "--work", str(folder / "work")]
    command += ["--state", str(folder / "state")]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield wait_until_up(process, folder, log)
    finally:
        stop(process)


def wait_until_up(process: subprocess.Popen[bytes], folder: Path, log: Path) -> Lab:
    """Wait for the server's own note of the port it listens on."""
    note = folder / "state" / "data" / "runtime" / f"jpserver-{process.pid}.json"
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError, ValueError):
            server = json.loads(note.read_text())
            lab = Lab(server["port"], server["token"], folder / "work", log)
            lab.api("status")
            return lab
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start; it said:\n{log.read_text()}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM lets the server end its kernels; SIGKILL only when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
