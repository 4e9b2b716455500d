"""What an exercise is: its inputs, its oracle, its properties, its points and its hints."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.verdict import Finding
from course.ranks.outcome import Run


@dataclass(frozen=True)
class Case:
    """One launch of the answer: ``inputs[r]`` are the arguments that rank r's call gets.

    ``expected`` is the oracle's own record for ``examine``; it never leaves the judge.
    """

    inputs: tuple[tuple[Any, ...], ...]
    expected: Any = None
    label: str = ""

    @property
    def world_size(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True)
class Property:
    """Something that a right answer has, in the learner's words, and what it is worth."""

    name: str
    points: float


def call_answer(answer: Callable[..., Any], *inputs: Any) -> Any:
    """What a rank does with the answer unless the exercise says otherwise."""
    return answer(*inputs)


@dataclass(frozen=True)
class Exercise:
    """One exercise. Its name is the name of the function that the learner writes.

    ``cases`` makes fresh inputs from a seeded generator; cases run in order and the first
    that fails ends the check. ``examine`` is called outside the answer's processes for each
    case whose ranks all returned, and gives what is wrong (nothing, for a right answer).
    ``call`` runs inside each rank and must be importable by name.
    ``backend`` is that of :func:`course.ranks.launch`: gloo where the exercise is about what gloo
    does (its sends block at any size, NCCL's may not), else None for what the machine has best.
    With ``partial`` each property that was reached and has no finding earns its own points;
    without, the points are all or nothing.
    """

    name: str
    title: str
    properties: tuple[Property, ...]
    cases: Callable[[random.Random], Sequence[Case]]
    examine: Callable[[Case, Run], Iterable[Finding]]
    hint: str
    difficulty: int  # 1 to 5
    minutes: int
    seconds: float = 5.0  # limit of one case
    partial: bool = False
    backend: str | None = None
    call: Callable[..., Any] = call_answer

    @property
    def points(self) -> float:
        return sum(p.points for p in self.properties)


@dataclass(frozen=True)
class Lesson:
    """A notebook: its exercises in order, and the setup that every answer may rely on."""

    name: str
    title: str
    prelude: str
    exercises: tuple[Exercise, ...]
