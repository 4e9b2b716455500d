"""What a launch leaves behind: one outcome per rank, as plain frozen data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Frame:
    """One line of a Python stack, outermost first."""

    file: str
    line: int
    function: str
    text: str = ""


@dataclass(frozen=True)
class RaisedException:
    """An exception that ended a rank.

    ``frames`` are the frames of the user's own code, outermost first; ``traceback`` is the
    whole text, with torch's and the course's frames.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    traceback: str = ""
    line: int | None = None  # of the user's code: where it was raised, or of a syntax error

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(frozen=True)
class Call:
    """One call into torch.distributed, as the rank itself recorded it.

    Recorded inside the rank's process, so good for diagnosis and forgeable by the code that
    runs there. ``peer`` is the other rank of a point-to-point call, or the root of a rooted
    collective. ``shape`` and ``dtype`` are those of the first tensor argument. Times are
    seconds since the launch began; ``end`` is None for a call that never came back.
    ``waits_for`` is set on a ``wait`` call: the operation whose handle is waited on; and
    ``touched`` there tells that its tensor was written to while the operation was under way.
    """

    op: str
    begin: float
    end: float | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int = 0
    peer: int | None = None
    group_size: int | None = None
    asynchronous: bool = False
    waits_for: str | None = None
    touched: bool = False
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        """``recv from rank 1``, ``all_reduce``, ``broadcast from rank 0``."""
        name = self.waits_for or self.op
        if self.peer is None:
            return name
        return f"{name} {_DIRECTION.get(name, 'with')} rank {self.peer}"

    @property
    def doing(self) -> str:
        """``waits in recv from rank 1``, ``waits for its isend to rank 2``."""
        return f"waits for its {self}" if self.waits_for else f"waits in {self}"


_DIRECTION = {
    "send": "to",
    "isend": "to",
    "recv": "from",
    "irecv": "from",
    "broadcast": "from",
    "scatter": "from",
    "reduce": "to",
    "gather": "to",
}


@dataclass(frozen=True)
class Print:
    """Something written to stdout or stderr, and when (seconds since the launch began)."""

    time: float
    text: str
    stream: str = "stdout"


RETURNED = "returned"  # the function came back with a value
RAISED = "raised"  # an exception left the function
EXITED = "exited"  # the process left by itself: sys.exit, os._exit
SIGNALLED = "signalled"  # the process was ended by a signal that the launcher did not send
ENDED = "ended"  # the launcher ended it: another rank failed, or the run was interrupted
STUCK = "stuck"  # the launcher ended it: a deadlock was recognised
TIMEOUT = "timeout"  # the launcher ended it: the time limit passed


@dataclass(frozen=True)
class Outcome:
    """How one rank ended.

    ``state`` is one of the constants of this module. ``exit_code`` is negative for a signal
    (−9 is SIGKILL), as in :mod:`subprocess`. ``stack`` is where the rank was when the
    launcher ended it, user frames only, outermost first. ``began`` (None if the rank never got
    as far as its job) and ``ended`` are seconds since the launch began.
    """

    rank: int
    state: str
    value: Any = None
    exception: RaisedException | None = None
    exit_code: int | None = None
    stack: tuple[Frame, ...] = ()
    prints: tuple[Print, ...] = ()
    calls: tuple[Call, ...] = ()
    began: float | None = None
    ended: float = 0.0
    peak_rss_bytes: int = 0
    dropped_output_bytes: int = 0

    @property
    def ok(self) -> bool:
        return self.state == RETURNED

    @property
    def stdout(self) -> str:
        return "".join(p.text for p in self.prints if p.stream == "stdout")

    @property
    def stderr(self) -> str:
        return "".join(p.text for p in self.prints if p.stream == "stderr")

    @property
    def blocked_in(self) -> Call | None:
        """The call that the rank was inside when it ended, if any."""
        return next((c for c in reversed(self.calls) if c.end is None), None)


@dataclass(frozen=True)
class RankLine:
    """A place in the user's code that one rank is at, with a note such as 'waits in recv'."""

    rank: int
    line: int | None
    note: str
    text: str = ""
    file: str = ""


@dataclass(frozen=True)
class Failure:
    """Why a run failed: the cause, not its consequences.

    ``code`` is a stable name (see :mod:`course.ranks.explain`); ``ranks`` are those to blame.
    """

    code: str
    message: str
    ranks: tuple[int, ...] = ()
    lines: tuple[RankLine, ...] = ()
    advice: str = ""
    traceback: str = ""


@dataclass(frozen=True)
class Run(Sequence[Outcome]):
    """The outcomes of one launch, by rank; ``failure`` is None when every rank returned."""

    outcomes: tuple[Outcome, ...]
    seconds: float
    failure: Failure | None = field(default=None)

    def __getitem__(self, rank):  # type: ignore[no-untyped-def,override]
        return self.outcomes[rank]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    @property
    def ok(self) -> bool:
        return self.failure is None

    @property
    def values(self) -> list[Any]:
        """What each rank returned, by rank; a failed rank's is None."""
        return [o.value for o in self.outcomes]

    def transcript(self) -> list[tuple[int, Print]]:
        """All that was printed, with its rank, in the order in which it was printed."""
        prints = [(o.rank, p) for o in self.outcomes for p in o.prints]
        return sorted(prints, key=lambda pair: pair[1].time)

    def __repr__(self) -> str:
        """What the ranks printed, and how they ended; a notebook shows the HTML instead."""
        from course.ranks.show import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from course.ranks.show import as_html

        return as_html(self)
