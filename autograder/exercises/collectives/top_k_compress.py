"""Send only the largest gradients, and remember the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    kind_text,
    numbers_text,
    places_of,
    ranks_of,
    short_text,
    unwaited,
)
from autograder.verdict import Finding, Table
from course.measure.messages import SENDS
from course.ranks.calls import COLLECTIVES
from course.ranks.outcome import Call, Run

_MEAN = "the result is the mean of what the ranks chose"
_ERROR = "what was not sent is sent later"
_BYTES = "k values and k indices leave each rank in a step"
_RATE = 0.125

Tensors = list[torch.Tensor]


def call_training(
    answer: Callable[..., Any], target: torch.Tensor, k: int, steps: int
) -> dict[str, Any]:
    """Train w towards the mean of all ranks' targets; the gradient of a rank is w − its target."""
    w, error = torch.zeros_like(target), torch.zeros_like(target)
    means, errors = [], []
    for _ in range(steps):
        mean = answer(w - target, error, k)
        means.append(mean)
        errors.append(error.clone())
        if not isinstance(mean, torch.Tensor) or mean.shape != w.shape:
            break
        w = w - _RATE * mean.to(w.dtype)
    return {"means": means, "errors": errors}


# --- the oracle, and mistakes -----------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    """One thing done otherwise. The defaults are the right way."""

    by_value: bool = False  # the largest, not the largest in absolute value
    sign_lost: bool = False
    adds_error: bool = True
    keeps: str = "rest"  # or "gradient": its rest alone; "all"; "of_mean": what is not in the mean
    combine: str = "add"  # or "overwrite", "own"
    divide: bool = True


def train(targets: Tensors, k: int, steps: int, how: Mistake) -> tuple[list[Tensors], Tensors]:
    """By step: the result on each rank, and w on each rank in the end."""
    size = len(targets)
    ws = [torch.zeros_like(t) for t in targets]
    errors = [torch.zeros_like(t) for t in targets]
    results: list[Tensors] = []
    for _ in range(steps):
        gradients = [w - t for w, t in zip(ws, targets, strict=True)]
        wanted = [g + e if how.adds_error else g for g, e in zip(gradients, errors, strict=True)]
        sent = [_chosen(x, k, how) for x in wanted]
        means = [_combined(sent, rank, how) / (size if how.divide else 1) for rank in range(size)]
        for rank in range(size):
            kept = {
                "rest": wanted[rank].where(sent[rank] == 0, 0),
                "gradient": gradients[rank] - sent[rank],
                "all": wanted[rank],
                "of_mean": wanted[rank] - means[rank],
            }
            errors[rank] = kept[how.keeps]
        results.append(means)
        ws = [w - _RATE * mean for w, mean in zip(ws, means, strict=True)]
    return results, ws


def _chosen(x: torch.Tensor, k: int, how: Mistake) -> torch.Tensor:
    """x where it is among the k largest, else 0."""
    indices = (x if how.by_value else x.abs()).topk(k).indices
    values = x[indices].abs() if how.sign_lost else x[indices]
    return torch.zeros_like(x).index_put((indices,), values)


def _combined(sent: Tensors, rank: int, how: Mistake) -> torch.Tensor:
    if how.combine == "own":
        return sent[rank]
    if how.combine == "add":
        return torch.stack(sent).sum(0)
    total = torch.zeros_like(sent[0])
    for part in sent:  # the last rank that sent an element decides
        total = torch.where(part != 0, part, total)
    return total


