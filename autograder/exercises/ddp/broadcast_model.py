"""All ranks begin with rank 0's model: parameters and buffers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import Parts, buffers, build, weights
from autograder.exercises.ddp.shared import (
    a_or_an,
    collectives,
    is_close,
    is_collective,
    names_text,
    places_of,
    ranks_of,
    shown,
    tensors,
    whose,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_PARAMETERS = "every rank has rank 0's parameters"
_BUFFERS = "every rank has rank 0's buffers"
_ONCE = "each tensor is sent once"


def call_broadcast(answer: Callable[..., Any], parts: Parts, seed: int) -> dict[str, Any]:
    model = build(parts, seed)
    before = dict(model.named_parameters(remove_duplicate=False))
    returned = answer(model)
    after = dict(model.named_parameters(remove_duplicate=False))
    return {
        "parameters": weights(model),
        "buffers": buffers(model),
        "replaced": [name for name in before if after.get(name) is not before[name]],
        "thawed": [n for n, p in after.items() if p.requires_grad != ("frozen" not in n)],
        "returned_model": isinstance(returned, nn.Module) and returned is not model,
    }


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, parts: Parts) -> Case:
        seeds = [generator.randrange(1 << 30) for _ in range(world_size)]
        inputs = tuple((parts, seed) for seed in seeds)
        return Case(inputs, (parts, seeds), f"{ranks_of(world_size)}, {parts}")

    return [
        case(2, Parts()),
        case(3, Parts(frozen=True, tied=True)),
        case(4, Parts(frozen=True, unused=True)),
        case(1, Parts(tied=True)),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    parts, seeds = case.expected
    models = [build(parts, seed) for seed in seeds]
    found = list(_replaced(run))
    yield from found or _copied("parameters", [weights(m) for m in models], run, _PARAMETERS)
    yield from _copied("buffers", [buffers(m) for m in models], run, _BUFFERS)
    yield from _sent_once(models[0], run)


def _replaced(run: Run) -> Iterator[Finding]:
    names = next((names for names in shown(run, "replaced") if names), None)
    if names:
        yield Finding(
            "parameter_replaced",
            f"{names_text(names)} {'are other objects' if len(names) > 1 else 'is another object'} "
            "than before: an optimizer that was built earlier, or a second layer that shares the "
            "weights, still holds the old tensor.",
            property=_PARAMETERS,
            advice="Write into the tensors that are there: broadcast(param.data, src=0) does, and "
            "so does param.copy_(...) under torch.no_grad().",
        )
        return
    names = next((names for names in shown(run, "thawed") if names), None)
    if names:
        yield Finding(
            "requires_grad_changed",
            f"requires_grad of {names_text(names)} is not what it was.",
            property=_PARAMETERS,
            advice="Copy values only; what is frozen stays frozen.",
        )


def _copied(
    what: str, before: list[dict[str, torch.Tensor]], run: Run, property_: str
) -> Iterator[Finding]:
    wanted = before[0]
    got = [tensors(value, list(wanted)) for value in shown(run, what)]
    wrong = [n for n in wanted if not all(is_close(rank[n], wanted[n]) for rank in got)]
    if not wrong:
        return
    code, why, advice = _cause(what, wrong, before, got, run)
    name = wrong[0]
    rows = tuple(
        (str(r), name, whose(before[r][name]), whose(got[r][name]), whose(wanted[name]))
        for r in range(len(got))
    )
    yield Finding(
        code,
        why,
        property=property_,
        table=Table(("rank", what[:-1], "before", "afterwards", "wanted"), rows),
        places=places_of(run, is_collective),
        advice=advice,
    )


def _cause(
    what: str,
    wrong: list[str],
    before: list[dict[str, torch.Tensor]],
    got: list[dict[str, torch.Tensor | None]],
    run: Run,
) -> tuple[str, str, str]:
    ranks = range(len(got))
    these = names_text(wrong)
    if all(is_close(got[r][n], before[r][n]) for r in ranks for n in wrong):
        return _unchanged(what, wrong, these, before, run)
    mean = {n: torch.stack([b[n].double() for b in before]).mean(0) for n in wrong}
    if all(is_close(got[r][n], mean[n]) for r in ranks for n in wrong):
        return (
            "averaged",
            f"Every rank holds the mean of all ranks' {what}, not rank 0's: a mean of several "
            "random models is none of them, and its weights are smaller.",
            "One rank's model is sent to all: a broadcast, not a reduction.",
        )
    for other in ranks[1:]:
        if all(is_close(got[r][n], before[other][n]) for r in ranks for n in wrong):
            return "wrong_root", f"Every rank holds rank {other}'s {what}.", "The source is rank 0."
    if all(is_close(got[r][n], before[(r - 1) % len(got)][n]) for r in ranks for n in wrong):
        return (
            "wrong_root",
            f"Every rank holds its neighbour's {what}: the data went round instead of out.",
            "The source is rank 0, for all ranks.",
        )
    if not is_close(got[0][wrong[0]], before[0][wrong[0]]):
        return (
            "source_changed",
            f"Rank 0's own {what} are not what they were: {these}.",
            "Rank 0 is the source; it only sends.",
        )
    return (
        "wrong_value",
        f"{these} {'are' if len(wrong) > 1 else 'is'} not what rank 0 has.",
        "Every rank must go through the tensors in the same order.",
    )


def _unchanged(
    what: str, wrong: list[str], these: str, before: list[dict[str, torch.Tensor]], run: Run
) -> tuple[str, str, str]:
    """Tensors that are still each rank's own."""
    if any(shown(run, "returned_model")):
        return (
            "not_in_place",
            f"{these}: the model that was handed in is unchanged; the answer returns another one.",
            "Change the model itself, and return nothing.",
        )
    if what == "parameters" and all("frozen" in name for name in wrong):
        return (
            "frozen_missing",
            f"The frozen parameters were left out: {these}. They are not trained, so they "
            "differ between the ranks for ever.",
            "Send all parameters, also those with requires_grad=False.",
        )
    if what == "buffers" and len(wrong) == len(before[0]):
        return (
            "buffers_missing",
            f"The buffers are still each rank's own: {these}. With the same weights, the ranks "
            "compute different functions.",
            "BatchNorm's statistics are buffers: model.buffers() gives them.",
        )
    if what == "buffers" and wrong == ["standardise.scale"]:
        return (
            "nonpersistent_missing",
            f"The buffer {these} was left out: it is not persistent, so state_dict() does not "
            "have it. The model computes with it all the same.",
            "Go through model.buffers() instead of model.state_dict().",
        )
    calls = [c for outcome in run for c in collectives(outcome.calls)]
    if calls:
        return (
            "not_in_place",
            f"{these}: every rank still has its own, although {a_or_an(calls[0].op)} was called: "
            "what arrived went into some other tensor.",
            "clone(), .cpu() and flatten() may make copies; what arrives in a copy must be copied "
            "back into the model.",
        )
    return (
        "not_broadcast",
        f"{these}: every rank still has its own.",
        "dist.broadcast(tensor, src=0), on every rank, for every tensor.",
    )


