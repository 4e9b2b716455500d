"""A lesson's text to its notebooks, and the answers out of a submitted one.

``source/<lesson>/lesson.py`` is jupytext's py:percent. Four kinds of cell are the builder's
business, told by what follows the ``%%``; every other cell goes into the notebook as it is.

``# %% prelude``
    the setup that is prepended to each answer. Left empty, it is filled from the Lesson;
    otherwise it must be the Lesson's, to the letter.
``# %% [markdown] exercise <exercise>``
    the task in the author's words. A headline with difficulty, minutes and points is put
    above them, and the hint, folded, below.
``# %% answer <exercise>``
    the reference answer; what stands between ``### BEGIN SOLUTION`` and ``### END SOLUTION``
    is what the student writes.
``# %% check <exercise>``
    ``check(<exercise>)``, worth the exercise's points. Left empty.

A cell of CUDA C++, answer or plain, is marked as jupytext marks cells of other languages:
``# %% answer vec_add language="cuda"``, with its lines as comments. It becomes a ``%%cuda`` cell,
and what ``magic_args="..."`` says stands behind that.

    python -m autograder.notebooks build     write source/*/*.ipynb and release/*/*.ipynb
    python -m autograder.notebooks check     fail when what is there is not what would be made
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jupytext
import nbformat
import typer
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder import cuda_answer, exercises
from autograder.exercise import CUDA, Exercise, Lesson
from course.cuda import cells as cuda_cells

ROOT = Path(__file__).resolve().parents[1]

KERNELSPEC = {"name": "multi-gpu-course", "display_name": "Multi-GPU course", "language": "python"}
LANGUAGE = {"name": "python", "file_extension": ".py", "pygments_lexer": "ipython3"}

# What nbgrader puts in a solution's place, unless configured otherwise.
CODE_STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
CUDA_STUB = (cuda_answer.STUB,)  # see autograder.nbgrader.clear
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"

CELL_TYPES = {"prelude": "code", "exercise": "markdown", "answer": "code", "check": "code"}


class LessonError(ValueError):
    """The lesson's text cannot become a notebook; the message is one sentence that says why."""


# --- lesson text → source notebook -----------------------------------------------------------


@dataclass(frozen=True)
class LessonCell:
    """One cell of the lesson's text. ``kind`` is a key of CELL_TYPES, or empty for a plain one."""

    kind: str
    exercise: str
    node: NotebookNode

    @property
    def source(self) -> str:
        return str(self.node.source)


def source_notebook(text: str, lesson: Lesson) -> NotebookNode:
    """The instructor's notebook, with answers and nbgrader's metadata, from the lesson's text.

    Raises:
        LessonError: a directive that is misspelt, missing, twice or in the wrong place.
    """
    cells = lesson_cells(text, lesson)
    _refuse_incomplete(cells, lesson)
    notebook = new_notebook(metadata={"kernelspec": KERNELSPEC, "language_info": LANGUAGE})
    notebook.cells = [_notebook_cell(cell, lesson) for cell in cells]
    _name_plain_cells(notebook.cells)
    nbformat.validate(notebook)
    return notebook


def lesson_cells(text: str, lesson: Lesson) -> list[LessonCell]:
    """The cells of the lesson's text, each with its directive.

    Raises:
        LessonError: an unknown directive or exercise, or a cell of the wrong type.
    """
    return [_lesson_cell(node, lesson) for node in jupytext.reads(text, fmt="py:percent").cells]


def _lesson_cell(node: NotebookNode, lesson: Lesson) -> LessonCell:
    if node.metadata.get("language") == CUDA:
        arguments = node.metadata.get("magic_args", "")
        node.source = f"{cuda_cells.MAGIC} {arguments}".rstrip() + f"\n{node.source}"
    title = node.metadata.get("title", "")
    kind, *names = title.split()[:3] or [""]
    if not kind:
        return LessonCell("", "", node)
    if kind not in CELL_TYPES or len(names) != (kind != "prelude"):
        raise LessonError(
            f"{lesson.name}: '# %% {title}' is no directive: write "
            "'prelude', or 'exercise', 'answer' or 'check' and an exercise's name."
        )
    if node.cell_type != CELL_TYPES[kind]:
        raise LessonError(f"{lesson.name}: '{title}' must be a {CELL_TYPES[kind]} cell.")
    if names:
        _exercise(names[0], lesson)
    return LessonCell(kind, "".join(names), node)


