"""A rank's messages with what was in them, told by numbers that say whose they are.

Runs inside the ranks: torch and the standard library alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

MAX_RANKS = 8  # a float64 holds integers of 53 bits: 3 for each rank, and the element's name
_BITS = 3  # a rank's number is told apart up to 7 times
_NAMES = range(1 << 19, 1 << 20)

Counts = tuple[int, ...]  # how often each rank's number is in a sum


def names(size: int) -> list[int]:
    """A name for each element of a tensor; no mean of several names is a name but by chance."""
    return random.Random(0).sample(_NAMES, size)


def tracing_input(rank: int, ranks: int, size: int) -> torch.Tensor:
    """The numbers of one rank, float64 of shape (size,): each says its rank and its element.

    Element i of rank r is names(size)[i]·8ⁿ + 8ʳ. A sum of such numbers for the same element
    has in its digits to base 8 how often each rank is in it, and above them the element's name
    as often as there are summands.
    """
    above = 1 << (_BITS * ranks)
    return torch.tensor([n * above + (1 << (_BITS * rank)) for n in names(size)]).double()


class Reader:
    """Reads sums of tracing inputs of ``ranks`` ranks and ``size`` elements."""

    def __init__(self, ranks: int, size: int) -> None:
        self._ranks = ranks
        self._element = {name: i for i, name in enumerate(names(size))}

    def read(self, number: float) -> tuple[int, Counts] | None:
        """Which element it is a sum of, and how often each rank is in it; None if no telling."""
        if not (0 < number < 2**53) or number != int(number):
            return None
        whole, digits = int(number), (1 << _BITS) - 1
        counts = tuple(whole >> (_BITS * r) & digits for r in range(self._ranks))
        name, rest = divmod(whole >> (_BITS * self._ranks), sum(counts) or 1)
        if rest or name not in self._element:
            return None
        return self._element[name], counts


def run_traced(function: Callable[[torch.Tensor], Any], size: int) -> dict[str, Any]:
    """Call ``function`` on this rank's tracing input, and keep what it sends.

    Returns:
        ``sent``, a flat tensor for each message in the order of sending, as it was when the
        send was issued; and ``value``, the returned tensor, flat, or None if it is none.
    """
    sent: list[torch.Tensor] = []
    original = dist.ProcessGroup.send

    # Below dist.send and dist.isend, so that the log of calls still sees the caller's line.
    def send(group: Any, tensors: list[torch.Tensor], *args: Any, **kwargs: Any) -> Any:
        sent.append(tensors[0].detach().clone().reshape(-1))
        return original(group, tensors, *args, **kwargs)

    # In this rank's process only.
    dist.ProcessGroup.send = send  # type: ignore[method-assign, assignment]
    try:
        value = function(tracing_input(dist.get_rank(), dist.get_world_size(), size))
    finally:
        dist.ProcessGroup.send = original  # type: ignore[method-assign]
    returned = value.detach().clone().reshape(-1) if isinstance(value, torch.Tensor) else None
    return {"sent": sent, "value": returned}
