"""What an exercise is: its inputs, its oracle, its properties, its points and its hints."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.verdict import Finding

PYTHON, CUDA = "python", "cuda"  # what an answer can be written in


@dataclass(frozen=True)
class Case:
    """One launch of the answer: ``inputs[r]`` are the arguments that rank r's call gets.

    ``expected`` is the oracle's own record for ``examine``; it never leaves the judge. Of CUDA C++
    there is one process: ``inputs[0]`` are the arguments of its ``main``, and ``options`` how it is
    run (see :func:`autograder.cuda_answer.run`).
    """

    inputs: tuple[tuple[Any, ...], ...]
    expected: Any = None
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

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
    It gets a :class:`course.ranks.outcome.Run`, or of CUDA C++ an
    :class:`autograder.cuda_answer.Ran`, however that ended.
    ``call`` runs inside each rank and must be importable by name.
    ``backend`` is that of :func:`course.ranks.launch`: gloo where the exercise is about what gloo
    does (its sends block at any size, NCCL's may not), else None for what the machine has best.
    With ``partial`` each property that was reached and has no finding earns its own points;
    without, the points are all or nothing.
    An answer in CUDA C++ is the text of a ``%%cuda`` cell. It is compiled with ``harness``, which
    stands below it and has ``main``.
    """

    name: str
    title: str
    properties: tuple[Property, ...]
    cases: Callable[[random.Random], Sequence[Case]]
    examine: Callable[[Case, Any], Iterable[Finding]]
    hint: str
    difficulty: int  # 1 to 5
    minutes: int
    seconds: float = 5.0  # limit of one case
    partial: bool = False
    backend: str | None = None
    call: Callable[..., Any] = call_answer
    language: str = PYTHON
    harness: str = ""

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