RIGHT = Mistake()
PLAIN = Mistake(adds_error=False)
_MISTAKES: dict[str, tuple[Mistake, str, str, str]] = {
    "no_error_feedback": (
        PLAIN,
        _ERROR,
        "This is plain Top-K: what is not sent is lost. Each rank has two large entries that the "
        "other ranks' cancel, and they are chosen in every step; the others never have their turn, "
        "and w stays away from the best value for ever.",
        "Choose from gradient + error, and write what is left into error, in place: "
        "error.copy_(...). With error = ... only the name changes.",
    ),
    "error_forgets": (
        Mistake(keeps="gradient"),
        _ERROR,
        "error is overwritten by this step's rest: what was in it from earlier steps is lost "
        "when it is not sent now.",
        "The rest of gradient + error, not of the gradient alone.",
    ),
    "error_keeps_sent": (
        Mistake(keeps="all"),
        _ERROR,
        "What was sent stays in error, and is sent again and again.",
        "Set error to 0 where values were sent.",
    ),
    "error_of_the_mean": (
        Mistake(keeps="of_mean"),
        _ERROR,
        "error is what is not in the *mean*. But a rank has to remember what it has not sent "
        "itself; in the mean there are other ranks' values.",
        "error = (gradient + error) - what this rank sent.",
    ),
    "not_absolute": (
        Mistake(by_value=True),
        _MEAN,
        "The k largest numbers were chosen, so a large negative gradient is never sent.",
        "Choose by absolute value: x.abs().topk(k).",
    ),
    "sign_lost": (
        Mistake(sign_lost=True),
        _MEAN,
        "All values that are sent are positive: x.abs().topk(k) returns absolute values.",
        "Take the indices from x.abs().topk(k), and the values from x[indices].",
    ),
    "summed": (
        Mistake(divide=False),
        _MEAN,
        "This is the sum over the ranks.",
        "Divide by the number of ranks, as DDP does with whole gradients.",
    ),
    "overwritten": (
        Mistake(combine="overwrite"),
        _MEAN,
        "Where two ranks chose the same element, only one of the two values is in the result.",
        "dense[indices] = values, and also dense[indices] += values, write each index once. "
        "dense.index_add_(0, indices, values) adds all of them.",
    ),
    "not_exchanged": (
        Mistake(combine="own"),
        _MEAN,
        "Every rank uses what it chose itself; nothing of the others is in it.",
        "all_gather the values and the indices of all ranks.",
    ),
    "own_undivided": (
        Mistake(combine="own", divide=False),
        _MEAN,
        "Every rank uses what it chose itself; nothing of the others is in it.",
        "all_gather the values and the indices of all ranks.",
    ),
}


def cases(generator: random.Random) -> list[Case]:
    def case(size: int, k: int, steps: int) -> Case:
        # Two loud elements, which cancel over the ranks, and six quiet ones, which agree.
        loud = [torch.tensor(_cancelling(generator, size)) for _ in range(2)]
        quiet = [generator.choice((-1, 1)) * generator.randint(6, 12) for _ in range(6)]
        order = torch.tensor(generator.sample(range(8), 8))
        targets = []
        for rank in range(size):
            own = [q + generator.uniform(-1, 1) for q in quiet]
            values = torch.tensor([float(loud[0][rank]), float(loud[1][rank]), *own])
            targets.append(values.double()[order])
        label = f"{ranks_of(size)}, k = {k}, {steps} steps"
        return Case(tuple((t, k, steps) for t in targets), (targets, k, steps), label)

    # k = 3 comes first: there error matters from the second step on, and mistakes differ.
    return [case(3, 3, 8), case(3, 2, 60), case(4, 3, 8), case(2, 1, 8), case(1, 2, 4)]


def _cancelling(generator: random.Random, size: int) -> list[float]:
    """A large number for each rank; their sum is 0, as long as there is more than one."""
    if size == 1:
        return [50.0]
    alternating = size % 2 == 0
    values = [generator.uniform(40, 60) * (-1) ** (r * alternating) for r in range(size - 1)]
    return [*values, -sum(values)]


# --- what is wrong ----------------------------------------------------------------------------


def examine(case: Case, run: Run) -> Iterator[Finding]:
    targets, k, steps = case.expected
    found = list(unwaited(run, _MEAN))
    found = found or list(_values(targets, k, steps, run))
    yield from found or _bytes(targets[0], k, steps, run)


def _shown(run: Run) -> list[list[Any]]:
    """By rank, the results of its steps."""
    values = [v.get("means") if isinstance(v, dict) else None for v in run.values]
    return [v if isinstance(v, list) else [] for v in values]


def _is_like(value: Any, wanted: torch.Tensor) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.shape == wanted.shape
        and not value.is_complex()
        and torch.allclose(value.double(), wanted, rtol=1e-5, atol=1e-6)
    )


def _follows(shown: list[list[Any]], results: list[Tensors]) -> bool:
    """Whether every rank returned these results, in every step."""
    return all(
        len(mine) == len(results)
        and all(_is_like(v, step[rank]) for v, step in zip(mine, results, strict=True))
        for rank, mine in enumerate(shown)
    )


