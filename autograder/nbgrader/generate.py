"""Both notebooks of a lesson, as files: the release is made by nbgrader itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import Config, PyFileConfigLoader

from autograder.exercise import Lesson
from autograder.notebooks import ROOT, LessonError, lesson_text, source_notebook

Files = dict[Path, bytes]  # by path below the course's root


def made(lesson: Lesson) -> Files:
    """The source notebook and the whole release folder, as they would be written.

    Raises:
        LessonError: the lesson's text cannot become a notebook.
    """
    name = Path("source", lesson.name, f"{lesson.name}.ipynb")
    notebook = nbformat.writes(source_notebook(lesson_text(lesson), lesson)) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder).resolve()
        shutil.copytree(
            ROOT / "source" / lesson.name,
            course / "source" / lesson.name,
            ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints"),
        )
        (course / name).write_text(notebook, encoding="utf-8")
        _generate(course, lesson.name)
        return {name: (course / name).read_bytes()} | _files(course / "release", course)


def write(lesson: Lesson) -> list[Path]:
    """Write what differs, and say what was written or removed.

    Raises:
        LessonError: the lesson's text cannot become a notebook.
    """
    files = made(lesson)
    differing = _differing(lesson, files)
    for path in differing:
        if path not in files:
            (ROOT / path).unlink()
            continue
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(files[path])
    return differing


def stale(lesson: Lesson) -> list[Path]:
    """The files that are not what the lesson's text makes.

    Raises:
        LessonError: the lesson's text cannot become a notebook.
    """
    return _differing(lesson, made(lesson))


def _differing(lesson: Lesson, files: Files) -> list[Path]:
    source = Path("source", lesson.name, f"{lesson.name}.ipynb")
    there = _files(ROOT / "release" / lesson.name, ROOT)
    if (ROOT / source).is_file():
        there[source] = (ROOT / source).read_bytes()
    return sorted(p for p in files.keys() | there.keys() if files.get(p) != there.get(p))


def _files(folder: Path, root: Path) -> Files:
    return {
        path.relative_to(root): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }


def _generate(course: Path, assignment: str) -> None:
    """What ``nbgrader generate_assignment --no-db`` does, in another folder."""
    config: Config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    config.CourseDirectory.root = str(course)
    config.GenerateAssignment.no_database = True
    config.SaveCells.enabled = False
    coursedir = CourseDirectory(config=config, assignment_id=assignment)
    GenerateAssignment(coursedir=coursedir, config=config).start()
    if not any((course / "release").rglob("*.ipynb")):
        raise LessonError(f"{assignment}: nbgrader made no release; its log says why.")
