"""What the exercises of this lesson share: evidence out of a run, and findings in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from autograder.answer import FILE
from autograder.exercises.collectives.shared import (
    a_or_an,
    listed_text,
    numbers_text,
    ranks_of,
    ranks_text,
    short_text,
)
from autograder.exercises.ddp.models import Gradients, mean_gradients
from autograder.verdict import Finding, Place, Table
from course.ranks.calls import COLLECTIVES
from course.ranks.outcome import Call, Run

__all__ = [
    "a_or_an",
    "listed_text",
    "names_text",
    "numbers_text",
    "ranks_of",
    "ranks_text",
    "short_text",
]

# --- evidence --------------------------------------------------------------------------------


def shown(run: Run, what: str) -> list[Any]:
    """This entry of the dict that each rank returned; None where it is missing."""
    return [value.get(what) if isinstance(value, dict) else None for value in run.values]


def tensors(value: Any, names: Sequence[str]) -> Gradients:
    """The tensors of these names out of a rank's value; None for what is no tensor."""
    there = value if isinstance(value, dict) else {}
    return {n: t if isinstance(t := there.get(n), torch.Tensor) else None for n in names}


def is_close(one: Any, other: torch.Tensor) -> bool:
    """Equal but for the order of a sum."""
    return (
        isinstance(one, torch.Tensor)
        and one.shape == other.shape
        and torch.allclose(one.to(other.dtype), other, rtol=1e-9, atol=1e-12)
    )


def collectives(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.op in COLLECTIVES]


def split_at(calls: Sequence[Call], marks: Sequence[str]) -> list[dict[str, list[Call]]]:
    """The calls that followed each mark, over and over: a dict for each round of the marks.

    The rank's side puts the marks into its log with :func:`course.ranks.calls.mark`.
    """
    rounds: list[dict[str, list[Call]]] = []
    here: list[Call] | None = None
    for call in calls:
        if call.op == marks[0]:
            rounds.append({name: [] for name in marks})
        if call.op in marks and rounds:
            here = rounds[-1][call.op]
        elif here is not None:
            here.append(call)
    return rounds


def places_of(run: Run, wanted: Callable[[Call], bool]) -> tuple[Place, ...]:
    """The first call of each rank that is wanted and stands in the answer's cell."""
    found = []
    for outcome in run:
        call = next((c for c in outcome.calls if c.file == FILE and wanted(c)), None)
        if call is not None and call.line is not None:
            found.append(Place(call.line, note=str(call), rank=outcome.rank))
    return tuple(found)


def is_collective(call: Call) -> bool:
    return call.op in COLLECTIVES


def is_reduction(call: Call) -> bool:
    """A collective that moves gradients: not the broadcast of the model to begin with."""
    return is_collective(call) and not call.op.startswith("broadcast")


# --- words -----------------------------------------------------------------------------------


