"""The life of one rank: a forked process that runs one function and reports what it did."""

from __future__ import annotations

import ctypes
import faulthandler
import io
import json
import os
import pickle
import random
import resource
import signal
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

import numpy.random  # NumPy imports it when first used, which every rank would do anew
import torch
import torch.distributed as dist

from course.machine import LOOPBACK, Placement
from course.ranks import calls, plain, wire

# A process group's own timeout must be longer than the launcher's: when it strikes first, what
# is left to see is its consequence ("connection closed") instead of who waited for whom.
_GRACE_SECONDS = 60.0
_MAX_OUTPUT_BYTES = 1_000_000  # what one rank may print; the rest is counted and dropped
_MAX_CALLS = 20_000


@dataclass(frozen=True)
class RankSpec:
    """All that a rank is told before its job arrives, which is when all ranks have joined."""

    placement: Placement
    world_size: int
    threads: int
    store_port: int
    process_group: bool
    timeout: float
    began: float  # time.monotonic() of the launch
    environ: dict[str, str]
    sys_path: list[str]
    directory: str
    max_value_bytes: int


def run_rank(
    spec: RankSpec,
    channel: socket.socket,
    stdout: int,
    stderr: int,
    stack_file: int,
    listener: socket.socket,
) -> NoReturn:
    """Run the job that arrives on ``channel``; never returns.

    ``listener`` is the socket on which rank 0 serves the rendezvous store: it was bound before
    the ranks were forked, so that no other process can take its port in between.
    """
    owner = os.getpid()
    code = 1
    try:
        report = _Report(channel, spec.began, owner)
        _become_a_rank(spec, channel, stdout, stderr, stack_file, listener, report)
        code = _work(spec, channel, listener, report)
    finally:
        # The only ways out of a rank. A child that the job forked may arrive here as well.
        os._exit(code if os.getpid() == owner else 0)


def _work(spec: RankSpec, channel: socket.socket, listener: socket.socket, report: _Report) -> int:
    try:
        if spec.process_group:
            _join(spec, listener)
        else:
            listener.close()
        report.send(wire.STARTED, {"time": report.now()})
        _, job = wire.receive(channel)
        function, args = pickle.loads(job)
        calls.record_with(report)
        value = plain.encode(function(*args))
        if len(value) > spec.max_value_bytes:
            raise plain.TooLarge(
                f"the value has {len(value):,} bytes; at most {spec.max_value_bytes:,} can return"
            )
    except SystemExit as left:
        return _leave(left, report)
    except BaseException as error:
        report.exception(error)
        return 1
    calls.record_with(None)
    _flush()
    report.value(value)
    # Stay until every rank is done. A rank that left now would make the others' mistakes look
    # like a broken connection, and the launcher could no longer say who waits for whom.
    if os.getpid() == report.owner:
        channel.recv(1)
    return 0


def _leave(left: SystemExit, report: _Report) -> int:
    """sys.exit: the code that the interpreter would have made of it."""
    code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    if isinstance(left.code, str):
        print(left.code, file=sys.stderr)
    frames = _user_frames(left.__traceback__)
    report.send(wire.EXIT, {"code": code, "frames": frames, "time": report.now()})
    _flush()
    return code & 0xFF


def _join(spec: RankSpec, listener: socket.socket) -> None:
    """The process group, as ``init_process_group(env://)`` would make it."""
    timeout = timedelta(seconds=spec.timeout + _GRACE_SECONDS)
    rank, size = spec.placement.rank, spec.world_size
    common: dict[str, Any] = {"timeout": timeout, "wait_for_workers": False}
    if rank == 0:
        fd = listener.detach()
        store = dist.TCPStore(
            "127.0.0.1", spec.store_port, size, True, master_listen_fd=fd, **common
        )
    else:
        listener.close()
        store = dist.TCPStore("127.0.0.1", spec.store_port, size, False, **common)
    dist.init_process_group(
        spec.placement.backend, store=store, rank=rank, world_size=size, timeout=timeout
    )


def _become_a_rank(
    spec: RankSpec,
    channel: socket.socket,
    stdout: int,
    stderr: int,
    stack_file: int,
    listener: socket.socket,
    report: _Report,
) -> None:
    """Shed what the fork brought along, and take on what torchrun would have given."""
    os.setsid()  # its own process group, so that it can be ended with its children
    _die_with_parent()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    _close_all_but({0, 1, 2, channel.fileno(), stack_file, listener.fileno()})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an abort must leave no core file
    faulthandler.enable(stack_file)
    faulthandler.register(signal.SIGUSR1, stack_file, all_threads=True)
    sys.stdout = _Stream(report, "stdout", 1)
    sys.stderr = _Stream(report, "stderr", 2)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [""]
    sys.path[:] = spec.sys_path
    os.chdir(spec.directory)
    os.environ.clear()
    os.environ.update(rank_environment(spec))
    # A fork copies the generators' states too; a fresh process would have its own.
    random.seed()
    numpy.random.seed()
    torch.set_num_threads(spec.threads)
    if spec.placement.device.startswith("cuda"):
        torch.cuda.set_device(spec.placement.device)


