"""Whether processes are doing anything, read from /proc.

Where there is no /proc (macOS) nothing is known of a process's activity, and only the silence
of its reports counts.
"""

from __future__ import annotations

import os
import time
from pathlib import Path


def children(pid: int) -> list[int]:
    """The direct children of a process, zombies included."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:  # the thread has just ended
            continue
    return found


def cpu_ticks(pid: int) -> int:
    """CPU time of all threads of a process so far, in the kernel's ticks of usually 10 ms."""
    fields = _stat(f"/proc/{pid}/stat")
    return int(fields[11]) + int(fields[12]) if fields else 0


def is_running(pid: int) -> bool:
    """Whether any thread of the process computes, or waits only for a core to become free."""
    for task in Path(f"/proc/{pid}/task").glob("*"):
        fields = _stat(f"{task}/stat")
        if fields and fields[0] == "R":
            return True
    return False


def _stat(path: str) -> list[str]:
    """The fields of a stat file behind the command's name; empty if the process is gone."""
    try:
        return Path(path).read_text().rpartition(")")[2].split()
    except OSError:
        return []


class QuietWatch:
    """Notices that processes do nothing for a while.

    Blocked ranks are not quite still: background threads wake up now and then to look at their
    queues, and on a busy machine may be seen waiting for a core. So a window of some seconds is
    judged as a whole: little CPU time, and runnable in few of the looks.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        self._began: float | None = None

    def quiet(self, pids: list[int], last_report: float) -> bool:
        """Whether a whole window has passed in which none of them reported or worked."""
        now = time.monotonic()
        if self._began is None or last_report > self._began:
            self._began, self._looks = now, 0
            self._ticks = {pid: cpu_ticks(pid) for pid in pids}
            self._runnable = dict.fromkeys(pids, 0)
            return False
        self._looks += 1
        for pid in pids:
            self._runnable[pid] += is_running(pid)
        if now - self._began < self._seconds:
            return False
        idle = all(self._was_idle(pid) for pid in pids)
        self.reset()
        return idle

    def _was_idle(self, pid: int) -> bool:
        used = cpu_ticks(pid) - self._ticks[pid]
        may_use = _IDLE_SHARE * self._seconds * os.sysconf("SC_CLK_TCK")
        return used <= may_use and self._runnable[pid] <= self._looks / 2


_IDLE_SHARE = 0.05  # of one core


def open_descriptors() -> int:
    """How many descriptors this process has open; for tests that nothing leaks."""
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    return len(os.listdir(folder))
