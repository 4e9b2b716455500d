"""How many blocks cover n elements: division that rounds up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_BLOCKS = "as many blocks as are needed, and no more"

Question = tuple[int, int]


def call_each(answer: Callable[..., Any], questions: list[Question]) -> list[Any]:
    return [answer(*question) for question in questions]


def cases(generator: random.Random) -> list[Case]:
    block = generator.choice((96, 160, 192, 320))
    sizes = [1, block - 1, block, block + 1, generator.randint(2, 9) * block, 0, 2**31, 2**31 + 1]
    questions = [(n, block) for n in sizes] + [(1000, 1), (2**53 + 1, 1)]
    return [Case(((questions,),), questions, f"blocks of {block} threads")]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    questions: list[Question] = case.expected
    given = run.values[0]
    values = given if isinstance(given, list) and len(given) == len(questions) else [None] * 10
    wanted = [-(-n // block) for n, block in questions]
    wrong = [i for i, (v, w) in enumerate(zip(values, wanted)) if not _is(v, w)]
    if not wrong:
        return
    rows = tuple(
        (f"{n:,}", f"{block}", f"{v:,}" if type(v) in (int, float) else repr(v)[:24], f"{w:,}")
        for (n, block), v, w in zip(questions, values, wanted)
    )
    code, why, advice = _why(questions, values, wrong)
    table = Table(("n", "block", "returned", "wanted"), rows)
    yield Finding(code, why, property=_BLOCKS, table=table, advice=advice)


def _is(value: Any, wanted: int) -> bool:
    return type(value) is int and value == wanted


def _why(questions: list[Question], values: list[Any], wrong: list[int]) -> tuple[str, str, str]:
    def all_are(formula: Callable[[int, int], Any]) -> bool:
        return all(v == formula(*q) for v, q in zip(values, questions))

    (n, block), value = questions[wrong[0]], values[wrong[0]]
    if all(v is None for v in values):
        return "returned_nothing", "The function returns None.", "End with a return statement."
    if any(type(v) is not int for v in values):
        return (
            "not_whole",
            f"For n = {n:,} the function returns {value!r}, a {type(value).__name__}: a grid has a "
            "whole number of blocks.",
            "`/` makes a float, also where the division comes out even. `//` does not.",
        )
    if all_are(lambda n, block: n // block):
        return (
            "rounded_down",
            f"Rounded down: {block} threads in each of {value:,} blocks do not reach all of "
            f"{n:,} elements. The rest would never be computed, and nobody would be told.",
            "Round up: how many must be added to n so that // rounds up instead of down?",
        )
    if all_are(lambda n, block: n // block + 1):
        return (
            "one_too_many",
            f"Where n is a multiple of the block, this is one block too many ({n:,} / {block}).",
            "Add block - 1, not block, before dividing.",
        )
    if all_are(lambda n, block: n + block - 1 // block):
        return (
            "precedence",
            "Python divides before it adds: n + block - 1 // block is n + block - (1 // block).",
            "Parentheses around what is to be divided.",
        )
    if block != 256 and all_are(lambda n, block: -(-n // 256)):
        return (
            "block_ignored",
            f"The blocks have {block} threads here, and the answer is that for blocks of 256.",
            "Compute with the parameter block.",
        )
    if all(v == max(1, -(-n // b)) for v, (n, b) in zip(values, questions)):
        return (
            "empty_grid",
            "For n = 0 there is nothing to compute: 0 blocks, and the caller launches nothing.",
            "The formula gives 0 by itself; no special case is needed.",
        )
    if [questions[i][0] for i in wrong] == [2**53 + 1]:
        return (
            "float_division",
            "Right, but for n = 2⁵³ + 1, which a float does not hold: the division went through "
            "one.",
            "`//` on whole numbers is exact at any size.",
        )
    if all_are(lambda n, block: round(n / block)):
        return (
            "rounded_to_nearest",
            "Rounded to the nearest whole number; a half-full block is a block, too.",
            "Round up.",
        )
    return (
        "wrong_value",
        f"For n = {n:,} and block = {block} the function returns {value!r}.",
        "The smallest number of blocks with blocks × block ≥ n.",
    )


GRID_SIZE = Exercise(
    name="grid_size",
    title="How many blocks?",
    properties=(Property(_BLOCKS, 1),),
    cases=cases,
    examine=examine,
    hint="`n // block` rounds down. If you add something to `n` first, it rounds up; one less than "
    "the block is enough to lift every remainder over the edge, and too little to lift a multiple.",
    difficulty=1,
    minutes=5,
    backend="gloo",
    call=call_each,
)
