"""A bandwidth from a stopwatch: the device works on when the call has come back."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_RATE = "the bandwidth that the device has, in bytes a second"
_PEAKS = {"A100 80 GB": 2039e9, "L4": 300e9, "H100 SXM": 3350e9}  # NVIDIA's data sheets
LAUNCH = 5e-6  # seconds that a call takes the host


@dataclass
class Device:
    """A device with a clock of its own, so that the same answer always gets the same times.

    A call of ``work`` takes the host 5 µs, and the device longer; the first one longer still.
    """

    seconds: float
    first: float
    queued: float = 0.0
    host: float = 0.0
    busy_until: float = 0.0
    works: int = 0
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.busy_until = self.queued  # somebody's work is still under way

    def work(self) -> None:
        self.trace.append("work")
        cost = self.seconds if self.works else self.first
        self.works += 1
        self.host += LAUNCH
        self.busy_until = max(self.busy_until, self.host) + cost

    def synchronize(self) -> None:
        self.trace.append("synchronize")
        self.host = max(self.host, self.busy_until) + 1e-6

    def clock(self) -> float:
        self.trace.append("clock")
        return self.host


@dataclass(frozen=True)
class _Expected:
    card: str
    peak: float
    rate: float
    moved: int
    device: tuple[float, float, float]


def call(
    answer: Callable[..., Any], device: tuple[float, float, float], moved: int
) -> dict[str, Any]:
    played = Device(*device)
    value = answer(played.work, played.synchronize, played.clock, moved)
    return {"value": value, "trace": played.trace[:400]}


def cases(generator: random.Random) -> list[Case]:
    found = []
    for card, peak in _PEAKS.items():
        rate = peak * generator.uniform(0.7, 0.9)
        moved = generator.randint(4000, 9000) << 20
        seconds = moved / rate
        device = (seconds, generator.uniform(6, 9) * seconds, generator.uniform(20, 40) * seconds)
        expected = _Expected(card, peak, rate, moved, device)
        found.append(Case(((device, moved),), expected, f"a copy on {card}"))
    return found


def examine(case: Case, run: Run) -> Iterator[Finding]:
    expected: _Expected = case.expected
    given = run.values[0] if isinstance(run.values[0], dict) else {}
    value, trace = given.get("value"), given.get("trace") or []
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        code = "returned_nothing" if value is None else "wrong_type"
        yield Finding(
            code,
            f"The function returns {value!r}, not a number of bytes a second.",
            property=_RATE,
            advice="return moved / seconds",
        )
        return
    if math.isclose(value, expected.rate, rel_tol=0.03):
        return
    code, why, advice = _why(float(value), expected, trace)
    table = Table(
        ("", "GB/s"),
        (
            ("returned", f"{value / 1e9:,.1f}"),
            ("right", f"{expected.rate / 1e9:,.1f}"),
            (f"peak of {expected.card}", f"{expected.peak / 1e9:,.1f}"),
        ),
    )
    yield Finding(code, why, property=_RATE, table=table, advice=advice)


def _why(value: float, expected: _Expected, trace: list[str]) -> tuple[str, str, str]:
    for factor, unit in ((1e9, "GB/s"), (2**30, "GiB/s"), (1e6, "MB/s")):
        if math.isclose(value * factor, expected.rate, rel_tol=0.03):
            return "unit", f"This is a number of {unit}.", "Bytes a second: leave the division out."
    if math.isclose(value * 8, expected.rate, rel_tol=0.03) or math.isclose(
        value, expected.rate * 8, rel_tol=0.03
    ):
        return "bits", "This differs by 8: bits, not bytes.", "moved is bytes already."
    if math.isclose(value * expected.rate, 1, rel_tol=0.05):
        return "inverse", "This is seconds a byte.", "moved / seconds, not seconds / moved"
    if math.isclose(value, 2 * expected.rate, rel_tol=0.03):
        return (
            "counted_twice",
            "This is twice the bandwidth: reading and writing are counted twice.",
            "moved has both already.",
        )
    if math.isclose(value, expected.moved / expected.rate, rel_tol=0.05):
        return "seconds", "These are the seconds of one call.", "moved / seconds"
    clocks = [i for i, what in enumerate(trace) if what == "clock"]
    if len(clocks) < 2:
        return (
            "no_stopwatch",
            "The clock was not read twice.",
            "begin = clock(); …; seconds = clock() - begin",
        )
    timed = trace[clocks[0] + 1 : clocks[-1]]
    if timed and timed[-1] != "synchronize" and value > expected.peak:
        return (
            "above_the_peak",
            f"{value / 1e9:,.0f} GB/s is {value / expected.peak:,.0f} times what {expected.card} "
            f"can do at best ({expected.peak / 1e9:,.0f} GB/s): this is not the time of the copy "
            "but of asking for it. work() only queues.",
            "Wait for the device before you stop the watch: synchronize(), with its parentheses, "
            "then clock().",
        )
    count = timed.count("work")
    if count and math.isclose(value * count, expected.rate, rel_tol=0.03):
        return (
            "bytes_of_one",
            f"{count} calls were timed, and the bytes of one divided by their time.",
            "count * moved / seconds",
        )
    before = trace[: clocks[0]]
    if "work" in before and (not before or before[-1] != "synchronize"):
        return (
            "starts_too_early",
            "When the watch is started, the device is still at work: that work is timed, too.",
            "synchronize() before the first clock().",
        )
    if "work" not in before:
        return (
            "no_warm_up",
            "The first call is in the time, and it is slower than all others: memory is allocated, "
            "code is loaded, clocks go up. And whatever was queued before is in it as well, unless "
            "somebody waited for it.",
            "Call work() once, and synchronize(), before you start the watch.",
        )
    if math.isclose(value, 1e-3 * expected.rate, rel_tol=0.03) or math.isclose(
        value, 1e3 * expected.rate, rel_tol=0.03
    ):
        return "unit", "This differs by 1,000: milliseconds?", "clock() gives seconds."
    return (
        "wrong_value",
        "This is not the bandwidth of the device.",
        "Warm up, wait, start the watch, work, wait, stop the watch.",
    )


BANDWIDTH = Exercise(
    name="bandwidth",
    title="Stop the watch when the work is done",
    properties=(Property(_RATE, 2),),
    cases=cases,
    examine=examine,
    hint="Six lines: `work()`, `synchronize()`, read the clock, `work()` a few times, "
    "`synchronize()`, read the clock.",
    difficulty=2,
    minutes=10,
    backend="gloo",
    call=call,
)
