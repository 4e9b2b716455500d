"""traffic: bytes through the home device in one step, against a ring all-reduce."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.place import attempt
from autograder.exercises.dp.shared import raised_finding, short_text, value_of
from autograder.verdict import Finding
from course.ranks.outcome import Run

TOLERANCE = 0.005

_HOME = "bytes through the home device of DataParallel"
_RING = "bytes through each device of a ring all-reduce"


@dataclass(frozen=True)
class Step:
    """The arguments of one question."""

    devices: int
    rows: int
    model_bytes: int
    row_in: int
    row_out: int

    @property
    def pieces(self) -> int:
        return -(-self.rows // self.home_rows)

    @property
    def home_rows(self) -> int:
        """Rows of the first piece, which stays where it is."""
        return -(-self.rows // self.devices)

    @property
    def away(self) -> int:
        return self.rows - self.home_rows

    def home(self) -> int:
        model = 2 * (self.pieces - 1) * self.model_bytes
        return model + self.away * (self.row_in + 2 * self.row_out)

    def ring(self) -> float:
        return 4 * (self.devices - 1) / self.devices * self.model_bytes


def _home_mistakes(s: Step) -> dict[str, tuple[float, str]]:
    """What is predicted by who forgets something, and how to say it."""
    rows = s.away * (s.row_in + 2 * s.row_out)
    model = (s.pieces - 1) * s.model_bytes
    even = s.rows * (s.devices - 1) / s.devices
    return {
        "one_way": (
            model + rows,
            "the model's weights go out to the replicas, and their gradients, as many bytes, "
            "come back: the model counts twice for each other device.",
        ),
        "home_counted": (
            2 * s.devices * s.model_bytes + s.rows * (s.row_in + 2 * s.row_out),
            "home itself is counted as if it sent to itself. Its own replica and piece are there.",
        ),
        "own_rows_counted": (
            2 * model + s.rows * (s.row_in + 2 * s.row_out),
            "home's own rows are counted as if they travelled. They are there already.",
        ),
        "rows_rounded_down": (
            2 * (s.devices - 1) * s.model_bytes
            + (s.rows - s.rows // s.devices) * (s.row_in + 2 * s.row_out),
            "home's piece is rounded down; torch.chunk rounds the size of a piece up.",
        ),
        "model_only": (2 * model, "the rows are missing: inputs go out, outputs come back."),
        "backward_forgotten": (
            2 * model + s.away * (s.row_in + s.row_out),
            "in backward, the gradients of the outputs go out again, where the outputs came from.",
        ),
        "gradient_of_the_input": (
            2 * model + 2 * s.away * (s.row_in + s.row_out),
            "nobody needs the batch's gradient, so it does not travel: the inputs go one way.",
        ),
        "idle_devices": (
            2 * (s.devices - 1) * s.model_bytes + rows,
            f"{s.rows} rows make {s.pieces} piece{'s' * (s.pieces > 1)}, and a device without "
            "rows gets no replica.",
        ),
        "rows_shared_evenly": (
            2 * (s.devices - 1) * s.model_bytes + even * (s.row_in + 2 * s.row_out),
            "the rows are cut as torch.chunk does it, and home keeps the first piece, which is "
            "not exactly rows / devices.",
        ),
        "model_once": (
            2 * s.model_bytes + rows,
            "every other device gets a copy of the model of its own, all of them from home.",
        ),
    }


def _ring_mistakes(s: Step) -> dict[str, tuple[float, str]]:
    n = s.devices
    return {
        "one_direction": (
            2 * (n - 1) / n * s.model_bytes,
            "this is what a device sends; it receives as much, and both pass through it.",
        ),
        "one_phase": (
            (n - 1) / n * s.model_bytes,
            "a ring all-reduce goes round twice: once to add up (reduce-scatter), once to hand "
            "out the sums (all-gather); and what is sent is also received.",
        ),
        "only_with_rows": (
            4 * (s.pieces - 1) / s.pieces * s.model_bytes,
            f"only {s.pieces} of the {n} devices get rows here, and the ring has all of them: "
            "each has gradients to average.",
        ),
        "grows": (
            4 * (n - 1) * s.model_bytes,
            "each message of the ring is a chunk of 1/n of the gradients, not all of them.",
        ),
        "limit": (
            4 * s.model_bytes,
            "that is the limit for many devices; for n it is (n - 1)/n of it.",
        ),
    }


def call_traffic(answer: Callable[..., Any], *arguments: int) -> dict[str, Any]:
    result, error = attempt(answer, *arguments)
    if error:
        return {"error": error}
    pair = list(result) if isinstance(result, (tuple, list)) else []
    numbers = [float(x) for x in pair if isinstance(x, (int, float))]
    return {"numbers": numbers, "text": repr(result)[:200]}


def traffic_cases(generator: random.Random) -> list[Case]:
    def case(devices: int, rows: int, scale: int = 1) -> Case:
        step = Step(
            devices,
            rows,
            model_bytes=4 * generator.randint(2000, 9000) * scale,
            row_in=4 * generator.randint(90, 250),
            row_out=4 * generator.randint(300, 700),
        )
        text = (
            f"{devices} device{'s' * (devices > 1)}, {rows} rows of {step.row_in:,} bytes in and "
            f"{step.row_out:,} out, and a model of {step.model_bytes:,} bytes"
        )
        arguments = (devices, rows, step.model_bytes, step.row_in, step.row_out)
        return Case((arguments,), step, text)

    return [case(4, 32), case(4, 9), case(8, 3), case(3, 100, 50), case(2, 7), case(1, 8)]


def examine_traffic(case: Case, run: Run) -> Iterator[Finding]:
    step: Step = case.expected
    value = value_of(run)
    if "error" in value:
        yield _raises(step, value["error"])
        return
    if len(value["numbers"]) != 2:
        yield Finding(
            "not_a_pair",
            f"traffic returns {short_text(value['text'])}; it is to return two numbers.",
            advice="return through_home, through_each_of_the_ring",
        )
        return
    home, ring = value["numbers"]
    if _near(home, step.ring()) and _near(ring, step.home()) and not _near(home, ring):
        yield Finding(
            "swapped",
            "Both numbers are right, and in the wrong order: the home device's comes first.",
            advice="return through_home, through_each_of_the_ring",
        )
        return
    if not _near(home, step.home()):
        yield _finding(home, step.home(), _home_mistakes(step), _HOME, "home")
    if not _near(ring, step.ring()):
        yield _finding(ring, step.ring(), _ring_mistakes(step), _RING, "ring")


def _raises(step: Step, error: dict[str, Any]) -> Finding:
    if "ZeroDivisionError" not in error["text"] or step.rows >= step.devices:
        return raised_finding(error)
    return raised_finding(
        error,
        "rows_rounded_down",
        f"{step.rows} rows for {step.devices} devices make pieces of one row; rows // devices "
        "makes it 0.",
        _HOME,
        "torch.chunk rounds the size of a piece up: math.ceil(rows / devices).",
    )


def _near(got: float, wanted: float) -> bool:
    return abs(got - wanted) <= TOLERANCE * wanted + 1


def _finding(
    got: float, wanted: float, mistakes: dict[str, tuple[float, str]], of: str, what: str
) -> Finding:
    code, why = f"wrong_{what}", "count what travels, and between which devices."
    for name, (bytes_, text) in mistakes.items():
        if _near(got, bytes_):
            code, why = name, text
            break
    place = "the home device" if what == "home" else "each device of the ring"
    return Finding(
        code,
        f"{got:,.0f} bytes through {place}; it is {wanted:,.0f}: {why}",
        property=of,
        advice="Look at the transfers that the ledger shows for one step, and say of each what "
        "it is."
        if what == "home"
        else "Lesson 05 builds the ring: 2(n - 1) rounds, in each a chunk of 1/n is sent to the "
        "right and another received from the left.",
    )


TRAFFIC = Exercise(
    name="traffic",
    title="Through one door",
    properties=(Property(_HOME, 2), Property(_RING, 1)),
    cases=traffic_cases,
    examine=examine_traffic,
    hint="Out of home: weights to each other device that has rows, the rows of the others, and in "
    "backward the gradients of their outputs. Into home: their outputs, and the gradients of "
    "their weights.",
    difficulty=3,
    minutes=15,
    partial=True,
    backend="gloo",
    call=call_traffic,
)