def _exercise(name: str, lesson: Lesson) -> Exercise:
    for exercise in lesson.exercises:
        if exercise.name == name:
            return exercise
    near = difflib.get_close_matches(name, [e.name for e in lesson.exercises], n=1, cutoff=0.0)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise LessonError(f"{lesson.name}: there is no exercise {name!r} in this lesson.{meant}")


def _refuse_incomplete(cells: list[LessonCell], lesson: Lesson) -> None:
    there = Counter((cell.kind, cell.exercise) for cell in cells if cell.kind)
    wanted = [("prelude", "")] if lesson.prelude else []
    wanted += [(kind, e.name) for e in lesson.exercises for kind in ("exercise", "answer", "check")]
    for kind, name in wanted:
        directive = f"'{kind} {name}'".replace(" '", "'")
        if there[kind, name] != 1:
            how = "no" if not there[kind, name] else "more than one"
            raise LessonError(f"{lesson.name}: there is {how} cell {directive}.")
    places = {(cell.kind, cell.exercise): place for place, cell in enumerate(cells)}
    for e in lesson.exercises:
        if not places["exercise", e.name] < places["answer", e.name] < places["check", e.name]:
            raise LessonError(
                f"{lesson.name}: the cells of {e.name} must come in this order: "
                "exercise, answer, check."
            )
    for cell in cells:
        for e in lesson.exercises if cell.node.cell_type == "code" else ():
            if cell.exercise != e.name and defines(e.name, cell.source):
                what = f"the answer to {cell.exercise}" if cell.exercise else "a plain cell"
                raise LessonError(
                    f"{lesson.name}: {what} defines {e.name}; "
                    "in a submission it would be taken for the answer."
                )


def _notebook_cell(cell: LessonCell, lesson: Lesson) -> NotebookNode:
    if cell.kind == "prelude":
        return _prelude_cell(cell, lesson)
    if cell.kind == "exercise":
        return _exercise_cell(cell, lesson)
    if cell.kind == "answer":
        return _answer_cell(cell, lesson)
    if cell.kind == "check":
        return _check_cell(cell, lesson)
    return _plain_cell(cell)


def _prelude_cell(cell: LessonCell, lesson: Lesson) -> NotebookNode:
    if cell.source and cell.source.strip() != lesson.prelude.strip():
        raise LessonError(
            f"{lesson.name}: the prelude cell differs from the Lesson's prelude; "
            "leave the cell empty to have it filled in."
        )
    return new_code_cell(
        lesson.prelude.strip(), id="prelude", metadata=_nbgrader("prelude", locked=True)
    )


def _exercise_cell(cell: LessonCell, lesson: Lesson) -> NotebookNode:
    exercise = _exercise(cell.exercise, lesson)
    number = lesson.exercises.index(exercise) + 1
    parts = [f"### Exercise {number}: {exercise.title}", _weight(exercise), cell.source.strip()]
    if exercise.hint:
        parts += ["<details><summary>Hint</summary>", exercise.hint.strip(), "</details>"]
    return new_markdown_cell(
        "\n\n".join(part for part in parts if part),
        id=f"exercise-{exercise.name}",
        metadata=_kept(cell),
    )


def _weight(exercise: Exercise) -> str:
    dots = "●" * exercise.difficulty + "○" * (5 - exercise.difficulty)
    points = f"{exercise.points:g} point" + ("" if exercise.points == 1 else "s")
    return f"{dots} · about {exercise.minutes} minutes · {points}"