def _values(targets: Tensors, k: int, steps: int, run: Run) -> Iterator[Finding]:
    shown = _shown(run)
    results, ws = train(targets, k, steps, RIGHT)
    if _follows(shown, results):
        return
    rank, step = _first_wrong(shown, results)
    value = shown[rank][step] if step < len(shown[rank]) else None
    if not isinstance(value, torch.Tensor) or value.shape != targets[0].shape:
        code = "returned_nothing" if value is None else "wrong_type"
        yield Finding(
            code,
            f"Rank {rank} returns {kind_text(value)}; wanted is a dense tensor of the gradient's "
            f"shape, {kind_text(targets[0])}.",
            property=_MEAN,
            advice="Put the values at their indices into torch.zeros_like(gradient).",
        )
        return
    table = Table(
        ("rank", f"returned in step {step}", "wanted"),
        tuple(
            (str(r), short_text(mine[step] if step < len(mine) else None), _text(results[step][r]))
            for r, mine in enumerate(shown)
        ),
    )
    for code, (mistake, property_, why, advice) in _MISTAKES.items():
        if _follows(shown, train(targets, k, steps, mistake)[0]):
            if code == "no_error_feedback":
                table = _distances(targets, k, steps, ws)
            yield Finding(code, why, property=property_, table=table, advice=advice)
            return
    property_, why = _MEAN, f"The result of step {step} is not the mean of what the ranks chose."
    advice = "Of gradient + error, the k largest by absolute value; added up, divided by n."
    if step > 0:
        property_ = _ERROR
        why = f"The results are right up to step {step - 1}, and wrong in step {step}."
        advice = "What is in error after a step? gradient + error, without what was sent."
    yield Finding("wrong_value", why, property=property_, table=table, advice=advice)


def _text(tensor: torch.Tensor) -> str:
    return numbers_text(tensor.tolist())


def _first_wrong(shown: list[list[Any]], results: list[Tensors]) -> tuple[int, int]:
    for step, wanted in enumerate(results):
        for rank, mine in enumerate(shown):
            if step >= len(mine) or not _is_like(mine[step], wanted[rank]):
                return rank, step
    return 0, len(results)


def _distances(targets: Tensors, k: int, steps: int, ws: Tensors) -> Table:
    best = torch.stack(targets).mean(0)
    plain = train(targets, k, steps, PLAIN)[1]
    dense = train(targets, len(best), steps, RIGHT)[1]

    def row(name: str, w: torch.Tensor) -> tuple[str, str]:
        return name, f"{float((w - best).norm()):.3g}"

    return Table(
        ("", f"distance of w from the best value after {steps} steps"),
        (
            row("at the start", torch.zeros_like(best)),
            row("whole gradients", dense[0]),
            row("Top-K with error feedback", ws[0]),
            row("your Top-K", plain[0]),
        ),
    )


def _bytes(target: torch.Tensor, k: int, steps: int, run: Run) -> Iterator[Finding]:
    if len(run) == 1:
        return
    sent = [sum(c.bytes for c in outcome.calls if _sends(c)) // steps for outcome in run]
    allowed, least = k * (target.element_size() + 8), k * target.element_size()
    table = Table(
        ("rank", "bytes sent in a step", "k values and k indices", "the whole gradient"),
        tuple(
            (str(r), str(b), str(allowed), str(target.numel() * target.element_size()))
            for r, b in enumerate(sent)
        ),
    )
    places = places_of(run, _sends)
    if max(sent) > allowed:
        yield Finding(
            "too_many_bytes",
            f"The result is right, but a rank gives {max(sent)} bytes to the collectives in a "
            f"step; k values and k indices are {allowed}. A tensor full of zeros is as long to "
            "send as any other.",
            property=_BYTES,
            table=table,
            places=places,
            advice="all_gather the k values and the k indices, and build the dense tensor from "
            "them on every rank.",
        )
    elif min(sent) < least:
        yield Finding(
            "not_counted",
            f"The result is right, but a rank gave only {min(sent)} bytes of tensors to the "
            f"collectives in a step, where {least} are needed for the values alone: they went "
            "another way.",
            property=_BYTES,
            table=table,
            places=places,
            advice="Send tensors, by dist.all_gather: pickled objects are many times as long.",
        )


def _sends(call: Call) -> bool:
    return call.op in COLLECTIVES or call.op in SENDS


def distance(targets: Sequence[torch.Tensor], k: int, steps: int, how: Mistake) -> float:
    """How far from the best value w ends."""
    best = torch.stack(list(targets)).mean(0)
    return float((train(list(targets), k, steps, how)[1][0] - best).norm())


TOP_K_COMPRESS = Exercise(
    name="top_k_compress",
    title="Top-K, with a memory",
    properties=(Property(_MEAN, 1), Property(_ERROR, 2), Property(_BYTES, 1)),
    cases=cases,
    examine=examine,
    hint="`wanted = gradient + error`. The indices are `wanted.abs().topk(k).indices`, the values "
    "`wanted[indices]`, with their signs. Then `error.copy_(wanted)` and `error[indices] = 0`: in "
    "place, since the caller keeps this tensor for the next step.\n"
    "all_gather values and indices (k each, so the sizes are equal on all ranks), join them with "
    "torch.cat, and `index_add_` them into zeros. Two ranks may have chosen the same element: both "
    "count.",
    difficulty=3,
    minutes=25,
    call=call_training,
)
