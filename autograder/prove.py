"""Every exercise proves itself: ``python -m autograder.prove [exercise …]``.

The stub is told apart at once, the reference and every other right answer pass, every wrong
answer is rejected with the finding that its first line declares, and nothing takes longer than
its exercise allows. Answers lie in ``tests/answers/<exercise>/right_*.py`` and
``wrong_*.py``; those of CUDA C++ end in ``.cu``, and their declaration begins with ``//``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from autograder import notebooks
from autograder.exercise import CUDA, Exercise
from autograder.exercises import LESSONS, UnknownExercise, find
from autograder.judge import judge
from autograder.verdict import NOT_ATTEMPTED, Verdict
from course import cuda
from course.ranks import launch

ANSWERS = Path(__file__).resolve().parents[1] / "tests" / "answers"
LOG_WIDTH = 120  # a log has no width of its own, and the table needs about 100
LEAST_RIGHT, LEAST_WRONG = 2, 6  # beside the reference; fewer prove too little
_COMMENTS = {".py": "#", ".cu": "//"}


@dataclass(frozen=True)
class Answer:
    """An answer and what its verdict must be: the finding's code, or empty for a pass."""

    exercise: str
    kind: str  # reference, stub, right or wrong
    name: str
    text: str
    finding: str = ""


@dataclass(frozen=True)
class Proof:
    answer: Answer
    verdict: Verdict
    seconds: float
    objection: str = ""  # why this answer does not prove what it should


def answers(exercise: Exercise) -> list[Answer]:
    """All answers there are to an exercise.

    Raises:
        ValueError: a wrong answer does not declare its finding.
    """
    own = [
        Answer(exercise.name, "reference", "reference", notebooks.reference(exercise.name)),
        Answer(exercise.name, "stub", "stub", notebooks.stub(exercise.name), "stub"),
    ]
    return own + [_read(exercise.name, path) for path in _files(exercise.name)]


def _files(exercise: str) -> Iterator[Path]:
    for kind in ("right", "wrong"):
        paths = (ANSWERS / exercise).glob(f"{kind}_*")
        yield from sorted(path for path in paths if path.suffix in _COMMENTS)


def _read(exercise: str, path: Path) -> Answer:
    text = path.read_text(encoding="utf-8")
    if path.name.startswith("right_"):
        return Answer(exercise, "right", path.stem, text)
    first = text.split("\n", 1)[0]
    declaration = f"{_COMMENTS[path.suffix]} finding: "
    if not first.startswith(declaration):
        raise ValueError(f"{path.name} ({exercise}): its first line must be '{declaration}<code>'")
    return Answer(exercise, "wrong", path.stem, text, first.removeprefix(declaration).strip())


def prove(answer: Answer) -> Proof:
    began = time.monotonic()
    verdict = judge(answer.exercise, answer.text)
    seconds = time.monotonic() - began
    return Proof(answer, verdict, seconds, _objection(answer, verdict, seconds))


def _objection(answer: Answer, verdict: Verdict, seconds: float) -> str:
    _, exercise = find(answer.exercise)
    codes = [finding.code for finding in verdict.findings]
    if answer.finding and answer.finding not in codes:
        return f"wanted the finding {answer.finding!r}, got {codes or 'a pass'}"
    if not answer.finding and not verdict.passed:
        return f"must pass, got {codes}: {verdict.findings[0].message}"
    if answer.kind == "stub" and verdict.state != NOT_ATTEMPTED:
        return f"the stub's state is {verdict.state!r}, not {NOT_ATTEMPTED!r}"
    limit = 0.5 if answer.kind == "stub" else exercise.seconds + 2.0
    if seconds > limit:
        return f"took {seconds:.1f} s; its limit is {limit:g} s"
    return ""


def too_few(exercise: Exercise) -> str:
    """What is missing of the answers that an exercise needs to be proved, or nothing."""
    names = [path.name for path in _files(exercise.name)]
    right = sum(name.startswith("right_") for name in names)
    wrong = len(names) - right
    if right < LEAST_RIGHT or wrong < LEAST_WRONG:
        return (
            f"{exercise.name}: {right} right and {wrong} wrong answers; "
            f"it needs {LEAST_RIGHT} and {LEAST_WRONG}"
        )
    return ""


def main(
    names: Annotated[list[str] | None, typer.Argument(help="exercises; all without any")] = None,
    show: Annotated[bool, typer.Option(help="show each wrong answer's whole verdict")] = False,
) -> None:
    """Prove exercises, and print a row for each."""
    console = Console()
    if not console.is_terminal:
        console.width = LOG_WIDTH
    try:
        exercises = (
            [find(name)[1] for name in names]
            if names
            else [exercise for lesson in LESSONS for exercise in lesson.exercises]
        )
    except UnknownExercise as error:
        console.print(str(error), style="red")
        raise typer.Exit(2) from None
    wanted = [(e, a) for e in exercises for a in answers(e)]
    launch(int, 1)  # the server starts: no answer's time
    if any(exercise.language == CUDA for exercise in exercises):
        cuda.warm_up()
    proofs = [prove(a) for _, a in track(wanted, "judging", console=console, transient=True)]
    objections = [text for e in exercises if (text := too_few(e))]
    objections += [
        f"{p.answer.exercise}, {p.answer.name}: {p.objection}" for p in proofs if p.objection
    ]
    if show:
        for proof in proofs:
            if proof.answer.kind == "wrong":
                console.rule(f"{proof.answer.exercise} {proof.answer.name}")
                print(proof.verdict)
    console.print(_table(exercises, proofs))
    for text in objections:
        console.print(f"✘ {text}", style="red", highlight=False)
    sys.exit(1 if objections else 0)


def _table(exercises: list[Exercise], proofs: list[Proof]) -> Table:
    table = Table(Column("exercise", no_wrap=True), *_KINDS, "slowest", box=box.SIMPLE)
    for exercise in exercises:
        of = [p for p in proofs if p.answer.exercise == exercise.name]
        slowest = max(of, key=lambda p: p.seconds)
        table.add_row(
            exercise.name,
            *(_score([p for p in of if p.answer.kind == kind]) for kind in _KINDS),
            f"{slowest.seconds:.2f} s, {slowest.answer.name}",
        )
    return table


_KINDS = ("reference", "stub", "right", "wrong")


def _score(proofs: list[Proof]) -> str:
    held = sum(not p.objection for p in proofs)
    if len(proofs) == 1:
        return "✔" if held else "✘"
    return f"{held} of {len(proofs)}"


if __name__ == "__main__":
    typer.run(main)
