"""An answer's text in, a verdict out: the one road for notebooks, tests and grading."""

from __future__ import annotations

import ast
import functools
import hashlib
import random
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from autograder import cuda_answer
from autograder.answer import FILE, run_answer
from autograder.exercise import CUDA, Case, Exercise, Lesson
from autograder.exercises import find
from autograder.verdict import (
    FAILED,
    INFRASTRUCTURE,
    NOT_ATTEMPTED,
    PARTIAL,
    PASSED,
    Checked,
    Finding,
    Place,
    Verdict,
)
from course import cuda
from course.ranks import LaunchFailed, launch
from course.ranks.launch import preload
from course.ranks.outcome import Failure, Run
from course.ranks.show import printed

MAX_ANSWER_CHARACTERS = 200_000
MAX_VALUE_BYTES = 64 << 20
_CODE = (".py", ".h", ".cpp")

preload("autograder.exercises")
preload("autograder.answer")
preload("torch._dynamo")  # which optimizers and DDP import when first used: seconds, in every rank


def judge(exercise: str, text: str, *, seed: int | None = None) -> Verdict:
    """The verdict on ``text``, the whole text of the cell that answers ``exercise``.

    The inputs are made from ``seed``; without one, from the answer itself: the same answer
    always meets the same inputs, in the notebook and in grading, and no answer can be fitted
    to inputs that were seen before, since to change it changes them.

    Raises:
        UnknownExercise: no lesson has an exercise of this name.
    """
    lesson, task = find(exercise)
    return judge_as(lesson, task, text, seed=seed)


def judge_as(lesson: Lesson, task: Exercise, text: str, *, seed: int | None = None) -> Verdict:
    """As :func:`judge`, for an exercise that need not be in any registry."""
    began = time.monotonic()
    judgement = _Judgement(lesson, task, normalised(text), seed)
    return judgement.verdict(time.monotonic() - began)


