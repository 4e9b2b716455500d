"""Every answer under tests/answers gets the verdict that it declares, as `make exercises` shows."""

from __future__ import annotations

import pytest

from autograder import prove
from autograder.exercises import LESSONS

EXERCISES = [exercise for lesson in LESSONS for exercise in lesson.exercises]
ANSWERS = [answer for exercise in EXERCISES for answer in prove.answers(exercise)]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{a.exercise}-{a.name}")
def test_answer(answer):
    proof = prove.prove(answer)
    assert not proof.objection, f"{proof.objection}\n{proof.verdict}"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_there_are_enough_answers(exercise):
    assert prove.too_few(exercise) == ""


def test_every_folder_of_answers_belongs_to_an_exercise():
    folders = {folder.name for folder in prove.ANSWERS.iterdir() if folder.is_dir()}
    assert folders == {exercise.name for exercise in EXERCISES}


def test_a_wrong_answer_that_passes_is_an_objection():
    right = next(a for a in ANSWERS if a.kind == "reference")
    lie = prove.Answer(right.exercise, "wrong", "wrong_lie", right.text, "deadlock")
    assert "wanted the finding 'deadlock', got a pass" in prove.prove(lie).objection


def test_a_right_answer_that_is_rejected_is_an_objection():
    stub = next(a for a in ANSWERS if a.kind == "stub")
    lie = prove.Answer(stub.exercise, "right", "right_lie", stub.text)
    assert "must pass" in prove.prove(lie).objection