def rank_environment(spec: RankSpec) -> Mapping[str, str]:
    """The caller's environment with what torchrun sets, and with nothing left of another run's."""
    inherited = {k: v for k, v in spec.environ.items() if not k.startswith(FOREIGN)}
    return inherited | {
        "RANK": str(spec.placement.rank),
        "LOCAL_RANK": str(spec.placement.rank),
        "WORLD_SIZE": str(spec.world_size),
        "LOCAL_WORLD_SIZE": str(spec.world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(spec.store_port),
        "OMP_NUM_THREADS": str(spec.threads),
        # Loopback by name: what the hostname resolves to, and which interfaces a container
        # has, must not matter on one machine.
        "GLOO_SOCKET_IFNAME": LOOPBACK,
        "NCCL_SOCKET_IFNAME": LOOPBACK,
    }


FOREIGN = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_",
    "MASTER_",
    "TORCHELASTIC_",
    "TORCH_DISTRIBUTED_DEBUG",  # DETAIL ends a right DDP program with a segmentation fault
    "GLOO_",
    "NCCL_SOCKET_IFNAME",
    "OMP_NUM_THREADS",
)


def _die_with_parent() -> None:
    """Linux: be killed when the keeper dies, however it dies."""
    if sys.platform == "linux":
        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if os.getppid() == 1:  # it died before the request
            os._exit(1)


def _close_all_but(keep: set[int]) -> None:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    for name in os.listdir(folder):
        if int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listing itself


def _flush() -> None:
    """What C and C++ code wrote and still holds; Python's own streams hold nothing."""
    ctypes.CDLL(None).fflush(None)


class _Report:
    """What a rank tells its keeper while it works, and the recorder of its calls."""

    def __init__(self, channel: socket.socket, began: float, owner: int) -> None:
        self.owner = owner
        self._channel = channel
        self._began = began
        self._lock = threading.Lock()
        self._calls = 0
        self._printed = 0

    def now(self) -> float:
        return time.monotonic() - self._began

    def send(self, kind: bytes, fields: dict[str, Any]) -> None:
        self._send(kind, json.dumps(fields).encode())

    def _send(self, kind: bytes, body: bytes) -> None:
        if os.getpid() != self.owner:
            return  # a child that the job forked: it is not this rank
        with self._lock:
            wire.send(self._channel, kind, body)

    def value(self, encoded: bytes) -> None:
        self.send(wire.RETURNED, {"time": self.now(), "peak_rss": _peak_rss()})
        self._send(wire.VALUE, encoded)

    def text(self, stream: str, text: str) -> None:
        room = max(0, _MAX_OUTPUT_BYTES - self._printed)
        self._printed += len(text)
        kept = text[:room]
        self.send(
            wire.PRINT,
            {"time": self.now(), "text": kept, "stream": stream, "dropped": len(text) - len(kept)},
        )

    def exception(self, error: BaseException) -> None:
        calls.record_with(None)
        told = traceback.TracebackException.from_exception(error)
        line = error.lineno if isinstance(error, SyntaxError) else None
        frames = _user_frames(error.__traceback__)
        fields = {
            "type": type(error).__name__,
            "message": _message(error),
            "frames": frames,
            "line": line or (frames[-1]["line"] if frames else None),
            "traceback": "".join(told.format())[-20_000:],
            "time": self.now(),
            "peak_rss": _peak_rss(),
        }
        self.send(wire.EXCEPTION, fields)

    # calls.Recorder
    def begin(self, fields: dict[str, Any]) -> int:
        self._calls += 1
        if self._calls <= _MAX_CALLS:
            self.send(wire.CALL, {**fields, "begin": self.now(), "number": self._calls})
        return self._calls

    def end(self, number: int) -> None:
        if number <= _MAX_CALLS:
            self.send(wire.CALL_END, {"number": number, "time": self.now()})


class _Stream(io.TextIOBase):
    """sys.stdout and sys.stderr of a rank: every write is reported at once, with its time."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, report: _Report, stream: str, descriptor: int) -> None:
        self._report = report
        self._stream = stream
        self._descriptor = descriptor
        self.buffer = open(descriptor, "wb", buffering=0, closefd=False)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._report.text(self._stream, text.encode("utf-8", "replace").decode())
        return len(text)

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True


def _message(error: BaseException) -> str:
    """The message of an exception, also of one whose ``__str__`` fails."""
    try:
        return (error.msg if isinstance(error, SyntaxError) else str(error))[:10_000]
    except Exception:
        return f"<{type(error).__name__} whose message cannot be shown>"


def _peak_rss() -> int:
    """Bytes; Linux counts in KiB, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_NOT_THE_USERS = (
    os.path.dirname(torch.__file__),
    os.path.join(_ROOT, "course", ""),
    os.path.join(_ROOT, "autograder", ""),
    os.path.dirname(os.__file__) + os.sep,  # the standard library
    "<frozen",
)


def is_users(file: str) -> bool:
    """Whether a frame of this file is the user's own code."""
    return not file.startswith(_NOT_THE_USERS) and "site-packages" not in file


def _user_frames(tb: types.TracebackType | None) -> list[dict[str, Any]]:
    return [
        {"file": f.filename, "line": f.lineno, "function": f.name, "text": f.line or ""}
        for f in traceback.extract_tb(tb)
        if is_users(f.filename)
    ]