def _answer_cell(cell: LessonCell, lesson: Lesson) -> NotebookNode:
    marks = re.findall(f"{BEGIN}|{END}", cell.source)
    if not marks or marks != [BEGIN, END] * (len(marks) // 2):
        raise LessonError(
            f"{lesson.name}: the answer to {cell.exercise} must have one line '### {BEGIN}' and "
            f"one line '### {END}' around each part that students write."
        )
    if cell.exercise not in stub_of(cell.source):
        raise LessonError(
            f"{lesson.name}: {cell.exercise} is not named outside the solution in its answer cell; "
            "students need its first line."
        )
    metadata = _kept(cell) | _nbgrader(cell.exercise, solution=True)
    return new_code_cell(cell.source, id=f"answer-{cell.exercise}", metadata=metadata)


def _check_cell(cell: LessonCell, lesson: Lesson) -> NotebookNode:
    exercise = _exercise(cell.exercise, lesson)
    call = f'check("{exercise.name}")' if exercise.language == CUDA else f"check({exercise.name})"
    if cell.source.strip() not in ("", call):
        raise LessonError(
            f"{lesson.name}: the cell 'check {exercise.name}' is filled in by the builder; "
            "leave it empty."
        )
    grade_id = check_id(exercise.name)
    metadata = _kept(cell) | _nbgrader(grade_id, grade=True, locked=True, points=exercise.points)
    return new_code_cell(call, id=grade_id, metadata=metadata)


def check_id(exercise: str) -> str:
    """The grade_id of the cell that checks an exercise; its answer's is the exercise's name."""
    return f"check-{exercise}"


def _plain_cell(cell: LessonCell) -> NotebookNode:
    new = new_markdown_cell if cell.node.cell_type == "markdown" else new_code_cell
    return new(cell.source, metadata=_kept(cell))


def _kept(cell: LessonCell) -> dict[str, Any]:
    """What the author says about a cell (tags, say), without what jupytext notes for itself."""
    own = {
        "language",
        "magic_args",
        "title",
        "lines_to_next_cell",
        "lines_to_end_of_cell_marker",
        "id",
        "nbgrader",
    }
    return {key: value for key, value in cell.node.metadata.items() if key not in own}


def _nbgrader(grade_id: str, **fields: Any) -> dict[str, Any]:
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    return {"nbgrader": {"grade_id": grade_id, "schema_version": 3, **plain, **fields}}


def _name_plain_cells(cells: list[NotebookNode]) -> None:
    """Give every plain cell an id of its text, so that making it again changes nothing."""
    seen: Counter[str] = Counter()
    for cell in cells:
        if "nbgrader" in cell.metadata or cell.id.startswith("exercise-"):
            continue
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


# --- stub and reference ----------------------------------------------------------------------


def stub(exercise: str) -> str:
    """The answer cell of an exercise as students get it.

    Raises:
        UnknownExercise: no lesson has it.
        LessonError: its lesson's text cannot become a notebook.
    """
    return stub_of(_answer_texts(exercises.find(exercise)[0])[exercise])


def reference(exercise: str) -> str:
    """The answer cell of an exercise as its author wrote it, without the solution's marks.

    Raises:
        UnknownExercise: no lesson has it.
        LessonError: its lesson's text cannot become a notebook.
    """
    text = _answer_texts(exercises.find(exercise)[0])[exercise]
    return "\n".join(line for line in text.split("\n") if BEGIN not in line and END not in line)


def stub_of(text: str) -> str:
    """An answer cell's text with nbgrader's stub for its solution, as nbgrader itself makes it."""
    lines, inside = [], False
    code = CUDA_STUB if cuda_cells.is_cuda(text) else CODE_STUB
    for line in text.split("\n"):
        if BEGIN in line:
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + stub_line for stub_line in code]
        elif END in line:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


@functools.lru_cache
def _answer_texts(lesson: Lesson) -> dict[str, str]:
    cells = lesson_cells(lesson_text(lesson), lesson)
    return {cell.exercise: cell.source for cell in cells if cell.kind == "answer"}


def lesson_text(lesson: Lesson) -> str:
    """The text of a lesson.

    Raises:
        LessonError: there is no such file.
    """
    path = ROOT / "source" / lesson.name / "lesson.py"
    if not path.is_file():
        raise LessonError(f"{lesson.name}: there is no {path.relative_to(ROOT)}.")
    return path.read_text(encoding="utf-8")


# --- submitted notebook → answers ------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a submission answers to one exercise; ``notes`` tell the student which cell it was."""

    text: str
    notes: tuple[str, ...] = ()


def answers(notebook: NotebookNode, lesson: Lesson) -> dict[str, Answer]:
    """The answer to each exercise of the lesson; the stub where the notebook has none.

    Raises:
        LessonError: the lesson's text cannot become a notebook.
    """
    return find_answers(notebook, {name: stub_of(t) for name, t in _answer_texts(lesson).items()})


