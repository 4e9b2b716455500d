"""Latency and bandwidth out of measured times."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import short_text
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_PREDICTS = "alpha + beta · size is within 30 % for sizes that were not measured"
_WITHIN = 1.3
_SIZES = [4**k for k in range(1, 14)]  # bytes: 4 to 67 million


@dataclass(frozen=True)
class Link:
    """The truth behind a case: alpha in seconds, beta in seconds a byte."""

    alpha: float
    beta: float

    def seconds(self, size: float) -> float:
        return self.alpha + self.beta * size

    @property
    def probes(self) -> list[int]:
        """Sizes to predict: small, about where both parts are equal, and large."""
        knee = self.alpha / self.beta
        return [24, round(knee / 3), round(3 * knee), 3_000_000, 400_000_000]


def cases(generator: random.Random) -> list[Case]:
    def one_each(link: Link, label: str) -> Case:
        noise = [1 + generator.uniform(-0.03, 0.03) for _ in _SIZES]
        noise[-2:] = [0.93, 1.05]  # what a plain least-squares line makes a latency of
        return _case(link, [(s, link.seconds(s) * n) for s, n in zip(_SIZES, noise, strict=True)],
                     label)  # fmt: skip

    def disturbed(link: Link, label: str) -> Case:
        pairs = []
        for size in _SIZES:
            factors = [1 + generator.uniform(0, 0.05) for _ in range(3)]
            factors += [generator.uniform(4, 20) for _ in range(2)]
            pairs += [(size, link.seconds(size) * factor) for factor in factors]
        generator.shuffle(pairs)
        return _case(link, pairs, label)

    fast = Link(generator.uniform(15e-6, 40e-6), 1 / generator.uniform(4e9, 9e9))
    slow = Link(generator.uniform(1e-3, 3e-3), 1 / generator.uniform(8e7, 2e8))
    return [
        one_each(fast, "each size measured once"),
        disturbed(slow, "each size measured five times, two of them disturbed"),
    ]


def _case(link: Link, pairs: list[tuple[int, float]], label: str) -> Case:
    return Case(((pairs,),), (link, pairs), label)


def examine(case: Case, run: Run) -> Iterator[Finding]:
    link, pairs = case.expected
    value = run.values[0]
    fitted = _pair(value)
    if fitted is None:
        yield _no_pair(value)
        return
    guess = Link(*fitted)
    ratios = [guess.seconds(size) / link.seconds(size) for size in link.probes]
    if all(1 / _WITHIN <= ratio <= _WITHIN for ratio in ratios):
        return
    code, why, advice = _why_not(link, guess, ratios, pairs)
    yield Finding(code, why, property=_PREDICTS, table=_table(link, guess), advice=advice)


def _pair(value: Any) -> tuple[float, float] | None:
    if isinstance(value, torch.Tensor) and value.numel() == 2 and not value.is_complex():
        value = value.reshape(-1).tolist()
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    numbers = [
        float(v) if isinstance(v, (int, float)) else float(v.item())
        for v in value
        if isinstance(v, (int, float))
        or (isinstance(v, torch.Tensor) and v.numel() == 1 and not v.is_complex())
    ]
    if len(numbers) != 2 or not all(math.isfinite(n) for n in numbers):
        return None
    return numbers[0], numbers[1]


def _no_pair(value: Any) -> Finding:
    code = "returned_nothing" if value is None else "wrong_type"
    return Finding(
        code,
        f"The function returns {short_text(value)}, not two numbers (alpha, beta).",
        property=_PREDICTS,
        advice="return alpha, beta",
    )


def _table(link: Link, guess: Link) -> Table:
    rows = tuple(
        (f"{size:,}", _time(guess.seconds(size)), _time(link.seconds(size)),
         f"{guess.seconds(size) / link.seconds(size):.3g}")
        for size in link.probes
    )  # fmt: skip
    return Table(("bytes", "predicted", "takes", "ratio"), rows)


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:,.4g} µs"


def _is_fit(guess: Link, link: Link) -> bool:
    ratios = [guess.seconds(size) / link.seconds(size) for size in link.probes]
    return all(0.5 <= ratio <= 2 for ratio in ratios)


def _why_not(
    link: Link, guess: Link, ratios: list[float], pairs: list[tuple[int, float]]
) -> tuple[str, str, str]:
    for factor, unit in ((1e3, "milliseconds"), (1e6, "microseconds")):
        if all(0.5 < ratio / factor < 2 for ratio in ratios):
            return (
                "units",
                f"Every prediction is about {factor:,.0f} times too large: these are {unit}.",
                "alpha is in seconds, and beta in seconds a byte.",
            )
    if _is_fit(Link(guess.beta, guess.alpha), link):
        return (
            "swapped",
            "The two numbers are right, and in the wrong order.",
            "return alpha, beta: first the latency. (numpy.polyfit gives the slope first.)",
        )
    if guess.beta and _is_fit(Link(guess.alpha, 1 / guess.beta), link):
        return (
            "bandwidth",
            f"The second number, {guess.beta:.3g}, is the bandwidth in bytes a second. beta is its "
            "inverse, the seconds that a byte takes.",
            "return alpha, 1 / bandwidth",
        )
    small, large = ratios[0], ratios[-1]
    is_fine = [1 / _WITHIN <= ratio <= _WITHIN for ratio in ratios]
    if len(pairs) > len(_SIZES) and small > _WITHIN and large > _WITHIN:
        return (
            "disturbed",
            "Every prediction is too slow: measurements that something else disturbed are in it. "
            "A disturbance can make a message slower, never faster.",
            "Of each size, take the smallest time (or the median), and fit to those.",
        )
    if is_fine[-1] and not is_fine[0]:
        worst = max(pairs, key=lambda pair: pair[0])
        negative = ", which is even negative" if guess.alpha < 0 else ""
        return (
            "latency_wrong",
            f"Large sizes are right and small ones are not: alpha is {_time(guess.alpha)}"
            f"{negative}. Plain least squares makes the errors small in seconds, and 5 % of the "
            f"largest measurement are {_time(0.05 * worst[1])}: more than the whole latency.",
            "Make the *relative* errors small: divide every equation alpha + beta · size = time by "
            "its time, or give numpy.polyfit the weights w=1/time.",
        )
    if is_fine[0] and not is_fine[-1]:
        return (
            "bandwidth_wrong",
            f"Small sizes are right and large ones are not: at {link.probes[-1]:,} bytes the "
            f"prediction is {large:.2g} times what it takes.",
            "beta shows only where the size matters: in the time of the large messages.",
        )
    return (
        "wrong_fit",
        "The predictions are wrong for small sizes and for large ones.",
        "The model is time = alpha + beta · size: a straight line in the size, not in its "
        "logarithm.",
    )


FIT_ALPHA_BETA = Exercise(
    name="fit_alpha_beta",
    title="Two numbers for a link",
    properties=(Property(_PREDICTS, 3),),
    cases=cases,
    examine=examine,
    hint="First take the smallest time of each size. Then it is a least-squares problem with two "
    "unknowns, `alpha + beta * size = time` for every size. As it stands, the largest sizes would "
    "decide alone: their errors, in seconds, are a thousand times as large. Divide each equation "
    "by its time: `alpha / time + beta * size / time = 1`. Then all count the same.\n"
    "`torch.linalg.lstsq(A, b).solution` solves A · (alpha, beta) = b; use float64, and b of "
    "shape (m, 1).",
    difficulty=3,
    minutes=20,
    backend="gloo",
)
