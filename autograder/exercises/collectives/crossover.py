"""From which size on a ring all-reduce is faster than a tree's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import short_text
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_SIZE = "ring and tree take the same time at this size"
_RANKS = (4, 5, 8, 13, 64, 1000, 2, 3)

Question = tuple[int, float, float]  # ranks, alpha, beta


def call_each(answer: Callable[..., Any], questions: list[Question]) -> list[Any]:
    return [answer(*question) for question in questions]


def cases(generator: random.Random) -> list[Case]:
    questions = [
        (n, generator.uniform(2e-6, 50e-6), 1 / generator.uniform(1e9, 2e11)) for n in _RANKS
    ]
    return [Case(((questions,),), questions, "n from 2 to 1000")]


def levels(n: int) -> int:
    return (n - 1).bit_length()


def crossover(n: int, alpha: float, beta: float) -> float:
    """2(n−1)(α + βS/n) = 2⌈log₂ n⌉(α + βS), solved for S."""
    return alpha / beta * (n - 1 - levels(n)) / (levels(n) - (n - 1) / n)


def examine(case: Case, run: Run) -> Iterator[Finding]:
    questions: list[Question] = case.expected
    given = run.values[0]
    values = given if isinstance(given, list) and len(given) == len(questions) else [None] * 8
    numbers = [_number(value) for value in values]
    wanted = [crossover(*question) for question in questions]
    wrong = [i for i, pair in enumerate(zip(numbers, wanted, strict=True)) if not _near(*pair)]
    if not wrong:
        return
    code, why, advice = _why_not(questions, values, numbers, wrong)
    rows = tuple(
        (str(q[0]), _text(number) if number is not None else short_text(value, 20), _text(want))
        for q, value, number, want in zip(questions, values, numbers, wanted, strict=True)
    )
    yield Finding(
        code,
        why,
        property=_SIZE,
        table=Table(("ranks", "returned", "wanted, bytes"), rows),
        advice=advice,
    )


def _number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not value.is_complex():
        return float(value)
    return float(value) if isinstance(value, (int, float)) else None


def _near(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=0.02, abs_tol=1.0)


def _is_this(one: float | None, mistake: float) -> bool:
    """As _near; where the mistake divides by zero, whatever was made of that."""
    return _near(one, mistake) or not math.isfinite(mistake)


def _text(size: float) -> str:
    return f"{size:,.0f}" if abs(size) < 1e15 else f"{size:.3g}"


def _ratio(steps: float, parts: float, rounds: float) -> Callable[[float, float], float]:
    """The size when the ring takes ``steps`` steps and sends ``parts`` of the tensor in all."""

    def solve(alpha: float, beta: float) -> float:
        return alpha / beta * (steps - rounds) / (rounds - parts) if rounds != parts else math.inf

    return solve


def _mistakes(n: int, alpha: float, beta: float) -> dict[str, float]:
    """What comes out when the formula has one mistake."""
    up = levels(n)
    ring = (2 * (n - 1), 2 * (n - 1) / n)
    return {
        "rounds_not_whole": _ratio(*ring, 2 * math.log2(n))(alpha, beta),
        "rounded_down": _ratio(*ring, 2 * math.floor(math.log2(n)))(alpha, beta),
        "natural_logarithm": _ratio(*ring, 2 * math.log(n))(alpha, beta),
        "tree_one_way": _ratio(*ring, up)(alpha, beta),
        "ring_one_way": _ratio(n - 1, (n - 1) / n, 2 * up)(alpha, beta),
        "n_steps": _ratio(2 * n, 2, 2 * up)(alpha, beta),
        "inverted": crossover(n, beta, alpha),
        "elements": crossover(n, alpha, beta) / 4,
        "bound": alpha / beta,
    }


_WHY = {
    "rounds_not_whole": (
        "The tree's rounds are log₂ n, and not rounded up: there is no part of a round.",
        "math.ceil(math.log2(n)), or (n - 1).bit_length().",
    ),
    "rounded_down": (
        "The tree's rounds are rounded down: 5 ranks need 3 rounds, not 2.",
        "math.ceil(math.log2(n)), or (n - 1).bit_length().",
    ),
    "natural_logarithm": (
        "The tree's rounds are taken from the natural logarithm.",
        "Each round doubles the number of ranks: math.log2.",
    ),
    "tree_one_way": (
        "This tree goes one way only. A sum must reach the root and come back.",
        "2⌈log₂ n⌉ rounds: a reduce up the tree, a broadcast down.",
    ),
    "ring_one_way": (
        "This ring stops after the reduce-scatter: n − 1 steps.",
        "2(n − 1) steps: the all-gather takes as many again.",
    ),
    "n_steps": (
        "This ring takes 2n steps. In 2(n − 1) it is done.",
        "A chunk that begins on a rank has only n − 1 others to meet.",
    ),
    "inverted": (
        "alpha and beta are swapped: the result is a number of bytes only as alpha / beta.",
        "Check the units: seconds / (seconds a byte) = bytes.",
    ),
    "elements": ("This is a quarter of the size: elements, where bytes are wanted.", ""),
    "bound": (
        "alpha / beta is where latency and bandwidth cost the same in *one* message.",
        "Write down both times for n ranks, as the lesson does, and set them equal.",
    ),
}  # fmt: skip


def _why_not(
    questions: list[Question], values: list[Any], numbers: list[float | None], wrong: list[int]
) -> tuple[str, str, str]:
    i = wrong[0]
    if all(value is None for value in values):
        return (
            "returned_nothing",
            "The function returns None.",
            "End the function with a return statement.",
        )
    if numbers[i] is None:
        return (
            "wrong_type",
            f"For {questions[i][0]} ranks the function returns {short_text(values[i], 30)}, not a "
            "number.",
            "Return the size in bytes.",
        )
    mistakes = [_mistakes(*question) for question in questions]
    for code, (why, advice) in _WHY.items():
        if all(_is_this(numbers[i], mistakes[i][code]) for i in wrong):
            return code, why, advice
    if wrong == [i for i, question in enumerate(questions) if question[0] < 4]:
        return (
            "few_ranks",
            "With 2 and with 3 ranks, the ring has as few steps as the tree, and is never slower: "
            "it wins from 0 bytes on.",
            "Return 0 there, which is what the formula gives.",
        )
    return (
        "wrong_value",
        f"For {questions[i][0]} ranks the two do not take the same time at the size returned.",
        "Write down both times, set them equal, and solve for the size.",
    )


CROSSOVER = Exercise(
    name="crossover",
    title="Ring or tree?",
    properties=(Property(_SIZE, 2),),
    cases=cases,
    examine=examine,
    hint="The ring takes 2(n − 1)·(α + β·S/n), the tree 2L·(α + β·S), with L = ⌈log₂ n⌉. Set them "
    "equal. On one side collect what has an S in it, on the other what has not:\n"
    "β·S·(L − (n − 1)/n) = α·(n − 1 − L). `(n - 1).bit_length()` is ⌈log₂ n⌉, without rounding "
    "errors.",
    difficulty=2,
    minutes=10,
    backend="gloo",
    call=call_each,
)