def find_answers(notebook: NotebookNode, stubs: Mapping[str, str]) -> dict[str, Answer]:
    """The answer to each exercise, given the stubs that students got.

    A cell may answer when it carries the exercise's grade_id, whatever its type has become, or
    when it is code that defines the exercise by name (cells lose their metadata when they are
    pasted, and students write below the answer cell). Of several, a cell that differs from the
    stub goes before one that does not, then one that defines the exercise, then one with the
    grade_id, then the last.
    """
    return {name: _answer(_candidates(notebook, name, text), text) for name, text in stubs.items()}


@dataclass(frozen=True)
class _Candidate:
    position: int  # 1 is the notebook's first cell
    cell_type: str
    text: str
    attempted: bool
    defines: bool
    tagged: bool

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        return self.attempted, self.defines, self.tagged, self.position


def _candidates(notebook: NotebookNode, exercise: str, stub: str) -> list[_Candidate]:
    found = []
    for position, cell in enumerate(notebook.cells, 1):
        text = _unix(cell.source)
        candidate = _Candidate(
            position=position,
            cell_type=cell.cell_type,
            text=text,
            attempted=bool(text.strip()) and _squeezed(text) != _squeezed(stub),
            defines=defines(exercise, text),
            tagged=grade_id(cell) == exercise,
        )
        if candidate.tagged or (candidate.defines and cell.cell_type == "code"):
            found.append(candidate)
    return found


def _answer(candidates: list[_Candidate], stub: str) -> Answer:
    if not candidates:
        return Answer(stub, ("The answer cell was not in the notebook that was handed in.",))
    best = max(candidates, key=lambda c: c.rank)
    if not best.attempted:
        return Answer(stub)
    notes = []
    rivals = [c for c in candidates if c.attempted and _squeezed(c.text) != _squeezed(best.text)]
    if rivals:
        cells = ", ".join(str(c.position) for c in sorted([*rivals, best], key=lambda c: c.rank[3]))
        notes.append(
            f"This answer was in the notebook {_times(len(rivals) + 1)} (cells {cells}): "
            f"cell {best.position} was graded."
        )
    elif not best.tagged:
        notes.append(f"The answer was taken from cell {best.position}, not from the answer cell.")
    if best.cell_type != "code":
        notes.append(f"Cell {best.position} had become a {best.cell_type} cell; it was graded.")
    return Answer(best.text, tuple(notes))


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def defines(exercise: str, text: str) -> bool:
    """Whether the text has a function or a class of this name, at the cell's outer level."""
    if cuda_cells.is_cuda(text):
        return cuda_cells.defines(exercise, text)
    name = re.escape(exercise)
    return re.search(rf"^((async\s+)?def\s+{name}\s*\(|class\s+{name}\b)", text, re.M) is not None


def grade_id(cell: NotebookNode) -> str:
    """The cell's grade_id, or nothing; whatever a submission has there."""
    label = cell.metadata.get("nbgrader")
    return str(label.get("grade_id", "")) if isinstance(label, dict) else ""


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _squeezed(text: str) -> str:
    """The text without what an editor changes by itself: blanks at line ends, lines at the end."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


# --- command line ----------------------------------------------------------------------------

app = typer.Typer(add_completion=False, no_args_is_help=True)
Names = Annotated[list[str] | None, typer.Argument(help="Lessons by name; all when not given.")]


def _lessons(names: list[str] | None) -> list[Lesson]:
    known = {lesson.name: lesson for lesson in exercises.LESSONS}
    for name in names or ():
        if name not in known:
            raise LessonError(f"There is no lesson {name!r}; there are: {', '.join(known)}.")
    return [known[name] for name in names or known]


@app.command()
def build(names: Names = None) -> None:
    """Write both notebooks of each lesson."""
    from autograder.nbgrader.generate import write

    for lesson in _lessons(names):
        for path in write(lesson):
            typer.echo(f"wrote {path}")


@app.command()
def check(names: Names = None) -> None:
    """Fail when a notebook is not what its lesson's text makes."""
    from autograder.nbgrader.generate import stale

    differing = [path for lesson in _lessons(names) for path in stale(lesson)]
    for path in differing:
        typer.echo(f"{path} is not what the lesson's text makes: run `make notebooks`.", err=True)
    if differing:
        raise typer.Exit(1)


def main() -> None:
    try:
        app()
    except LessonError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    # As the module that the others import: run by -m, this one is a second copy of it.
    from autograder.notebooks import main as run

    run()
