"""How much of a step is communication, and how much of that nothing hides."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import short_text
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_SHARE = "the share of the step in which an all-reduce is under way"
_EXPOSED = "the share in which one is, and nothing is computed"

Event = tuple[str, float, float]
Spans = Sequence[tuple[float, float]]


def cases(generator: random.Random) -> list[Case]:
    def case(label: str, *events: Event) -> Case:
        start, scale = generator.uniform(2, 9), generator.uniform(0.8e-3, 1.2e-3)
        given = [(kind, start + scale * begin, start + scale * end) for kind, begin, end in events]
        return Case(((given,),), given, label)

    def around(middle: int) -> int:
        return middle + generator.randint(-2, 2)

    return [
        case(
            "one all-reduce, which begins shortly before computing ends",
            ("compute", 0, around(70)),
            ("all_reduce", around(60), around(100)),
        ),
        case(
            "two all-reduces that overlap, and a pause",
            ("compute", 0, around(60)),
            ("all_reduce", around(30), around(50)),
            ("all_reduce", around(42), around(80)),
            ("compute", around(88), around(97)),
        ),
        case(
            "one all-reduce within another, not in order of time",
            ("all_reduce", around(20), around(30)),
            ("compute", around(45), around(55)),
            ("all_reduce", around(10), around(70)),
            ("compute", 0, around(25)),
            ("compute", around(66), around(90)),
        ),
        case(
            "all of it hidden",
            ("compute", 0, around(90)),
            ("all_reduce", around(30), around(50)),
            ("all_reduce", around(60), around(80)),
        ),
    ]


# --- time that is covered ---------------------------------------------------------------------


def _spans(events: Sequence[Event], kind: str) -> list[tuple[float, float]]:
    return [(begin, end) for k, begin, end in events if k == kind]


def _union(spans: Spans) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _length(spans: Spans) -> float:
    return sum(end - begin for begin, end in spans)


def _covered(spans: Spans) -> float:
    return _length(_union(spans))


def shares(events: Sequence[Event]) -> tuple[float, float]:
    """The oracle: by lengths of unions, |C ∪ W| = |C| + |W| − |C ∩ W|."""
    talk, work = _spans(events, "all_reduce"), _spans(events, "compute")
    step = max(end for _, _, end in events) - min(begin for _, begin, _ in events)
    return _covered(talk) / step, (_covered([*talk, *work]) - _covered(work)) / step


# --- what is wrong ----------------------------------------------------------------------------


def examine(case: Case, run: Run) -> Iterator[Finding]:
    events: list[Event] = case.expected
    value = run.values[0]
    wanted = shares(events)
    got = _pair(value)
    if got is None:
        code = "returned_nothing" if value is None else "wrong_type"
        yield Finding(
            code,
            f"The function returns {short_text(value)}, not two numbers (share, exposed).",
            property=_SHARE,
            advice="return share, exposed",
        )
        return
    table = Table(
        ("", "returned", "wanted"),
        tuple(
            (name, f"{g:.4f}", f"{w:.4f}")
            for name, g, w in zip(("share", "exposed"), got, wanted, strict=True)
        ),
    )
    if not _near(got[0], wanted[0]):
        code, why, advice = _wrong_share(events, got[0], wanted[0])
        yield Finding(code, why, property=_SHARE, table=table, advice=advice)
    elif not _near(got[1], wanted[1]):
        code, why, advice = _wrong_exposed(events, got, wanted)
        yield Finding(code, why, property=_EXPOSED, table=table, advice=advice)


def _pair(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in value):
        return None
    return float(value[0]), float(value[1])


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def _wrong_share(events: Sequence[Event], got: float, wanted: float) -> tuple[str, str, str]:
    talk, work = _spans(events, "all_reduce"), _spans(events, "compute")
    first, last = min(b for _, b, _ in events), max(e for _, _, e in events)
    covered = _covered(talk)
    if _near(got, 100 * wanted):
        return "percent", "This is a percentage; a share is between 0 and 1.", "Leave the 100 out."
    if _near(got, covered) or _near(got, _length(talk)):
        return (
            "seconds",
            "These are the seconds of the all-reduces, not their share of the step.",
            "Divide by the length of the step.",
        )
    if _near(got, _length(talk) / (last - first)):
        return (
            "counted_twice",
            "Time in which two all-reduces run at once is counted twice. (So a share can become "
            "more than 1.)",
            "Measure the time that is covered by at least one of them.",
        )
    if _near(got, covered / last):
        return (
            "from_zero",
            f"The step is taken to begin at 0; its first event begins at {first:.3f} s.",
            "The step lasts from the earliest begin to the latest end.",
        )
    if any(_near(got, covered / w) for w in (_covered(work), _length(work)) if w):
        return (
            "of_compute",
            "This is communication in proportion to computation, not to the step.",
            "Divide by the time from the earliest begin to the latest end.",
        )
    busy = _length(talk) + _length(work)
    if any(_near(got, t / b) for t in (covered, _length(talk)) for b in (busy, covered + _covered(
        work))):  # fmt: skip
        return (
            "of_busy_time",
            "Divided by the sum of all events. Where they overlap, that is more than the step "
            "lasts; where nothing runs, less.",
            "The step lasts from the earliest begin to the latest end.",
        )
    if _near(got, covered / _covered([*talk, *work])):
        return (
            "pause_left_out",
            "The pause in which nothing runs is left out of the step. A rank that waits for data "
            "is still in its step.",
            "The step lasts from the earliest begin to the latest end.",
        )
    if got < wanted:
        return (
            "too_little",
            "Some of the time in which an all-reduce runs is not counted.",
            "Events are in no order, and one can lie within another: sort by begin, and keep the "
            "largest end that you have seen.",
        )
    return (
        "wrong_share",
        "This is not the share of the step in which an all-reduce is under way.",
        "The step lasts from the earliest begin to the latest end. Of it, how much is covered by "
        "at least one all-reduce?",
    )


def _wrong_exposed(
    events: Sequence[Event], got: tuple[float, float], wanted: tuple[float, float]
) -> tuple[str, str, str]:
    talk, work = _spans(events, "all_reduce"), _spans(events, "compute")
    step = max(e for _, _, e in events) - min(b for _, b, _ in events)
    if _near(got[1], got[0]):
        return (
            "not_subtracted",
            "Nothing is taken off for the time in which the rank also computes: exposed is as "
            "large as the share.",
            "Only what no computation covers makes the step longer.",
        )
    if _near(got[1], 1 - _covered(work) / step):
        return (
            "pause_counted",
            "The pause, in which nothing computes and nothing is sent, is counted as well.",
            "Exposed is what an all-reduce covers and no computation does.",
        )
    if _near(got[1], wanted[0] - wanted[1]):
        return (
            "hidden",
            "This is the share that computation hides; the rest of it is exposed.",
            "exposed = share - hidden.",
        )
    totals = (_covered(talk) - _covered(work)) / step
    lengths = (_length(talk) - _length(work)) / step
    if any(_near(got[1], t) or _near(got[1], max(0.0, t)) for t in (totals, lengths)):
        return (
            "totals_subtracted",
            "Computing time is subtracted from communication time, whether they run at the same "
            "time or not.",
            "Only the time in which both run is hidden.",
        )
    return (
        "wrong_exposed",
        "This is not the share in which an all-reduce runs and nothing is computed.",
        "Cut the step at every begin and end. Between two cuts nothing changes: an all-reduce "
        "runs there or not, a computation runs or not.",
    )


COMM_SHARE = Exercise(
    name="comm_share",
    title="What the step waits for",
    properties=(Property(_SHARE, 1), Property(_EXPOSED, 2)),
    cases=cases,
    examine=examine,
    hint="Take all begins and ends, sort them, and look at each piece between two neighbours. "
    "Within a piece nothing begins and nothing ends, so one look says which kinds are running: "
    "those events with `begin <= left` and `end >= right`. Add the piece's length to what it "
    "belongs to.",
    difficulty=3,
    minutes=15,
    backend="gloo",
)
