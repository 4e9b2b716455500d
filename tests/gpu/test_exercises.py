"""Exercises on real GPUs: one right answer passes, and one wrong answer gets its finding."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from autograder.exercises import LESSONS
from autograder.judge import judge

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs an NVIDIA GPU"),
]
ANSWERS = Path(__file__).resolve().parents[1] / "answers"
# Those of the other lessons compute on no device, or on virtual ones.
ON_RANKS = [
    exercise.name
    for lesson in LESSONS
    if lesson.name in ("03_ddp", "05_collectives")
    for exercise in lesson.exercises
]


@pytest.mark.parametrize("name", ON_RANKS)
def test_a_right_answer_passes(name):
    answer = sorted((ANSWERS / name).glob("right_*.py"))[0]
    verdict = judge(name, answer.read_text(encoding="utf-8"))
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["ring_all_reduce", "BucketedDDP", "average_gradients"])
def test_a_wrong_answer_gets_its_finding(name):
    answer = sorted((ANSWERS / name).glob("wrong_*.py"))[0]
    text = answer.read_text(encoding="utf-8")
    wanted = text.split("\n", 1)[0].removeprefix("# finding: ").strip()
    assert wanted in [finding.code for finding in judge(name, text).findings]
