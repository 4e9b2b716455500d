"""The notebooks that are committed, and those that nbgrader makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import notebooks
from autograder.exercise import Lesson
from autograder.exercises import LESSONS
from autograder.nbgrader import generate
from tests.nbgrader.conftest import NAME, GradedCourse


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_committed_notebooks_are_what_the_text_makes(lesson: Lesson) -> None:
    assert generate.stale(lesson) == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_making_again_changes_no_byte(lesson: Lesson) -> None:
    assert generate.made(lesson) == generate.made(lesson)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_release_has_stubs_and_no_answer(lesson: Lesson) -> None:
    files = generate.made(lesson)
    released = files[Path("release", lesson.name, f"{lesson.name}.ipynb")].decode()
    assert "SOLUTION" not in released
    assert not [path for path in files if path.suffix == ".py" and "release" in path.parts]
    for exercise in lesson.exercises:
        for line in notebooks.stub(exercise.name).splitlines():
            assert line.replace("\\", "\\\\").replace('"', '\\"') in released


@pytest.mark.slow
def test_plain_nbgrader_makes_the_committed_release(graded: GradedCourse) -> None:
    """The committed notebooks are made without a gradebook, and this one with."""
    run = graded.course.nbgrader("generate_assignment", NAME)
    assert run.returncode == 0, run.stderr
    release = graded.course.root / "release" / NAME / f"{NAME}.ipynb"
    committed = (generate.ROOT / "release" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    made = release.read_text(encoding="utf-8")
    assert made.replace("no-such-kernel", "multi-gpu-course") == committed


def test_check_names_the_file_that_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a copy of the course: build it, find it clean, edit it, find it stale, build it again."""
    text = tmp_path / "source" / NAME / "lesson.py"
    text.parent.mkdir(parents=True)
    text.write_bytes((generate.ROOT / "source" / NAME / "lesson.py").read_bytes())
    (text.parent / "figure.svg").write_text("<svg/>")
    (tmp_path / "nbgrader_config.py").write_bytes(
        (generate.ROOT / "nbgrader_config.py").read_bytes()
    )
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    run = CliRunner().invoke
    built = run(notebooks.app, ["build", NAME])
    assert built.exit_code == 0, built.output
    release = tmp_path / "release" / NAME
    assert sorted(path.name for path in release.iterdir()) == [f"{NAME}.ipynb", "figure.svg"]
    clean = run(notebooks.app, ["check", NAME])
    assert (clean.exit_code, clean.output) == (0, "")
    (release / f"{NAME}.ipynb").write_text("{}")
    (release / "left.txt").write_text("behind")
    stale = run(notebooks.app, ["check", NAME])
    assert stale.exit_code == 1
    assert f"release/{NAME}/{NAME}.ipynb is not what" in stale.output
    assert f"release/{NAME}/left.txt is not what" in stale.output
    again = run(notebooks.app, ["build", NAME])
    assert again.output.count("wrote") == 2
    assert not (release / "left.txt").exists()


def test_command_line_refuses_in_one_sentence() -> None:
    command = [sys.executable, "-m", "autograder.notebooks", "build", "5"]
    run = subprocess.run(command, cwd=generate.ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1
    assert run.stderr.startswith("There is no lesson '5'; there are: ")
    assert NAME in run.stderr
    assert "Traceback" not in run.stderr
