"""Verdicts in nbgrader's hands: points, kept verdicts, and failures that are not the student's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade
from traitlets.config.loader import PyFileConfigLoader

from autograder.nbgrader import verdicts
from autograder.nbgrader.judging import Judge, NotJudged, points
from autograder.nbgrader.verdicts import VerdictStore
from autograder.notebooks import reference
from autograder.verdict import FAILED, INFRASTRUCTURE, PASSED, Finding, Verdict
from tests.nbgrader.conftest import NAME, GradedCourse
from tests.nbgrader.submissions import FIRST, Submission, packed, solved

BROKEN = Verdict(FIRST, INFRASTRUCTURE, 0, 2, findings=(Finding("x", "No space on the disk."),))


@pytest.mark.parametrize(
    ("earned", "most", "released", "text"),
    [
        (2, 2, 2, "2"),
        (1.5, 2, 2, "1.5"),
        (0, 2, 2, "0"),
        (1, 3, 3, "1"),
        (1, 3, 1, "0.333333"),
        (20 / 3, 20 / 3, 20 / 3, "6.666666666666667"),  # with six digits it would be too much
        (2, 2, 5, "5"),  # released when the exercise was worth more
        (3, 2, 2, "2"),
        (-1, 2, 2, "0"),
        (0, 0, 2, "0"),
    ],
)
def test_points_are_never_more_than_the_cells(
    earned: float, most: float, released: float, text: str
) -> None:
    metadata = {"nbgrader": {"points": released, "grade": True, "solution": False}}
    cell = new_code_cell(metadata=metadata)
    assert points(Verdict("x", PASSED, earned, most), cell) == text
    cell.outputs = [new_output("execute_result", {"text/plain": text})]
    assert determine_grade(cell) == (float(text), released)


def test_same_answer_is_judged_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judged: list[str] = []

    def judge(exercise: str, text: str) -> Verdict:
        judged.append(text)
        return Verdict(exercise, FAILED, 0, 2, findings=(Finding("x", f"no: {text}"),))

    monkeypatch.setattr(verdicts, "judge", judge)
    store = VerdictStore(tmp_path)
    assert store.verdict(FIRST, "a") == store.verdict(FIRST, "a")
    assert store.verdict(FIRST, "b") != store.verdict(FIRST, "a")
    assert judged == ["a", "b"]
    for kept in tmp_path.rglob("*.json"):
        kept.write_text(kept.read_text(encoding="utf-8")[:20], encoding="utf-8")
    store.verdict(FIRST, "a")
    assert judged == ["a", "b", "a"]
    VerdictStore(None).verdict(FIRST, "a")
    assert judged == ["a", "b", "a", "a"]


def test_our_failure_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verdicts, "judge", lambda exercise, text: BROKEN)
    assert VerdictStore(tmp_path).verdict(FIRST, "a") == BROKEN
    assert not list(tmp_path.rglob("*"))


def test_a_test_of_another_kind_is_refused() -> None:
    """It has no output, for which nbgrader would give all points."""
    label = {"grade_id": "test1", "points": 5, "grade": True, "solution": False, "locked": True}
    notebook = new_notebook(cells=[new_code_cell("assert x", metadata={"nbgrader": label})])
    with pytest.raises(NotJudged, match="test1 checks no exercise"):
        Judge().preprocess(notebook, {})


@pytest.fixture
def formgrader(graded: GradedCourse, monkeypatch: pytest.MonkeyPatch) -> NbGraderAPI:
    """What formgrader's buttons call, with the course's own configuration."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    loader = PyFileConfigLoader("nbgrader_config.py", path=str(graded.course.root))
    config: Any = loader.load_config()
    return NbGraderAPI(CourseDirectory(config=config), config=config)


# nbgrader's own way with SQLAlchemy
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.slow
def test_our_failure_gives_no_points_and_is_tried_again(
    graded: GradedCourse, formgrader: NbGraderAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = json.loads((graded.course.root / "release" / NAME / f"{NAME}.ipynb").read_text())
    text = reference(FIRST) + "\n# not judged before"
    graded.course.submit(Submission("unlucky", packed(solved(released, {FIRST: text}))))
    with monkeypatch.context() as patch:
        patch.setattr(verdicts, "judge", lambda exercise, text: BROKEN)
        result = formgrader.autograde(NAME, "unlucky")
    assert not result["success"]
    assert "could not be judged, through no fault of the answer: No space" in result["log"]
    assert not formgrader.get_submission(NAME, "unlucky")["autograded"]
    assert formgrader.autograde(NAME, "unlucky")["success"]
    graded_now = formgrader.get_submission(NAME, "unlucky")
    assert graded_now["autograded"]
    assert graded_now["score"] == graded_now["max_score"] > 0
    assert not graded_now["needs_manual_grade"]
