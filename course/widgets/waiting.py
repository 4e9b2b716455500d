"""Who waits for whom, from a run's log of calls: at its end, and at every moment before.

Told by the ranks' own logs, like all of :mod:`course.ranks.explain`.
"""

from __future__ import annotations

import linecache
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from course.ranks import outcome
from course.ranks.calls import COLLECTIVES, POINT_TO_POINT, SETUP
from course.ranks.explain import signal_meaning
from course.ranks.outcome import Call, Outcome, Run

WAITS, RUNS, GONE = "waits", "runs", "gone"
MOST_MOMENTS = 60


@dataclass(frozen=True)
class Stand:
    """Where a rank is at a moment.

    ``state`` is WAITS (in a call), RUNS, or GONE (it returned, raised or was ended).
    ``waits_for`` are the ranks whose part is missing; empty when the log cannot tell.
    """

    rank: int
    state: str
    note: str  # "waits in recv from rank 1"
    waits_for: tuple[int, ...] = ()
    line: int | None = None
    code: str = ""


@dataclass(frozen=True)
class Moment:
    """All ranks just after one of them began a call; ``rank`` is None at the end of the run."""

    time: float
    rank: int | None
    what: str
    stands: tuple[Stand, ...]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(who, for whom)"""
        return [(stand.rank, other) for stand in self.stands for other in stand.waits_for]

    @property
    def circle(self) -> list[int]:
        """Ranks of which each waits for the next, and the last for the first; or none."""
        return _circle(self.edges)


def moments(run: Run, most: int = MOST_MOMENTS) -> list[Moment]:
    """The last moments of a run at which a rank began a call, and its end."""
    begun = [(c.begin, o.rank, c) for o in run for c in o.calls if _is_known(c)]
    begun.sort(key=lambda item: item[:2])
    found = [
        Moment(time, rank, f"rank {rank} {_begins(call)}", _stands(run, time))
        for time, rank, call in begun[max(0, len(begun) + 1 - most) :]
    ]
    return [*found, Moment(math.inf, None, "at the end", _stands(run, math.inf))]


def _is_known(call: Call) -> bool:
    return call.op in (*POINT_TO_POINT, *COLLECTIVES, *SETUP, "wait")


def _begins(call: Call) -> str:
    return f"{'waits for its' if call.waits_for else 'begins'} {call}"


def _stands(run: Run, time: float) -> tuple[Stand, ...]:
    return tuple(_stand(run, o, time) for o in run)


def _stand(run: Run, o: Outcome, time: float) -> Stand:
    if o.ended <= time and o.state not in _STOPPED:
        return _gone(o)
    call = next((c for c in reversed(o.calls) if _is_open(c, time)), None)
    if call is not None and _returns_at_once(call):
        return Stand(o.rank, RUNS, f"starts {call}", (), call.line, _code(call))
    if call is not None:
        group = call.group_size
        part = f", in a group of {group}" if group and 0 < group < len(run) else ""
        peer = call.peer
        nobody = f", and there is no rank {peer}" if peer and peer >= len(run) else ""
        note = f"{call.doing}{part}{nobody}"
        return Stand(o.rank, WAITS, note, _missing(run, o, call, time), call.line, _code(call))
    if time == math.inf and o.stack:
        frame = o.stack[-1]
        return Stand(o.rank, RUNS, "was still busy", (), frame.line, frame.text)
    return Stand(o.rank, RUNS, "runs")


_STOPPED = (outcome.STUCK, outcome.TIMEOUT, outcome.ENDED)  # by the launcher, where they were


def _gone(o: Outcome) -> Stand:
    if o.ok:
        return Stand(o.rank, GONE, "has returned")
    if o.exception is not None and o.state == outcome.RAISED:
        frames = o.exception.frames
        code = frames[-1].text if frames else ""
        return Stand(o.rank, GONE, f"raised {o.exception}", (), o.exception.line, code)
    if o.state == outcome.SIGNALLED:
        return Stand(o.rank, GONE, f"was {signal_meaning(-(o.exit_code or 0))}")
    return Stand(o.rank, GONE, f"left with exit code {o.exit_code}")


def _is_open(call: Call, time: float) -> bool:
    return _is_known(call) and call.begin <= time and (call.end is None or call.end > time)


def _returns_at_once(call: Call) -> bool:
    return (call.asynchronous or call.op in ("isend", "irecv")) and call.end is not None


def _code(call: Call) -> str:
    return linecache.getline(call.file, call.line or 0).strip()


# ----------------------------------------------------------------------- whose part is missing


def _missing(run: Run, o: Outcome, call: Call, time: float) -> tuple[int, ...]:
    name = call.waits_for or call.op
    others = [other for other in run if other.rank != o.rank]
    if name in POINT_TO_POINT and call.peer is None:  # a receive from anyone
        return tuple(other.rank for other in others)
    if name in POINT_TO_POINT:
        return (call.peer,) if call.peer in [other.rank for other in others] else ()
    if call.group_size not in (None, len(run)):
        return ()  # the log does not say who is in a smaller group
    kinds = COLLECTIVES if name in COLLECTIVES else SETUP
    at = _place(o, call, kinds, len(run))
    return tuple(
        other.rank
        for other in others
        if [c.op for c in _entered(other, kinds, len(run), time)][at : at + 1] != [name]
    )


def _entered(o: Outcome, kinds: Sequence[str], size: int, time: float) -> list[Call]:
    """The collectives of the whole group that a rank had begun by then."""
    mine = [c for c in o.calls if c.op in kinds and c.group_size in (None, size)]
    return [c for c in mine if c.begin <= time]


def _place(o: Outcome, call: Call, kinds: Sequence[str], size: int) -> int:
    """The number of a collective among the rank's own; for a wait, of the one waited on.

    Of handles that look the same, the oldest is taken to be waited on first.
    """
    unwaited: defaultdict[Any, deque[int]] = defaultdict(deque)
    number = 0
    for other in o.calls:
        key = (other.waits_for or other.op, other.shape)
        if other.op in kinds and other.group_size in (None, size):
            if other is call:
                return number
            if other.asynchronous:
                unwaited[key].append(number)
            number += 1
        elif other.op == "wait" and unwaited[key]:
            started = unwaited[key].popleft()
            if other is call:
                return started
    return max(0, number - 1)


def _circle(edges: Sequence[tuple[int, int]]) -> list[int]:
    """The shortest circle among the edges that begins at the lowest rank that is in one."""
    following: defaultdict[int, list[int]] = defaultdict(list)
    for who, whom in edges:
        following[who].append(whom)
    for start in sorted(following):
        ways = deque([[start]])
        seen = set()
        while ways:
            way = ways.popleft()
            for further in following[way[-1]]:
                if further == start:
                    return way
                if further not in seen:
                    seen.add(further)
                    ways.append([*way, further])
    return []


def sentences(moment: Moment) -> Iterator[str]:
    """The moment in words."""
    for stand in moment.stands:
        where = f" at line {stand.line}" if stand.line else ""
        yield f"Rank {stand.rank} {stand.note}{where}."
    if circle := moment.circle:
        pairs = zip(circle, [*circle[1:], circle[0]], strict=True)
        yield f"A circle: {', '.join(f'rank {a} waits for rank {b}' for a, b in pairs)}."
