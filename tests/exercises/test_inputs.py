"""What all exercises' inputs have in common."""

from __future__ import annotations

import random

import pytest

from autograder.exercise import Exercise
from autograder.exercises import LESSONS

EXERCISES = [exercise for lesson in LESSONS for exercise in lesson.exercises]
# Their answers compute in one process; what they are given was measured by others.
WITHOUT_RANKS = {"fit_alpha_beta", "crossover", "comm_share"}
ON_RANKS = [
    exercise
    for lesson in LESSONS
    if lesson.name in ("03_ddp", "05_collectives")
    for exercise in lesson.exercises
    if exercise.name not in WITHOUT_RANKS
]


def name_of(exercise: Exercise) -> str:
    return exercise.name


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_they_depend_on_the_seed_and_on_nothing_else(exercise):
    def inputs(seed: int) -> str:
        return str([case.inputs for case in exercise.cases(random.Random(seed))])

    assert inputs(1) == inputs(1)
    assert len({inputs(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize("exercise", ON_RANKS, ids=name_of)
def test_1_to_4_ranks_are_all_tried_several_first(exercise):
    sizes = [case.world_size for case in exercise.cases(random.Random(0))]
    assert {1, 2, 3, 4} <= set(sizes)
    assert sizes[0] > 1
