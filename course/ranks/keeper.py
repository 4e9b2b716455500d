"""The keeper of one run: forks its ranks, hears their reports, and ends them.

A keeper is a process of its own, forked from the warm server for each launch. On Linux it is
a "subreaper": a process that a rank left behind becomes the keeper's child when the rank ends.
So "wait until there are no children" means that nothing of the run is left, whatever the ranks
did. The keeper learns from its socket that the caller is gone or has lost interest, and then
does the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO, Any

from course.machine import place, this_machine, threads_per_rank
from course.ranks import activity, outcome, wire
from course.ranks.rank import RankSpec, is_users, run_rank

QUIET_SECONDS = 1.0  # all ranks blocked and idle for so long is a deadlock
# After one rank failed. A rank that computes may soon fail in the same way, and should have its
# own say; one that waits for the others can at most report a lost connection.
GRACE_SECONDS = 0.5
GRACE_SECONDS_IN_A_CALL = 0.1
_TICK_SECONDS = 0.05
_MAX_RAW_OUTPUT_BYTES = 1_000_000
_PIPE_READ_BYTES = 1 << 18


@dataclass
class RankProcess:
    """What the keeper knows of one rank so far."""

    rank: int
    pid: int
    channel: socket.socket
    stack_file: IO[bytes]
    frames: wire.FrameBuffer
    state: str | None = None
    began: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    exception: dict[str, Any] | None = None
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    open_calls: list[int] = field(default_factory=list)
    prints: list[dict[str, Any]] = field(default_factory=list)
    raw_bytes: int = 0
    dropped: int = 0
    peak_rss: int = 0
    value: bytes = b""
    alive: bool = True
    returned: bool = False
    last_report: float = 0.0

    @property
    def finished(self) -> bool:
        return self.returned or not self.alive

    @property
    def in_a_call(self) -> bool:
        return bool(self.open_calls)


class Keeper:
    """Runs one launch, asked for on ``caller``, to its end."""

    def __init__(self, caller: socket.socket, header: dict[str, Any]) -> None:
        self._caller = caller
        self._header = header
        self._began: float = header["began"]
        self._deadline = time.monotonic() + header["timeout"]
        self._ranks: list[RankProcess] = []
        self._selector = selectors.DefaultSelector()
        self._first_failure: float | None = None
        self._quiet = activity.QuietWatch(QUIET_SECONDS)
        self._caller_gone = False

    def run(self) -> None:
        _adopt_orphans()
        self._wake_on_child_exit()
        try:
            self._start_all()
            self._supervise()
        except wire.ConnectionEnded:  # the caller left before it had handed over the jobs
            self._caller_gone = True
        finally:
            self._end_everything()
        if not self._caller_gone:
            self._report()

    # starting

    def _start_all(self) -> None:
        listener = _listen()
        for spec in self._specs(listener.getsockname()[1]):
            self._start(spec, listener)
        listener.close()

    def _wake_on_child_exit(self) -> None:
        wake, self._wakeup = socket.socketpair()
        for end in (wake, self._wakeup):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        self._selector.register(wake, selectors.EVENT_READ, lambda: self._reap(wake))

    def _start(self, spec: RankSpec, listener: socket.socket) -> None:
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        stack_file = tempfile.TemporaryFile()
        pid = os.fork()
        if pid == 0:
            run_rank(spec, theirs, out_write, err_write, stack_file.fileno(), listener)
        for descriptor in (out_write, err_write):
            os.close(descriptor)
        theirs.close()
        limit = self._header["max_value_bytes"] + 4096
        process = RankProcess(spec.placement.rank, pid, ours, stack_file, wire.FrameBuffer(limit))
        process.last_report = time.monotonic()
        self._ranks.append(process)
        self._listen_to(ours, lambda: self._hear_rank(process))
        self._listen_to(out_read, lambda: self._hear_pipe(process, out_read, "stdout"))
        self._listen_to(err_read, lambda: self._hear_pipe(process, err_read, "stderr"))

    def _specs(self, port: int) -> list[RankSpec]:
        header, machine = self._header, this_machine()
        nprocs = header["nprocs"]
        return [
            RankSpec(
                placement=placement,
                world_size=nprocs,
                threads=threads_per_rank(nprocs, machine),
                store_port=port,
                process_group=header["process_group"],
                timeout=header["timeout"],
                began=self._began,
                environ=header["environ"],
                sys_path=header["sys_path"],
                directory=header["directory"],
                max_value_bytes=header["max_value_bytes"],
            )
            for placement in place(nprocs, machine, header["backend"])
        ]

    def _hand_over_jobs(self) -> None:
        """Once all ranks have joined, so that none is gone while another still connects.

        And after the forks, so that no rank's memory holds another's inputs.
        """
        for process in self._ranks:
            kind, job = wire.receive(self._caller)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has just died
                wire.send(process.channel, kind, job)
        # From here on the caller says nothing: readable will mean that it is gone.
        self._listen_to(self._caller, self._hear_caller)

    def _listen_to(self, source: Any, handler: Any) -> None:
        self._selector.register(source, selectors.EVENT_READ, handler)

    # supervising

    def _supervise(self) -> None:
        while not self._over():
            self._hear(_TICK_SECONDS)

    def _hear(self, seconds: float) -> bool:
        """Wait so long for something to read, and handle it; False if there was nothing."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fileobj in self._selector.get_map():  # a handler before may have ended it
                key.data()
        return bool(ready)

    def _over(self) -> bool:
        now = time.monotonic()
        working = [p for p in self._ranks if not p.finished]
        if not working or self._caller_gone:
            return True
        if self._first_failure is not None and now > self._first_failure + _grace(working):
            return self._end_as(working, outcome.ENDED)
        if now > self._deadline:
            return self._end_as(working, outcome.TIMEOUT)
        if self._first_failure is None and all(p.in_a_call for p in working):
            last_report = max(p.last_report for p in self._ranks)
            if self._quiet.quiet([p.pid for p in working], last_report):
                return self._end_as(working, outcome.STUCK)
        else:
            self._quiet.reset()
        return False

    def _end_as(self, working: list[RankProcess], state: str) -> bool:
        """Ask each for its stack, and say how it ended. Always True: the run is over."""
        for process in working:
            process.state = state
            process.ended = time.monotonic() - self._began
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGUSR1)
        give_up = time.monotonic() + 0.3
        while time.monotonic() < give_up and any(_size(p.stack_file) == 0 for p in working):
            time.sleep(0.005)
        return True

    def _hear_caller(self) -> None:
        self._caller_gone = True
        self._selector.unregister(self._caller)

    def _hear_rank(self, process: RankProcess) -> None:
        try:
            data = process.channel.recv(_PIPE_READ_BYTES)
            for kind, body in process.frames.feed(data):
                self._note(process, kind, body)
        except (ConnectionError, ValueError, KeyError, TypeError) as error:
            # Frames that no rank of ours sends: the job wrote to the channel itself.
            data = b""
            process.exception = process.exception or _garbled(error)
        if not data:
            self._selector.unregister(process.channel)

    def _note(self, process: RankProcess, kind: bytes, body: bytes) -> None:
        process.last_report = time.monotonic()
        if kind == wire.VALUE:
            process.value, process.returned = body, True
            return
        fields = json.loads(body)
        if kind == wire.STARTED:
            process.began = float(fields["time"])
            if all(p.began is not None for p in self._ranks):
                self._hand_over_jobs()
        elif kind == wire.PRINT:
            process.dropped += int(fields.pop("dropped"))
            process.prints.append(fields)
        elif kind == wire.CALL:
            number = int(fields.pop("number"))
            process.calls[number] = fields
            process.open_calls.append(number)
        elif kind == wire.CALL_END:
            number = int(fields["number"])
            process.calls[number]["end"] = fields["time"]
            process.open_calls.remove(number)
        elif kind == wire.RETURNED:
            process.state = outcome.RETURNED
            process.ended = float(fields["time"])
            process.peak_rss = int(fields["peak_rss"])
        elif kind == wire.EXCEPTION:
            process.state, process.exception = outcome.RAISED, fields
            process.ended = float(fields["time"])
            self._failed()
        elif kind == wire.EXIT:
            process.state, process.exception = outcome.EXITED, {"frames": fields["frames"]}
            process.exit_code, process.ended = int(fields["code"]), float(fields["time"])
            self._failed()

    def _hear_pipe(self, process: RankProcess, descriptor: int, stream: str) -> None:
        """What was written past Python's streams: by C and C++ code, and by child processes."""
        data = os.read(descriptor, _PIPE_READ_BYTES)
        if not data:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            return
        kept = data[: max(0, _MAX_RAW_OUTPUT_BYTES - process.raw_bytes)]
        process.raw_bytes += len(data)
        process.dropped += len(data) - len(kept)
        if kept:
            text = kept.decode("utf-8", "replace")
            now = time.monotonic() - self._began
            process.prints.append({"time": now, "text": text, "stream": stream})

    def _failed(self) -> None:
        if self._first_failure is None:
            self._first_failure = time.monotonic()

    def _reap(self, wake: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while wake.recv(4096):
                pass
        by_pid = {p.pid: p for p in self._ranks}
        for pid, code in _ended_children(os.WNOHANG):
            if pid in by_pid:
                self._gone(by_pid[pid], code)

    def _gone(self, process: RankProcess, code: int) -> None:
        """A rank's process has ended. Its last words may still be in its socket."""
        process.alive = False
        while process.channel in self._selector.get_map():
            if not _readable(process.channel):
                break
            self._hear_rank(process)
        if process.state is None or (process.state == outcome.RETURNED and not process.returned):
            process.state = outcome.SIGNALLED if code < 0 else outcome.EXITED
            process.ended = time.monotonic() - self._began
            self._failed()
        if process.exit_code is None:
            process.exit_code = code

    # ending

    def _end_everything(self) -> None:
        """Kill until there are no children; those of dead ranks have become ours."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for process in self._ranks:
            if process.alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        while True:
            for pid in activity.children(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                time.sleep(0.001)

    def _report(self) -> None:
        self._drain()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the caller just left
            for process in self._ranks:
                fields = json.dumps(_outcome_fields(process)).encode()
                wire.send(self._caller, wire.OUTCOME, fields)
                wire.send(self._caller, wire.VALUE, process.value)

    def _drain(self) -> None:
        """All ranks are dead: read what is left in their pipes and sockets."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._caller)
        while self._hear(0):
            pass


def _grace(working: list[RankProcess]) -> float:
    return GRACE_SECONDS_IN_A_CALL if all(p.in_a_call for p in working) else GRACE_SECONDS


def _outcome_fields(process: RankProcess) -> dict[str, Any]:
    state = process.state or outcome.ENDED
    return {
        "rank": process.rank,
        "state": state,
        "exception": process.exception,
        "exit_code": 0 if state == outcome.RETURNED else process.exit_code,
        "stack": _stack(process.stack_file),
        "prints": process.prints,
        "calls": [process.calls[number] for number in sorted(process.calls)],
        "began": process.began,
        "ended": process.ended or 0.0,
        "peak_rss_bytes": process.peak_rss,
        "dropped_output_bytes": process.dropped,
    }


def _stack(file: IO[bytes]) -> list[dict[str, Any]]:
    """The main thread's frames from what faulthandler wrote, outermost first."""
    file.seek(0)
    frames: list[dict[str, Any]] = []
    for line in file.read(1_000_000).decode("utf-8", "replace").splitlines():
        if line.startswith(("Thread", "Current thread")):
            frames = []  # the main thread is written last
        head, _, rest = line.partition(", line ")
        if rest and head.startswith('  File "'):
            number, _, function = rest.partition(" in ")
            name = head[len('  File "') : -1]
            if number.isdigit() and is_users(name):
                frames.append({"file": name, "line": int(number), "function": function})
    return frames[::-1]


def _garbled(error: Exception) -> dict[str, Any]:
    message = f"the rank's reports cannot be read: {error}"
    return {"type": "GarbledReport", "message": message, "frames": [], "traceback": ""}


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    return listener


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER
        ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def _ended_children(options: int) -> list[tuple[int, int]]:
    """(pid, exit code) of every child that has ended; a signal is a negative code."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, options)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def _readable(sock: socket.socket) -> bool:
    with selectors.DefaultSelector() as one:
        one.register(sock, selectors.EVENT_READ)
        return bool(one.select(0))


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size
