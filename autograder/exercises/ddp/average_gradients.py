"""Gradients averaged after the backward pass: one all-reduce for each, and one for all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import (
    Gradients,
    Net,
    Parts,
    build,
    data,
    gradients,
    local_gradients,
    mean_squared,
)
from autograder.exercises.ddp.shared import (
    collectives,
    gradient_findings,
    is_collective,
    listed_text,
    names_text,
    places_of,
    ranks_of,
    shown,
    tensors,
    times,
    unequal_counts,
    with_places,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_MEAN = "every rank has the mean of all ranks' gradients"
_EACH = "one all-reduce for each parameter"
_FLAT = "one all-reduce for all parameters"


def call_average(
    answer: Callable[..., Any],
    parts: Parts,
    seed: int,
    x: torch.Tensor,
    y: torch.Tensor,
    branch: str | None,
) -> dict[str, Any]:
    model = build(parts, seed)
    mean_squared(model(x, branch), y).backward()
    answer(model)
    return {"gradients": gradients(model)}


def cases(generator: random.Random) -> list[Case]:
    def case(parts: Parts, branches: tuple[str | None, ...]) -> Case:
        """The same model on all ranks; each takes the branch that it is told."""
        seed = generator.randrange(1 << 30)
        shards = [data(generator.randrange(1 << 30), 4) for _ in branches]
        inputs = tuple((parts, seed, x, y, b) for (x, y), b in zip(shards, branches, strict=True))
        model = build(parts, seed)
        local = [local_gradients(model, x, y, b) for _, _, x, y, b in inputs]
        label = f"{ranks_of(len(branches))}, {parts}"
        if len({*branches}) > 1:
            taken = [f"{b or 'none'} on rank {r}" for r, b in enumerate(branches)]
            label += f" ({listed_text(taken)})"
        return Case(inputs, (model, local), label)

    return [
        # Who leaves out what is None here adds up the two branches, and nothing complains.
        case(Parts(branches=True), ("a", "b")),
        case(Parts(), (None, None)),
        case(Parts(frozen=True, tied=True), (None, None, None)),
        case(Parts(frozen=True, branches=True), ("a", "b", None)),
        case(Parts(tied=True, unused=True), (None, None, None, None)),
        case(Parts(), (None,)),
    ]


def examine_each(case: Case, run: Run) -> Iterator[Finding]:
    model, local = case.expected
    found = list(_mean(local, run))
    yield from found or _one_for_each(model, local, run)


def examine_flat(case: Case, run: Run) -> Iterator[Finding]:
    _, local = case.expected
    found = list(_mean(local, run))
    yield from found or _one_for_all(run)


def _mean(local: list[Gradients], run: Run) -> Iterator[Finding]:
    got = [tensors(value, list(local[0])) for value in shown(run, "gradients")]
    counts = [len(collectives(outcome.calls)) for outcome in run]
    found = list(_frozen(got, run)) or list(gradient_findings(got, local, _MEAN))
    if found:
        advice = (
            "Do not leave out a parameter because its gradient is None here: another rank may "
            "have one. Use zeros in its place."
        )
        found = unequal_counts(run, counts, _MEAN, advice) or found
    yield from with_places(found, run)


def _frozen(got: list[Gradients], run: Run) -> Iterator[Finding]:
    names = [n for n in got[0] if "frozen" in n and any(rank[n] is not None for rank in got)]
    if names:
        yield Finding(
            "frozen_reduced",
            f"Frozen parameters have a gradient now: {names_text(names)}. Nobody needs it, and "
            "each costs memory and a message.",
            property=_MEAN,
            advice="Leave out parameters with requires_grad=False: all ranks leave out the same.",
        )


def _one_for_each(model: Net, local: list[Gradients], run: Run) -> Iterator[Finding]:
    most = sum(p.requires_grad for p in model.parameters())
    least = sum(any(rank[name] is not None for rank in local) for name in local[0])
    counts = [len(collectives(outcome.calls)) for outcome in run]
    if all(least <= count <= most for count in counts) and _only_all_reduce(run):
        return
    rank = max(range(len(counts)), key=lambda r: abs(counts[r] - most))
    table = Table(
        ("rank", "collective calls", "parameters that are trained"),
        tuple((str(r), str(count), str(most)) for r, count in enumerate(counts)),
    )
    if not _only_all_reduce(run):
        yield _other_collective(run, _EACH)
    elif counts[rank] > most:
        tied = sum(1 for _ in model.named_parameters(remove_duplicate=False)) - sum(
            1 for _ in model.parameters()
        )
        frozen = sum(not p.requires_grad for p in model.parameters())
        code, why, advice = "too_many_calls", "", "Count them: which one is not a gradient's?"
        if tied and counts[rank] == most + tied:
            code = "tied_twice"
            why = ": the weight that two layers share was reduced twice"
            advice = "model.parameters() gives a shared parameter once; state_dict() does not."
        elif frozen and counts[rank] == most + frozen:
            code = "frozen_reduced"
            why = ": the frozen ones were reduced as well, though nothing is to be learned there"
            advice = "Leave out parameters with requires_grad=False."
        yield Finding(
            code,
            f"The gradients are right, but rank {rank} called "
            f"{times(counts[rank], 'collective')} for {most} parameters{why}.",
            property=_EACH,
            table=table,
            places=places_of(run, is_collective),
            advice=advice,
        )
    else:
        yield Finding(
            "too_few_calls",
            f"The gradients are right, but rank {rank} called "
            f"{times(counts[rank], 'collective')} for {most} parameters.",
            property=_EACH,
            table=table,
            places=places_of(run, is_collective),
            advice="Here each gradient is to have its own dist.all_reduce; the next exercise makes "
            "one of them all.",
        )


def _one_for_all(run: Run) -> Iterator[Finding]:
    counts = [len(collectives(outcome.calls)) for outcome in run]
    if all(count == 1 for count in counts) and _only_all_reduce(run):
        return
    if not _only_all_reduce(run):
        yield _other_collective(run, _FLAT)
        return
    rank = max(range(len(counts)), key=lambda r: abs(counts[r] - 1))
    code = "too_many_calls" if counts[rank] else "too_few_calls"
    yield Finding(
        code,
        f"The gradients are right, but rank {rank} made {times(counts[rank], 'all-reduce')}; one "
        "is to do it.",
        property=_FLAT,
        table=Table(
            ("rank", "all-reduces", "wanted"),
            tuple((str(r), str(count), "1") for r, count in enumerate(counts)),
        ),
        places=places_of(run, is_collective),
        advice="Make one flat tensor of all gradients (torch.cat of g.flatten()), reduce that, and "
        "copy the pieces back.",
    )


def _only_all_reduce(run: Run) -> bool:
    return all(c.op == "all_reduce" for outcome in run for c in collectives(outcome.calls))


def _other_collective(run: Run, property_: str) -> Finding:
    other = {c.op for outcome in run for c in collectives(outcome.calls)} - {"all_reduce"}
    used = sorted(other)
    return Finding(
        "other_collective",
        f"The gradients are right, but {listed_text(['dist.' + op for op in used])} helped; a sum "
        "that all ranks need is what all_reduce is for, and it sends the least.",
        property=property_,
        places=places_of(run, lambda c: c.op in other),
        advice="dist.all_reduce(gradient), then divide by the number of ranks.",
    )


AVERAGE_GRADIENTS = Exercise(
    name="average_gradients",
    title="The mean of all gradients",
    properties=(Property(_MEAN, 2), Property(_EACH, 1)),
    cases=cases,
    examine=examine_each,
    hint="Loop over `model.parameters()` and skip what has `requires_grad=False`: that is the same "
    "on all ranks. Whether `param.grad` is None may differ from rank to rank, so it must not "
    "decide whether you call `all_reduce`; put `torch.zeros_like(param)` in its place. "
    "`dist.all_reduce` sums in place; then divide by `dist.get_world_size()`.",
    difficulty=2,
    minutes=10,
    call=call_average,
)

AVERAGE_GRADIENTS_FLAT = Exercise(
    name="average_gradients_flat",
    title="One message instead of many",
    properties=(Property(_MEAN, 1), Property(_FLAT, 1)),
    cases=cases,
    examine=examine_flat,
    hint="Make the list of parameters first, and use it three times: to build the flat tensor "
    "(`torch.cat([g.flatten() for g in ...])`, zeros where a gradient is None), to find the "
    "lengths of its pieces (`param.numel()`), and to give each piece back, viewed in the "
    "parameter's shape (`piece.view_as(param)`). `flat.split(lengths)` cuts it.",
    difficulty=2,
    minutes=15,
    call=call_average,
)
