"""The oracles of lesson 01: inputs that tell, mistakes told apart, and a device with a clock."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from autograder.exercise import CUDA, Case, Exercise
from autograder.exercises import cuda as lesson
from autograder.exercises.cuda import bandwidth, block_sum, grid_size, matmul_tiled, occupancy
from autograder.exercises.cuda.shared import SENTINEL, comparison, not_written
from course.ranks.outcome import RETURNED, Outcome, Run


def a_run(value: Any) -> Run:
    return Run((Outcome(0, RETURNED, value),), 1.0)


def codes(findings: Any) -> list[str]:
    return [finding.code for finding in findings]


def first_case(exercise: Exercise) -> Case:
    return exercise.cases(random.Random(0))[0]


@pytest.mark.parametrize("exercise", lesson.LESSON.exercises, ids=lambda e: e.name)
def test_inputs_depend_on_the_seed_and_on_nothing_else(exercise: Exercise):
    def inputs(seed: int) -> str:
        return str([case.inputs for case in exercise.cases(random.Random(seed))])

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)


@pytest.mark.parametrize("exercise", lesson.LESSON.exercises, ids=lambda e: e.name)
def test_every_case_says_what_it_is(exercise: Exercise):
    for case in exercise.cases(random.Random(0)):
        assert case.world_size == 1
        assert case.label
        assert (exercise.language == CUDA) == bool(exercise.harness)


def test_sizes_that_tell_are_met():
    sizes = {(len(c.expected[0]), c.expected[2]) for c in lesson.VEC_ADD.cases(random.Random(0))}
    assert {(1, 256), (255, 256), (256, 256), (257, 256)} <= sizes
    assert any(n % block for n, block in sizes)
    shapes = matmul_tiled._SHAPES
    assert any(m % matmul_tiled.TILE and n % matmul_tiled.TILE and k % matmul_tiled.TILE
               for m, n, k, _ in shapes)  # fmt: skip
    assert len({seed for *_, seed in block_sum._LAUNCHES}) > 3  # several orders of the threads


# --- arrays -------------------------------------------------------------------------------------


def written(n: int, *holes: int) -> np.ndarray:
    found = np.ones(n, np.float32)
    found[list(holes)] = SENTINEL
    return found


@pytest.mark.parametrize(
    ("got", "code"),
    [
        (written(10), []),
        (written(10, *range(10)), ["nothing_written"]),
        (written(10, *range(4, 10)), ["only_first_block"]),
        (written(10, 8, 9), ["tail_not_written"]),
        (written(10, 2), ["holes"]),
        (written(3, 0, 1, 2), ["nothing_written"]),
    ],
)
def test_what_is_missing_says_why(got, code):
    assert codes(not_written(got, "property", block=4)) == code


def test_a_comparison_shows_the_first_that_differ_and_no_others():
    got, wanted = np.arange(20, dtype=np.float32), np.arange(20, dtype=np.float32)
    got[[3, 5]] = SENTINEL, 7
    assert comparison(got, wanted).rows == (("3", "not written", "3"), ("5", "7", "5"))
    assert len(comparison(-got - 1, wanted, most=4).rows) == 4


# --- Python's exercises -------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, [], 3, "x", [None] * 10, [1.0] * 10, {"a": 1}])
def test_nonsense_is_a_finding_and_no_error(value):
    for exercise in (lesson.GRID_SIZE, lesson.OCCUPANCY, lesson.BEST_BLOCK, lesson.BANDWIDTH):
        assert codes(exercise.examine(first_case(exercise), a_run(value)))


def test_every_mistake_of_occupancy_can_be_told_from_the_others():
    questions = first_case(lesson.OCCUPANCY).expected
    found = {
        code: tuple(occupancy._blocks(q, **mistake) for q in questions)
        for code, (mistake, _, _) in occupancy._MISTAKES.items()
    }
    right = tuple(occupancy.pair(*q) for q in questions)
    assert tuple(occupancy._blocks(q) for q in questions) == right
    assert right not in found.values()
    assert len(set(found.values())) == len(found)


def test_some_kernels_cannot_be_launched_at_all():
    questions = first_case(lesson.OCCUPANCY).expected
    assert sum(occupancy.pair(*q) == (0, 0) for q in questions) >= 3


def test_zero_elements_take_no_block():
    case = first_case(lesson.GRID_SIZE)
    right = [-(-n // block) for n, block in case.expected]
    assert 0 in right
    assert codes(grid_size.examine(case, a_run(right))) == []


def test_the_sum_of_a_last_block_that_is_not_full():
    assert block_sum.sums_of(np.arange(5, dtype=np.float32), 2).tolist() == [1, 5, 4]


def test_tiles_are_read_once_for_each_tile_across():
    a, b = np.ones((17, 21), np.float32), np.ones((21, 9), np.float32)
    assert matmul_tiled._Expected(a, b).reads == 17 * 21 * 2 + 21 * 9 * 3


# --- the device with a clock --------------------------------------------------------------------


def test_a_call_comes_back_before_the_work_is_done():
    device = bandwidth.Device(seconds=1.0, first=5.0)
    device.work()
    assert device.clock() == pytest.approx(5e-6)
    device.synchronize()
    assert device.clock() == pytest.approx(5.0, rel=1e-4)
    device.work()
    device.work()
    device.synchronize()
    assert device.clock() == pytest.approx(7.0, rel=1e-4)


def test_work_that_was_queued_before_is_waited_for_too():
    device = bandwidth.Device(seconds=1.0, first=1.0, queued=10.0)
    device.work()
    device.synchronize()
    assert device.clock() == pytest.approx(11.0, rel=1e-4)


def test_a_time_without_waiting_is_above_the_peak_of_every_card():
    for case in lesson.BANDWIDTH.cases(random.Random(0)):
        device, moved = case.inputs[0]
        played = bandwidth.Device(*device)
        begin = played.clock()
        played.work()
        assert moved / (played.clock() - begin) > 10 * case.expected.peak
