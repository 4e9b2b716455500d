"""What passes on the CPU is CUDA C++ for NVIDIA's compiler, too (which needs no GPU)."""

from __future__ import annotations

import pytest

from autograder import cuda_answer, prove
from autograder.exercise import CUDA
from autograder.exercises import cuda as lesson
from course.cuda import toolchain

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(toolchain.nvcc() is None, reason="needs nvcc"),
]
ANSWERS = [
    (exercise, answer)
    for exercise in lesson.LESSON.exercises
    if exercise.language == CUDA
    for answer in prove.answers(exercise)
    if answer.kind in ("reference", "right")
]


@pytest.mark.parametrize(("exercise", "answer"), ANSWERS, ids=lambda x: x.name)
def test_nvcc_compiles_it(exercise, answer):
    cuda_answer.build(answer.text, exercise.harness, backend="gpu")