def _sent_once(model: nn.Module, run: Run) -> Iterator[Finding]:
    whole = [*model.parameters(), *model.buffers()]
    total = sum(t.numel() * t.element_size() for t in whole)
    sent = [sum(c.bytes for c in collectives(outcome.calls)) for outcome in run]
    if max(sent) <= total:
        return
    rank = sent.index(max(sent))
    tied = model.get_parameter("middle.weight")
    advice = "One broadcast of each tensor is enough."
    if sent[rank] == total + tied.numel() * tied.element_size():
        advice = (
            "What is sent twice is the tied weight: again.weight is middle.weight. state_dict() "
            "names it twice; model.parameters() gives it once."
        )
    yield Finding(
        "sent_twice",
        f"{sent[rank]:,} bytes went through rank {rank}'s calls, and the model has {total:,}.",
        property=_ONCE,
        table=Table(
            ("rank", "calls", "bytes", "the model's bytes"),
            tuple(
                (str(r), str(len(collectives(outcome.calls))), f"{sent[r]:,}", f"{total:,}")
                for r, outcome in enumerate(run)
            ),
        ),
        places=places_of(run, is_collective),
        advice=advice,
    )


BROADCAST_MODEL = Exercise(
    name="broadcast_model",
    title="All begin with the same model",
    properties=(Property(_PARAMETERS, 1), Property(_BUFFERS, 1), Property(_ONCE, 1)),
    cases=cases,
    examine=examine,
    hint="`dist.broadcast(tensor, src=0)` works in place: on rank 0 it sends the tensor, on all "
    "other ranks it overwrites it. All ranks must call it for the same tensors in the same order. "
    "`model.parameters()` gives each parameter once, shared ones too; `model.buffers()` gives the "
    "buffers. A parameter is a leaf of autograd's graph; to write into it, use `param.data`, or "
    "`with torch.no_grad():`.",
    difficulty=1,
    minutes=10,
    call=call_broadcast,
)