def normalised(text: str) -> str:
    """The answer's text with Unix line ends and without blanks at its end.

    A notebook's way through editors and systems changes these, and they mean nothing.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip() + "\n"


def answer_key(exercise: str, text: str) -> str:
    """Under this key the verdict on an answer is stored: answer, exercise and harness."""
    parts = (harness_version(), exercise, normalised(text))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@functools.cache
def harness_version() -> str:
    """A digest of the code that judges, and of the torch that it judges with."""
    digest = hashlib.sha256(torch.__version__.encode())
    root = Path(__file__).resolve().parents[1]
    for folder in ("autograder", "course"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _CODE and "widgets" not in path.parts:  # pictures judge nothing
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Judgement:
    """One answer on its way to a verdict."""

    def __init__(self, lesson: Lesson, task: Exercise, text: str, seed: int | None) -> None:
        self._lesson = lesson
        self._task = task
        self._text = text
        digest = hashlib.sha256(f"{task.name}\0{text}".encode("utf-8", "surrogatepass"))
        self._digest = digest.hexdigest()
        self._random = random.Random(self._digest if seed is None else seed)
        self._output = ""
        self._state = FAILED
        self._findings = self._judge()

    def verdict(self, seconds: float) -> Verdict:
        checked = tuple(self._checked())
        earned = sum(c.points for c in checked)
        state, points = self._state, 0.0
        if not self._findings:
            state, points = PASSED, self._task.points
        elif self._task.partial and state == FAILED and earned > 0:
            state, points = PARTIAL, earned
        return Verdict(
            exercise=self._task.name,
            state=state,
            points=points,
            max_points=self._task.points,
            checked=checked,
            findings=tuple(self._findings),
            hint="" if state == PASSED else self._task.hint,
            output=self._output,
            seconds=round(seconds, 3),
            answer_digest=self._digest,
            harness=harness_version(),
        )

    def _judge(self) -> Sequence[Finding]:
        found = self._read()
        if found is not None:
            return [found]
        if self._task.language == CUDA:
            refused = self._build()
            if refused is not None:
                return [refused]
        findings: list[Finding] = []
        for case in self._task.cases(self._random):
            new = self._run_cuda(case) if self._task.language == CUDA else self._run(case)
            # What failed before is told with the input that showed it first.
            findings += [f for f in new if f.property not in {old.property for old in findings}]
            ended = any(not f.property for f in new)
            if ended or (findings and not self._task.partial):
                break  # later cases would only say the same of a harder input
        return findings

    # the text, before anything runs

    def _read(self) -> Finding | None:
        """What is wrong with the text itself."""
        if not self._text.strip():
            self._state = NOT_ATTEMPTED
            return Finding("stub", "The cell is empty: this exercise has not been started.")
        if len(self._text) > MAX_ANSWER_CHARACTERS:
            return Finding(
                "too_long",
                f"The cell has {len(self._text):,} characters; an answer may have "
                f"{MAX_ANSWER_CHARACTERS:,}.",
            )
        if "\0" in self._text:
            line = self._text[: self._text.index("\0")].count("\n") + 1
            place = Place(line, self._line(line))
            return Finding("syntax", f"There is a null byte in line {line}.", places=(place,))
        return self._read_cuda() if self._task.language == CUDA else self._read_python()

    def _read_python(self) -> Finding | None:
        try:
            tree = ast.parse(self._text, FILE)
        except SyntaxError as error:
            return self._syntax(error)
        except (ValueError, RecursionError, MemoryError) as error:
            return Finding("syntax", f"Python cannot read this cell: {error}.")
        return self._definition(tree)

    def _syntax(self, error: SyntaxError) -> Finding:
        line = min(error.lineno or 1, self._text.count("\n"))
        place = Place(line, self._line(line), error.msg, column=error.offset)
        advice = ""
        if self._line(line).lstrip().startswith(("%", "!")):
            advice = "Lines with % or ! are commands to the notebook: move them to another cell."
        return Finding(
            "syntax", f"Python cannot read line {line}: {error.msg}.", places=(place,),
            advice=advice,
        )  # fmt: skip

    def _definition(self, tree: ast.Module) -> Finding | None:
        name = self._task.name
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        ours = next((f for f in functions if f.name == name), None)
        if ours is not None and _is_stub(ours):
            self._state = NOT_ATTEMPTED
            return Finding("stub", f"{name} has not been written yet.")
        if ours is not None or _binds(tree, name):
            return None
        others = [f.name for f in tree.body if isinstance(f, ast.FunctionDef)]
        instead = f" It defines {', '.join(others)}." if others else ""
        return Finding(
            "missing",
            f"This cell does not define {name}.{instead}",
            advice=f"Write {_keyword(name)} {name}(...): in the cell above the check.",
        )

    # CUDA C++: one program, run once a case

    def _read_cuda(self) -> Finding | None:
        refused = cuda_answer.refused(self._text, self._task.name)
        if refused is not None and refused.code == "stub":
            self._state = NOT_ATTEMPTED
        return refused

    def _build(self) -> Finding | None:
        try:
            self._program = cuda_answer.build(self._text, self._task.harness)
        except cuda.CompileError as error:
            return cuda_answer.not_compiled(error, self._text, self._task.name)
        except cuda.ToolMissing as error:
            return self._infrastructure(str(error))
        return None

    def _run_cuda(self, case: Case) -> list[Finding]:
        task = self._task
        try:
            ran = cuda_answer.run(self._program, case.inputs[0], case.options, task.seconds)
        except cuda.ToolMissing as error:
            return [self._infrastructure(str(error))]
        except Exception:
            return [self._infrastructure("The check itself failed.", traceback.format_exc())]
        found = self._examined(case, ran)
        if found or not self._output:
            self._output = ran.run.stdout + ran.run.stderr
        return found

    # the ranks

    def _run(self, case: Case) -> list[Finding]:
        task = self._task
        try:
            run = launch(
                run_answer,
                case.world_size,
                self._lesson.prelude,
                self._text,
                task.name,
                task.call,
                per_rank=case.inputs,
                timeout=task.seconds,
                backend=task.backend,
                max_value_bytes=MAX_VALUE_BYTES,
            )
        except LaunchFailed as error:
            return [self._infrastructure(str(error))]
        if run.failure is not None:
            found = [self._failure(run.failure, case)]
        else:
            found = self._examined(case, run)
        if found or not self._output:  # of the case that failed, else of the first
            self._output = printed(run)
        return found

    def _examined(self, case: Case, run: Run | cuda_answer.Ran) -> list[Finding]:
        try:
            return [self._quoted(finding, case) for finding in self._task.examine(case, run)]
        except Exception:
            return [self._infrastructure("The check itself failed.", traceback.format_exc())]

    def _quoted(self, finding: Finding, case: Case) -> Finding:
        """The finding with its case, and with the text of the lines that it names."""
        places = tuple(replace(p, text=p.text or self._line(p.line)) for p in finding.places)
        message = f"With {_label(case)}: {finding.message}"
        return replace(finding, message=message, places=places)

    def _infrastructure(self, message: str, detail: str = "") -> Finding:
        self._state = INFRASTRUCTURE
        return Finding(INFRASTRUCTURE.replace(" ", "_"), message, detail=detail)

    def _failure(self, failure: Failure, case: Case) -> Finding:
        if failure.code == "infrastructure":
            return self._infrastructure(failure.message, failure.traceback)
        if failure.code == "stub":
            self._state = NOT_ATTEMPTED
        places = tuple(
            Place(line.line, self._line(line.line), line.note, line.rank)
            for line in failure.lines
            if line.file == FILE and line.line
        )
        return Finding(
            failure.code,
            f"With {_label(case)}: {failure.message}",
            places=places,
            advice=failure.advice,
            detail=failure.traceback,
        )

    def _line(self, number: int) -> str:
        lines = self._text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _checked(self) -> list[Checked]:
        """Each property: held, failed, or not reached because of what failed before it.

        One that held earns its points by itself only where the exercise gives credit for parts.
        """
        failed = {finding.property for finding in self._findings}
        pays = self._task.partial or not failed
        reached = "" not in failed
        checked = []
        for p in self._task.properties:
            held = None if not reached else p.name not in failed
            checked.append(Checked(p.name, held, p.points if held and pays else 0.0, p.points))
            if held is False and not self._task.partial:
                reached = False
        return checked


def _label(case: Case) -> str:
    return case.label or f"{case.world_size} rank{'s' * (case.world_size > 1)}"


def _keyword(name: str) -> str:
    return "class" if name[0].isupper() else "def"


def _is_stub(function: ast.FunctionDef) -> bool:
    """Whether nothing but ``raise NotImplementedError`` stands below the docstring."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc
    called = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(called, ast.Name) and called.id == "NotImplementedError"


def _binds(tree: ast.Module, name: str) -> bool:
    """Whether the text may give ``name`` a value in a way other than by ``def``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)) and node.name == name:
            return True
        if isinstance(node, ast.alias) and name in (node.asname, node.name):
            return True
    return False
