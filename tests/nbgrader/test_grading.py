"""Every kind of submission in one run of ``nbgrader autograde``."""

from __future__ import annotations

import csv
import html
import io
import re
from pathlib import Path

import nbformat
import pytest

from autograder.notebooks import check_id
from tests.nbgrader.conftest import NAME, GradedCourse
from tests.nbgrader.submissions import LESSON, NAMES, Submission

pytestmark = pytest.mark.slow

POINTS = {exercise.name: exercise.points for exercise in LESSON.exercises}
STUDENTS = [
    "perfect", "empty", "half", "deadlock", "exit", "hard_exit", "syntax", "noisy",
    "odd_characters", "windows", "nul", "copied_answer", "copied_check", "no_answer", "no_check",
    "forged_check", "more_points", "other_kernel", "below", "markdown", "big", "nonsense",
    "truncated", "zero_bytes", "zeros", "web_page", "zip", "latin", "conflict", "list", "deep",
    "renamed",
]  # fmt: skip


def submission(graded: GradedCourse, student: str) -> Submission:
    return next(s for s in graded.submissions if s.student == student)


def what_is_told(path: Path) -> str:
    """The text that grading added to the notebook, for the student to read."""
    notebook = nbformat.read(path, as_version=4)
    texts = [cell.source for cell in notebook.cells if cell.id == "about-your-file"]
    for cell in notebook.cells:
        texts += [output.data["text/html"] for output in cell.get("outputs", ())]
    return html.unescape(re.sub("<[^>]*>", "", "\n".join(texts)))


def test_no_submission_stops_the_run(graded: GradedCourse) -> None:
    assert graded.run.returncode == 0, graded.run.stderr
    assert [s.student for s in graded.submissions] == STUDENTS


@pytest.mark.parametrize("student", STUDENTS)
def test_points_and_message(graded: GradedCourse, student: str) -> None:
    handed_in = submission(graded, student)
    with graded.course.gradebook() as gradebook:
        grades = gradebook.find_submission_notebook(NAME, NAME, student).grades
        scores = {grade.name: grade.score for grade in grades}
        assert not any(grade.needs_manual_grade for grade in grades)
    assert scores == {
        check_id(name): POINTS[name] if name in handed_in.right else 0.0 for name in NAMES
    }
    told = what_is_told(graded.course.graded(student))
    for words in handed_in.says:
        assert words in told


def test_every_check_shows_a_verdict(graded: GradedCourse) -> None:
    for handed_in in graded.submissions:
        notebook = nbformat.read(graded.course.graded(handed_in.student), as_version=4)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                (output,) = cell.outputs
                assert output.output_type == "execute_result"
                assert float(output.data["text/plain"]) <= cell.metadata.nbgrader.points
                assert output.data["text/html"].strip()


def test_what_was_handed_in_stays_as_it_was(graded: GradedCourse) -> None:
    for handed_in in graded.submissions:
        folder = graded.course.root / "submitted" / handed_in.student / NAME
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert files == {handed_in.filename: handed_in.content}


def test_large_outputs_are_left_behind(graded: GradedCourse) -> None:
    assert len(submission(graded, "big").content) > 10_000_000
    assert graded.course.graded("big").stat().st_size < 500_000


def test_nothing_is_left_running(graded: GradedCourse) -> None:
    assert graded.left_running == []


def test_feedback_shows_verdicts_and_notes(graded: GradedCourse) -> None:
    run = graded.course.nbgrader("generate_feedback", NAME, "--student=[dr]e*")
    assert run.returncode == 0, run.stderr
    feedback = graded.course.root / "feedback"
    for student in "deadlock", "deep", "renamed":
        page = (feedback / student / NAME / f"{NAME}.html").read_text(encoding="utf-8")
        shown = html.unescape(re.sub("<[^>]*>", "", page))
        for words in submission(graded, student).says:
            assert words.replace("`", "") in shown


def test_export_has_a_row_for_each(graded: GradedCourse) -> None:
    run = graded.course.nbgrader("export")
    assert run.returncode == 0, run.stderr
    rows = csv.DictReader(io.StringIO((graded.course.root / "grades.csv").read_text("utf-8")))
    scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in rows}
    most = sum(POINTS.values())
    for handed_in in graded.submissions:
        assert scores[handed_in.student] == (sum(POINTS[n] for n in handed_in.right), most)
