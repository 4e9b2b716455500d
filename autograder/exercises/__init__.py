"""Every lesson's exercises, by name."""

from __future__ import annotations

import difflib

from autograder.exercise import Exercise, Lesson
from autograder.exercises import collectives, cuda, ddp, dp

LESSONS: tuple[Lesson, ...] = (cuda.LESSON, dp.LESSON, ddp.LESSON, collectives.LESSON)


class UnknownExercise(LookupError):
    """No exercise has this name; the message gives the nearest."""


def find(name: str) -> tuple[Lesson, Exercise]:
    """The exercise called ``name``, and its lesson.

    Raises:
        UnknownExercise: no lesson has it.
    """
    known = {e.name: (lesson, e) for lesson in LESSONS for e in lesson.exercises}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    raise UnknownExercise(f"There is no exercise {name!r}. Did you mean {near[0]!r}?")
