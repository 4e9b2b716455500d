"""A course in a temporary folder, graded once by the real nbgrader for all tests here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook

from tests.nbgrader.submissions import LESSON, Submission, all_submissions

REPO = Path(__file__).resolve().parents[2]
NAME = LESSON.name
MARK = "COURSE_TEST_MARK"  # in the environment of what a test starts, and of all that this starts


@dataclass(frozen=True)
class Course:
    """An instructor's course folder, and the command line in it."""

    root: Path
    mark: str

    def nbgrader(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run nbgrader as someone does whose environment is not activated."""
        command = [str(Path(sys.executable).parent / "nbgrader"), *arguments]
        environment = os.environ | {MARK: self.mark, "PYTHONPATH": str(REPO)}
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=240
        )

    def submit(self, submission: Submission) -> None:
        folder = self.root / "submitted" / submission.student / NAME
        folder.mkdir(parents=True)
        (folder / submission.filename).write_bytes(submission.content)

    def graded(self, student: str) -> Path:
        return self.root / "autograded" / student / NAME / f"{NAME}.ipynb"

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        with Gradebook(f"sqlite:///{self.root}/gradebook.db") as gradebook:
            yield gradebook

    def left_running(self) -> list[str]:
        return [p.info["name"] for p in psutil.process_iter(["name"]) if self._is_ours(p)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self.mark
        except psutil.Error:
            return False


@dataclass(frozen=True)
class GradedCourse:
    course: Course
    submissions: list[Submission]
    run: subprocess.CompletedProcess[str]
    left_running: list[str]


def make_course(root: Path) -> Course:
    """A course as a fresh clone has it, without a gradebook; its kernel does not exist."""
    shutil.copy(REPO / "nbgrader_config.py", root)
    for folder in "source", "release":
        shutil.copytree(REPO / folder / NAME, root / folder / NAME)
        notebook = root / folder / NAME / f"{NAME}.ipynb"
        text = notebook.read_text(encoding="utf-8")
        changed = text.replace('"name": "multi-gpu-course"', '"name": "no-such-kernel"')
        assert changed != text
        notebook.write_text(changed, encoding="utf-8")
    return Course(root, uuid.uuid4().hex)


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> GradedCourse:
    course = make_course(tmp_path_factory.mktemp("course"))
    released = json.loads((course.root / "release" / NAME / f"{NAME}.ipynb").read_text("utf-8"))
    submissions = all_submissions(released)
    for submission in submissions:
        course.submit(submission)
    run = course.nbgrader("autograde", NAME)
    return GradedCourse(course, submissions, run, course.left_running())
