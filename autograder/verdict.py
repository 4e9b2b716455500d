"""The verdict on one answer: plain frozen data that travels as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

PASSED = "passed"
PARTIAL = "partial"  # some properties hold, and the exercise gives credit for each
FAILED = "failed"
NOT_ATTEMPTED = "not attempted"  # the stub, untouched, or an empty cell
INFRASTRUCTURE = "infrastructure failed"  # our fault, never the answer's: no points are decided


@dataclass(frozen=True)
class Place:
    """A line of the answer's cell (1 is its first line), and who is there doing what."""

    line: int
    text: str = ""
    note: str = ""
    rank: int | None = None
    column: int | None = None  # 1 is the first character; only for syntax errors


@dataclass(frozen=True)
class Table:
    """What differed, usually a row a rank. Cells are text, ready to show."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, by its cause.

    ``code`` is a stable name: wrong answers under tests/answers declare it. ``property`` is
    the name of the exercise's property that fails by it; empty means all of them.
    """

    code: str
    message: str
    property: str = ""
    table: Table | None = None
    places: tuple[Place, ...] = ()
    advice: str = ""
    detail: str = ""  # long text shown folded: a whole traceback


@dataclass(frozen=True)
class Checked:
    """A property of the exercise: held (True), failed (False) or never reached (None)."""

    name: str
    passed: bool | None
    points: float
    max_points: float


@dataclass(frozen=True)
class Verdict:
    exercise: str
    state: str
    points: float
    max_points: float
    checked: tuple[Checked, ...] = ()
    findings: tuple[Finding, ...] = ()
    hint: str = ""
    output: str = ""  # what the ranks printed, each line with its rank
    notes: tuple[str, ...] = ()  # said beside the verdict: what was skipped, and why
    seconds: float = 0.0
    answer_digest: str = ""
    harness: str = ""

    @property
    def passed(self) -> bool:
        return self.state == PASSED

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Verdict:
        return _verdict(json.loads(text))

    def __str__(self) -> str:
        from autograder.render import as_text

        return as_text(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Jupyter shows the HTML; nbgrader reads the first result's plain text as the points."""
        from autograder.render import as_html

        return {"text/plain": f"{self.points:g}", "text/html": as_html(self)}


def _finding(data: dict[str, Any]) -> Finding:
    table = data["table"]
    if table:
        table = Table(tuple(table["columns"]), tuple(tuple(row) for row in table["rows"]))
    places = tuple(Place(**place) for place in data["places"])
    return Finding(**{**data, "table": table, "places": places})


def _verdict(data: dict[str, Any]) -> Verdict:
    return Verdict(
        **{
            **data,
            "checked": tuple(Checked(**checked) for checked in data["checked"]),
            "findings": tuple(_finding(finding) for finding in data["findings"]),
            "notes": tuple(data["notes"]),
        }
    )
