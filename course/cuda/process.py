"""Foreign programs under a guard: limits of time, memory and output, and nothing left behind.

The guard (``cpu/guard.cpp``) is a small process between us and the program. It is the reaper of
all that the program starts, so that nothing outlives a run, however it ends; it dies with us.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

_GRACE = 3.0  # seconds for the guard to clean up before it is ended itself
_PIECE = 1 << 16


@dataclass(frozen=True)
class Limits:
    """Bytes and seconds; 0 is no limit. ``memory`` is what a program has in use, ``addresses``
    what it may reserve, ``file`` the size of a file that it writes, ``output`` what it prints."""

    seconds: float = 10.0
    output: int = 1 << 20
    memory: int = 1 << 30
    addresses: int = 0
    file: int = 256 << 20
    channel: int = 64 << 20  # of each extra channel
    alone: bool = False  # whether it may start threads only, no processes


@dataclass(frozen=True)
class Ended:
    """How a program ended. ``how`` is exit, signal, time, memory, output or failed (with errno);
    ``left`` counts processes that it had started and not waited for."""

    how: str
    number: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    channels: tuple[bytes, ...] = ()
    dropped: int = 0
    left: int = 0
    resident: int = 0
    seconds: float = 0.0


@dataclass
class _Stream:
    """What comes out of one pipe, up to a limit."""

    reader: int
    most: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def take(self) -> bool:
        """False at the end."""
        data = os.read(self.reader, _PIECE)
        if self.size < self.most:
            self.parts.append(data[: self.most - self.size])
        self.size += len(data)
        return bool(data)

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


def run_guarded(
    guard: Path,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    channels: Sequence[str] = (),
    temporary: str = "-",
) -> Ended:
    """Run a command to its end.

    ``temporary`` is a folder that the guard removes if we die before the program's end.

    For each of ``channels`` a pipe is made whose number the program finds in ``env``, where
    ``{name}`` stands for it: ``{"CUDA_CPU": "report={report}"}``.

    Raises:
        OSError: the guard itself cannot be started.
    """
    began = time.monotonic()
    pipes: dict[str, tuple[int, int]] = {}
    try:
        for name in ("status", "stdout", "stderr", *channels):
            pipes[name] = os.pipe()
        process = _start(guard, command, cwd, env, limits, pipes, temporary, channels)
    except BaseException:
        for reader, writer in pipes.values():
            os.close(reader)
            os.close(writer)
        raise
    for _, writer in pipes.values():
        os.close(writer)
    most = {"status": 4096, "stdout": limits.output, "stderr": limits.output}
    streams = {n: _Stream(r, most.get(n, limits.channel)) for n, (r, _) in pipes.items()}
    try:
        too_much = _read(process, streams, limits)
    finally:
        _end(process)
        for stream in streams.values():
            os.close(stream.reader)
    return _ended(streams, channels, limits, too_much, time.monotonic() - began)


def _start(
    guard: Path,
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    pipes: Mapping[str, tuple[int, int]],
    temporary: str,
    channels: Sequence[str],
) -> subprocess.Popen[bytes]:
    numbers = {name: str(writer) for name, (_, writer) in pipes.items()}
    values = (limits.seconds * 1000, limits.memory, limits.addresses, limits.file, limits.alone)
    given = [str(int(value)) for value in values]
    environ = dict(env)
    for key, value in environ.items():
        for name in channels:
            value = value.replace("{" + name + "}", numbers[name])
        environ[key] = value
    return subprocess.Popen(
        [str(guard), numbers["status"], *given, temporary, *command],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=pipes["stdout"][1],
        stderr=pipes["stderr"][1],
        pass_fds=[writer for name, (_, writer) in pipes.items() if not name.startswith("std")],
        start_new_session=True,
    )


def _read(process: subprocess.Popen[bytes], streams: Mapping[str, _Stream], limits: Limits) -> bool:
    """Until all pipes are closed. True when the program printed too much and was ended."""
    give_up = time.monotonic() + limits.seconds + _GRACE if limits.seconds else float("inf")
    too_much = False
    with selectors.DefaultSelector() as selector:
        for stream in streams.values():
            selector.register(stream.reader, selectors.EVENT_READ, stream)
        while selector.get_map():
            for key, _ in selector.select(0.5):
                if not key.data.take():
                    selector.unregister(key.fd)
            printed = streams["stdout"].size + streams["stderr"].size
            if printed > limits.output and not too_much:
                too_much = True
                process.terminate()
                give_up = time.monotonic() + _GRACE
            if time.monotonic() > give_up:
                break
    return too_much


def _end(process: subprocess.Popen[bytes]) -> None:
    """The guard ends by itself in all but the worst of cases."""
    try:
        process.wait(0 if process.poll() is not None else 0.2)
        return
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        process.wait(_GRACE + 3)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ended(
    streams: Mapping[str, _Stream],
    channels: Sequence[str],
    limits: Limits,
    too_much: bool,
    seconds: float,
) -> Ended:
    out, err = streams["stdout"], streams["stderr"]
    words = streams["status"].data.decode("ascii", "replace").split()
    if len(words) < 4:  # the guard was killed, and the program with it
        words = ["signal", str(int(signal.SIGKILL)), "0", "0"]
        if limits.seconds and seconds > limits.seconds:
            words[0] = "time"
    how, numbers = words[0], words[1:4]
    number, left, resident = (int(n) if n.lstrip("-").isdigit() else 0 for n in numbers)
    return Ended(
        how="output" if too_much else how,
        number=number,
        stdout=out.data[: limits.output],
        stderr=err.data[: limits.output],
        channels=tuple(streams[name].data for name in channels),
        dropped=out.size + err.size - len(out.data) - len(err.data),
        left=left,
        resident=resident,
        seconds=seconds,
    )


def call(
    guard: Path | None,
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    limits: Limits,
) -> Ended:
    """Run a tool: under the guard, or without it where the guard itself is being made."""
    if guard is not None:
        return run_guarded(
            guard, command, cwd=cwd, env=env, limits=replace(limits, seconds=seconds)
        )
    try:
        told = subprocess.run(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Ended("time")
    how = "exit" if told.returncode >= 0 else "signal"
    return Ended(how, abs(told.returncode), told.stdout, told.stderr)
