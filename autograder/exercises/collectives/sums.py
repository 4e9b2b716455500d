"""Whose numbers are in a sum, read off its digits (:func:`shared.place_values`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Counts = tuple[int, ...] | None  # how often each rank's number is in an element; None: no telling


def contributions(got: Sequence[float], parts: Sequence[Sequence[float]]) -> list[Counts]:
    """For each element, how often each rank's number is in it (0 to 3 times)."""
    tries = sorted(itertools.product(range(4), repeat=len(parts)), key=lambda c: (max(c), sum(c)))
    return [
        next(
            (
                c
                for c in tries
                if sum(n * part[i] for n, part in zip(c, parts, strict=True)) == value
            ),
            None,
        )
        for i, value in enumerate(got)
    ]


def who_text(counts: Counts) -> str:
    """``0 + 2``, ``0 + 1 + 1`` with rank 1's number in it twice, ``?`` for no sum of these."""
    if counts is None:
        return "?"
    return " + ".join(str(r) for r, n in enumerate(counts) for _ in range(n)) or "nobody"
