"""``launch``: run a function on real processes, one a rank, and say how each ended."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from course.machine import place, this_machine
from course.ranks import explain, wire
from course.ranks.function import pack
from course.ranks.outcome import Outcome, Run
from course.ranks.report import read_outcome
from course.ranks.server import READY

MAX_RANKS = 64
MAX_VALUE_BYTES = 1 << 30


class LaunchFailed(RuntimeError):
    """The ranks could not be started: the machinery failed, not the function."""


def launch(
    fn: Callable[..., Any],
    nprocs: int,
    *args: Any,
    per_rank: Sequence[tuple[Any, ...]] | None = None,
    timeout: float = 30.0,
    process_group: bool = True,
    backend: str | None = None,
    max_value_bytes: int = MAX_VALUE_BYTES,
) -> Run:
    """Run ``fn(*args)`` in ``nprocs`` processes at once, and wait until all have ended.

    Every rank finds torch.distributed ready to use: NCCL with a GPU each when there are as many,
    else gloo; and the environment variables that torchrun sets. With ``process_group=False`` it
    finds the variables alone and joins by itself. Ranks are forked from a process that has
    already imported torch, so they start in milliseconds.

    Args:
        fn: a function of a module, a script or a notebook cell. What it returns must be plain
            data (:mod:`course.ranks.plain`).
        nprocs: the world size, 1 to 64.
        args: the same arguments for every rank.
        per_rank: further arguments, one tuple a rank; no rank ever sees another's.
        process_group: whether the ranks join before ``fn`` is called.
        backend: ``"gloo"`` for gloo on the CPU, ``"nccl"`` for a GPU each; None chooses.
        timeout: seconds after which the ranks are ended. A deadlock is recognised sooner.
        max_value_bytes: the largest value that a rank may return.

    Returns:
        The ranks' outcomes. A run that failed is no exception: ``run.failure`` says why.

    Raises:
        TypeError, ValueError: the arguments make no sense; nothing was started.
        CannotPlace: a ValueError; there are not enough GPUs for NCCL.
        CannotTravel: ``fn`` or an argument cannot be sent to another process.
        LaunchFailed: the processes could not be started.
    """
    _refuse_nonsense(fn, nprocs, per_rank, timeout)
    place(nprocs, this_machine(), backend)  # refuses here what would only fail there
    rest = per_rank or [()] * nprocs
    jobs = [pack(fn, (*args, *more)) for more in rest]
    header = {
        "nprocs": nprocs,
        "timeout": float(timeout),
        "process_group": process_group,
        "backend": backend,
        "max_value_bytes": max_value_bytes,
        "environ": dict(os.environ),
        "sys_path": [os.path.abspath(entry) for entry in sys.path],
        "directory": os.getcwd(),
    }
    run = _run(header, jobs)
    if run.failure and run.failure.code == "port_in_use" and not process_group:
        run = _run(header, jobs)  # somebody took the port between the choice and its use
    return run


def warm_up() -> None:
    """Start the server now, without waiting for it, so that the first launch finds it ready."""
    _server().start()


def preload(module: str) -> None:
    """Have ranks find ``module`` imported; without effect on a server that already runs."""
    if module not in _preloads:
        _preloads.append(module)


def _refuse_nonsense(fn: Any, nprocs: Any, per_rank: Any, timeout: Any) -> None:
    if not callable(fn):
        raise TypeError(f"launch() runs a function, and {fn!r} is a {type(fn).__name__}.")
    if not isinstance(nprocs, int) or isinstance(nprocs, bool):
        raise TypeError(f"nprocs is the number of processes, an int; {nprocs!r} is not.")
    if not 1 <= nprocs <= MAX_RANKS:
        raise ValueError(
            f"nprocs is {nprocs:,}; from 1 to {MAX_RANKS} processes can be launched at once."
        )
    if per_rank is not None and len(per_rank) != nprocs:
        raise ValueError(f"per_rank has {len(per_rank)} entries for {nprocs} ranks.")
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ValueError(f"timeout is {timeout!r}; it is a number of seconds above 0.")


def _run(header: dict[str, Any], jobs: list[bytes]) -> Run:
    for attempt in (1, 2):
        server = _server()
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    server.hand_over(theirs)
                return _converse(ours, header, jobs)
            except (ConnectionError, BrokenPipeError) as error:
                # The server or this run's keeper was killed from outside: start afresh, once.
                server.stop()
                if attempt == 2:
                    raise LaunchFailed(
                        "The process that starts the ranks ended unexpectedly, twice. "
                        f"Its last words: {server.last_words() or 'none'}"
                    ) from error
    raise AssertionError("unreachable")


def _converse(ours: socket.socket, header: dict[str, Any], jobs: list[bytes]) -> Run:
    began = time.monotonic()
    wire.send(ours, wire.JOB, json.dumps({**header, "began": began}).encode())
    try:
        for job in jobs:
            wire.send(ours, wire.JOB, job)
        outcomes = [_outcome(ours) for _ in jobs]
    except KeyboardInterrupt:
        ours.shutdown(socket.SHUT_WR)  # the keeper ends the ranks, and then closes its side
        while ours.recv(1 << 16):
            pass
        raise
    seconds = time.monotonic() - began
    return Run(tuple(outcomes), seconds, explain.explain(outcomes, header["timeout"]))


def _outcome(ours: socket.socket) -> Outcome:
    _, body = wire.receive(ours)
    _, value = wire.receive(ours)
    return read_outcome(json.loads(body), value)


class _Server:
    """The warm server of this process, and the socket to ask it on."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._errors = tempfile.TemporaryFile()
        self._ready = False

    def start(self) -> None:
        with self._lock:
            if self._process is None:
                self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        course = str(Path(__file__).resolve().parents[2])
        paths = [course, *filter(None, [os.environ.get("PYTHONPATH")])]
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            "OMP_NUM_THREADS": "1",  # NumPy's and torch's thread pools must not start here:
            "OPENBLAS_NUM_THREADS": "1",  # threads do not survive a fork
            # What c10d logs about a lost peer is a C++ stack of 25 lines; the exception says it.
            "TORCH_CPP_LOG_LEVEL": "FATAL",
        }
        main = f"from course.ranks.server import main; main({theirs.fileno()}, {_preloads!r})"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", main],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=environ,
                start_new_session=True,  # an interrupt at the terminal is for the caller
            )
        self._control = ours

    def hand_over(self, caller: socket.socket) -> None:
        """Ask for a keeper that talks to the other end of ``caller``."""
        self.start()
        with self._lock:
            if self._control is None:
                raise ConnectionError("the server has been stopped")
            if not self._ready:
                self._ready = self._control.recv(1) == READY
            if not self._ready:
                raise ConnectionError("the server did not start")
            socket.send_fds(self._control, [b"L"], [caller.fileno()])

    def stop(self) -> None:
        global _current
        with self._lock:
            if self._control is not None:
                self._control.close()
            if self._process is not None and self.owner == os.getpid():
                self._process.wait()
            self._control = None
        if _current is self:
            _current = None

    def forget(self) -> None:
        """In a forked child: the server is the parent's."""
        if self._control is not None:
            self._control.close()

    def last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").strip()[-500:]


_preloads: list[str] = []
_current: _Server | None = None
_current_lock = threading.Lock()


def _server() -> _Server:
    global _current
    with _current_lock:
        if _current is None:
            _current = _Server()
        return _current


@atexit.register
def _stop_at_exit() -> None:
    if _current is not None and _current.owner == os.getpid():
        _current.stop()


def _forget_after_fork() -> None:
    global _current, _current_lock
    _current_lock = threading.Lock()
    if _current is not None:
        _current.forget()
        _current = None


os.register_at_fork(after_in_child=_forget_after_fork)
