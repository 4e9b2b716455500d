"""Each lesson through plain nbgrader: a perfect submission, and one that nobody touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.exercise import Lesson
from autograder.exercises import LESSONS
from autograder.judge import judge
from autograder.notebooks import ROOT, reference
from course.ranks import launch
from tests.lessons.test_notebooks_run import solved

pytestmark = pytest.mark.slow

SECONDS = 15  # to judge a perfect submission
PATIENCE = 4  # a busy machine is no fault of the lesson


def make_course(root: Path, lesson: Lesson) -> None:
    shutil.copy(ROOT / "nbgrader_config.py", root)
    for folder in "source", "release":
        shutil.copytree(ROOT / folder / lesson.name, root / folder / lesson.name)
    released = ROOT / "release" / lesson.name / f"{lesson.name}.ipynb"
    perfect = nbformat.writes(solved(lesson))
    for student, text in (("perfect", perfect), ("empty", released.read_text("utf-8"))):
        submitted = root / "submitted" / student / lesson.name
        submitted.mkdir(parents=True)
        (submitted / released.name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_perfect_submission_has_all_points_and_an_empty_one_none(
    lesson: Lesson, tmp_path: Path
) -> None:
    make_course(tmp_path, lesson)
    run = subprocess.run(
        [Path(sys.executable).parent / "nbgrader", "autograde", lesson.name],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    points = sum(exercise.points for exercise in lesson.exercises)
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        found = {s.student.id: s for s in gradebook.assignment_submissions(lesson.name)}
        assert {s.max_score for s in found.values()} == {points}
        assert {student: s.score for student, s in found.items()} == {"perfect": points, "empty": 0}
        assert not any(s.needs_manual_grade for s in found.values())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_judging_a_perfect_submission_is_quick(lesson: Lesson) -> None:
    launch(abs, 1, -1)  # the server starts: no answer's time
    began = time.monotonic()
    passed = {e.name: judge(e.name, reference(e.name)).passed for e in lesson.exercises}
    seconds = time.monotonic() - began
    print(f"{lesson.name}: {seconds:.1f} s")
    assert [name for name, well in passed.items() if not well] == []
    assert seconds < SECONDS * PATIENCE