def names_text(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 4 more``"""
    if len(names) <= most:
        return listed_text(names) if names else ""
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def times(count: int, what: str) -> str:
    """``1 message``, ``3 messages``, ``no message``, ``2 batches``"""
    plural = what + ("es" if what.endswith("ch") else "s")
    return f"{count or 'no'} {plural if count > 1 else what}"


def whose(tensor: torch.Tensor | None) -> str:
    return "None" if tensor is None else numbers_text(tensor.reshape(-1).tolist(), 2)


# --- gradients -------------------------------------------------------------------------------


def gradient_findings(
    got: Sequence[Gradients], local: Sequence[Gradients], property_: str, when: str = ""
) -> Iterator[Finding]:
    """What is wrong with gradients that should be the mean of all ranks' own.

    ``got[r]`` and ``local[r]`` are rank r's gradients after and before the exchange. A gradient
    that no rank had may be None or zeros afterwards.
    """
    exchange = _Exchange(got, local, mean_gradients(local))
    if not exchange.wrong:
        return
    code, why, advice = _cause(exchange)
    name = exchange.wrong[0]
    rows = tuple(
        (str(r), name, whose(local[r][name]), whose(got[r][name]), whose(exchange.wanted[name]))
        for r in range(len(got))
    )
    yield Finding(
        code,
        f"{when}{why}" if not when else f"{when}, {why[0].lower()}{why[1:]}",
        property=property_,
        table=Table(("rank", "parameter", "its own gradient", "afterwards", "wanted"), rows),
        advice=advice,
    )


@dataclass(frozen=True)
class _Exchange:
    got: Sequence[Gradients]
    local: Sequence[Gradients]
    wanted: Gradients

    @property
    def size(self) -> int:
        return len(self.got)

    @property
    def wrong(self) -> list[str]:
        return [n for n in self.wanted if not all(self.agrees(r, n) for r in range(self.size))]

    def agrees(self, rank: int, name: str) -> bool:
        return _agrees(self.got[rank][name], self.wanted[name])

    def all_are(self, other: Callable[[int, str], torch.Tensor | None]) -> bool:
        """Whether every wrong gradient, on every rank, is what ``other`` makes for it."""
        return all(
            _agrees(self.got[r][name], other(r, name))
            for name in self.wrong
            for r in range(self.size)
        )


def _agrees(got: torch.Tensor | None, wanted: torch.Tensor | None) -> bool:
    if wanted is None:
        return got is None or not bool(got.any())
    return is_close(got, wanted)


def _cause(e: _Exchange) -> tuple[str, str, str]:
    wrong, size = e.wrong, e.size
    these = f"the gradient{'s' * (len(wrong) > 1)} of {names_text(wrong)}"
    lost = [n for n in wrong for r in range(size) if e.got[r][n] is None]
    if e.all_are(lambda r, n: e.local[r][n]):
        return _not_averaged(e, these)
    if (skipped := _skipped_none(e)) is not None:
        return skipped
    if lost:
        return _none_left(e, lost[0])
    if e.all_are(lambda r, n: _mean_of_users(e.local, n)):
        return (
            "mean_of_users",
            f"{_capital(these)}: divided by the number of ranks that had one, not by the number of "
            "ranks.",
            "A rank that did not use a parameter counts too: its share of the loss does not "
            "depend on that parameter, so its gradient there is zero.",
        )
    ratio = _ratio(e)
    if ratio is not None and abs(ratio - size) < 1e-6:
        return (
            "sum_not_mean",
            f"All {these} are {size} times too large, which is the number of ranks: this is the "
            "sum over the ranks, not the mean.",
            "Divide by dist.get_world_size() after the sum (or before it, on every rank).",
        )
    if ratio is not None and abs(ratio - 1 / size) < 1e-9:
        return (
            "divided_twice",
            f"All {these} are 1/{size} of the mean: the number of ranks divided them twice.",
            "ReduceOp.AVG divides already; SUM does not. And a tensor that two names share must "
            "be divided once.",
        )
    if ratio is not None:
        return (
            "scaled",
            f"All {these} are {ratio:.6g} times the mean over the ranks.",
            f"Which number of your code is {ratio:.6g}, or {1 / ratio:.6g}?",
        )
    for rank in range(size):
        if e.all_are(lambda r, n, rank=rank: e.local[rank][n]):  # type: ignore[misc]
            return (
                "one_ranks_gradient",
                f"Every rank holds rank {rank}'s own gradients; the other ranks' work is lost.",
                "A broadcast copies from one rank. To use what all ranks computed, reduce.",
            )
    return _places(e, these)


def _not_averaged(e: _Exchange, these: str) -> tuple[str, str, str]:
    right = [n for n in e.wanted if n not in e.wrong and e.wanted[n] is not None]
    rest = f" (others are averaged: {names_text(right)})" if right else ""
    return (
        "not_averaged",
        f"{_capital(these)} {'are' if len(e.wrong) > 1 else 'is'} still each rank's own{rest}.",
        "Every parameter that requires a gradient takes part, on every rank, and the result must "
        "end up in param.grad: written into it, or assigned to it.",
    )


def _skipped_none(e: _Exchange) -> tuple[str, str, str] | None:
    """Each rank left out what it has no gradient of, and so met other parameters of the others."""
    names = [[n for n, g in rank.items() if g is not None] for rank in e.local]
    gradients = [[g for g in rank.values() if g is not None] for rank in e.local]
    shapes = [[g.shape for g in of] for of in gradients]
    if any(of != shapes[0] for of in shapes) or all(of == names[0] for of in names):
        return None
    sums = [torch.stack(of).sum(0) for of in zip(*gradients, strict=True)]
    made = [dict(zip(of, sums, strict=True)) for of in names]

    def after(rank: int, name: str, divisor: int) -> torch.Tensor | None:
        total = made[rank].get(name)
        return None if total is None else total / divisor

    if not any(e.all_are(lambda r, n, by=by: after(r, n, by)) for by in (1, e.size)):  # type: ignore[misc]
        return None
    place = next(k for k, of in enumerate(zip(*names, strict=True)) if len(set(of)) > 1)
    rank, name = next((r, n) for n in e.wrong for r in range(e.size) if n not in names[r])
    others = [r for r in range(e.size) if names[r][place] == name]
    return (
        "skipped_none",
        f"{name} has no gradient (None) on rank {rank}, which left it out: on that rank "
        f"{names[rank][place]} came in its place, met {ranks_text(others)}'s {name}, and the "
        "numbers of two parameters were added.",
        "Every rank must make the same calls, for the same parameters. Where param.grad is None, "
        "zeros stand in for it: torch.zeros_like(param).",
    )


def _none_left(e: _Exchange, name: str) -> tuple[str, str, str]:
    without = [r for r in range(e.size) if e.got[r][name] is None]
    had = [r for r in range(e.size) if e.local[r][name] is not None]
    if had and not set(had) & set(without):
        return (
            "none_left",
            f"On {ranks_text(without)}, {name} still has no gradient; {ranks_text(had)} had one, "
            "and its share is missing there.",
            "Where param.grad is None, begin with zeros (torch.zeros_like(param)), and keep the "
            "result as param.grad.",
        )
    return (
        "gradient_lost",
        f"On {ranks_text(without)}, the gradient of {name} is gone: it is None afterwards.",
        "Leave the mean in param.grad.",
    )


def _places(e: _Exchange, these: str) -> tuple[str, str, str]:
    right = [r for r in range(e.size) if all(e.agrees(r, n) for n in e.wrong)]
    if right:
        others = [r for r in range(e.size) if r not in right]
        return (
            "some_ranks",
            f"{_capital(these)} {'are' if len(e.wrong) > 1 else 'is'} right on "
            f"{ranks_text(right)} only, not on {ranks_text(others)}.",
            "Every rank needs the result: reduce leaves it on one rank, all_reduce on all.",
        )
    every = [_everything(e.got[r]) for r in range(e.size)]
    wanted = _everything(e.wanted)
    if all(v.shape == wanted.shape and torch.allclose(v, wanted, rtol=1e-9) for v in every):
        return (
            "misplaced",
            "All numbers of the mean gradients are there, but in the wrong places: "
            f"{names_text(e.wrong)}.",
            "Take the pieces out of the flat tensor in the order in which they went in, each as "
            "long as its parameter, and view them in its shape.",
        )
    return (
        "wrong_gradient",
        f"{_capital(these)} {'are' if len(e.wrong) > 1 else 'is'} not the mean over the ranks.",
        "Compare the columns: is it some other rank's number, or a sum of some of them?",
    )


def _ratio(e: _Exchange) -> float | None:
    """c, if every wrong gradient is c times the wanted one on every rank."""
    found = None
    for name in e.wrong:
        wanted = e.wanted[name]
        for r in range(e.size):
            got = e.got[r][name]
            if wanted is None or got is None or got.shape != wanted.shape or not wanted.any():
                return None
            largest = int(wanted.abs().argmax())
            here = float(got.reshape(-1)[largest] / wanted.reshape(-1)[largest])
            found = here if found is None else found
            if abs(here - found) > 1e-6 * abs(found) or not is_close(got, wanted * here):
                return None
    return found if found else None


def _mean_of_users(local: Sequence[Gradients], name: str) -> torch.Tensor | None:
    """The gradient's mean over the ranks that had one; None where all had, which tells nothing."""
    there = [g for rank in local if (g := rank[name]) is not None]
    return torch.stack(there).mean(0) if 0 < len(there) < len(local) else None


def _everything(of: Gradients) -> torch.Tensor:
    """All numbers of all gradients, sorted; a missing gradient has none."""
    there = [g.reshape(-1) for g in of.values() if g is not None]
    return torch.cat(there).sort().values if there else torch.zeros(0)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- collectives -----------------------------------------------------------------------------


def unequal_counts(run: Run, counts: Sequence[int], property_: str, advice: str) -> list[Finding]:
    """Ranks that made different numbers of collective calls."""
    if len(set(counts)) <= 1:
        return []
    return [
        Finding(
            "ranks_out_of_step",
            "The ranks made different numbers of collective calls, so that what one rank sent "
            "met something else of another: the k-th call of each rank must be the same.",
            property=property_,
            table=Table(
                ("rank", "collective calls"), tuple((str(r), str(c)) for r, c in enumerate(counts))
            ),
            places=places_of(run, is_collective),
            advice=advice,
        )
    ]


def with_places(findings: Iterator[Finding] | Sequence[Finding], run: Run) -> list[Finding]:
    """The findings, each with the place of the first collective, where it has none of its own."""
    at = places_of(run, is_collective)
    return [f if f.places else replace(f, places=at) for f in findings]
