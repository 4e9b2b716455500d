"""Parameters that some ranks use and others do not, and those that nobody uses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
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
    listed_text,
    names_text,
    ranks_of,
    ranks_text,
    short_text,
    shown,
    tensors,
    unequal_counts,
    with_places,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_MEAN = "what some rank used has the mean over all ranks"
_UNTOUCHED = "what no rank used keeps no gradient"
_NAMES = "every rank names what no rank used"


def call_unused(
    answer: Callable[..., Any],
    parts: Parts,
    seed: int,
    x: torch.Tensor,
    y: torch.Tensor,
    branch: str | None,
    zero_head: bool,
) -> dict[str, Any]:
    model = _built(parts, seed, zero_head)
    mean_squared(model(x, branch), y).backward()
    names = answer(model)
    if isinstance(names, (list, tuple, set, frozenset)):
        names = [str(name) for name in names]
    elif names is not None:
        names = short_text(names)
    return {"gradients": gradients(model), "names": names}


def _built(parts: Parts, seed: int, zero_head: bool) -> Net:
    """The model; behind a head of zeros, every gradient is zero, and none of them is None."""
    model = build(parts, seed)
    if zero_head:
        torch.nn.init.zeros_(model.head.weight)
    return model


def cases(generator: random.Random) -> list[Case]:
    def case(parts: Parts, branches: tuple[str | None, ...], zero_head: bool = False) -> Case:
        seed = generator.randrange(1 << 30)
        shards = [data(generator.randrange(1 << 30), 4) for _ in branches]
        inputs = tuple(
            (parts, seed, x, y, b, zero_head) for (x, y), b in zip(shards, branches, strict=True)
        )
        model = _built(parts, seed, zero_head)
        local = [local_gradients(model, x, y, b) for (x, y), b in zip(shards, branches)]
        trained = [name for name, p in model.named_parameters() if p.requires_grad]
        taken = [f"{b or 'none'} on rank {r}" for r, b in enumerate(branches)]
        label = f"{ranks_of(len(branches))}, branch {listed_text(taken)}"
        label += ", a head of zeros" if zero_head else ""
        return Case(inputs, (trained, local), label)

    return [
        # Who leaves out what is None here adds up the two branches, and nothing complains.
        case(Parts(branches=True), ("a", "b")),
        case(Parts(branches=True), ("a", None)),
        case(Parts(branches=True, unused=True), ("a", "b", "a")),
        case(Parts(branches=True, frozen=True, tied=True), (None, "b", None, "b")),
        case(Parts(branches=True, unused=True), ("b", "b"), zero_head=True),
        case(Parts(branches=True), ("b",)),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    trained, local = case.expected
    nobody = [name for name in trained if all(rank[name] is None for rank in local)]
    got = [tensors(value, list(local[0])) for value in shown(run, "gradients")]
    found = list(_zero_is_not_none(got, local))
    found = found or list(gradient_findings(got, local, _MEAN))
    if found:
        counts = [len(collectives(outcome.calls)) for outcome in run]
        advice = "Which collectives a rank calls must not depend on what it used itself."
        found = unequal_counts(run, counts, _MEAN, advice) or found
    found = found or list(_untouched(nobody, got))
    yield from with_places(found, run) or _names(trained, local, nobody, run)


def _zero_is_not_none(got: Sequence[Gradients], local: Sequence[Gradients]) -> Iterator[Finding]:
    """Gradients that are zeros, and taken for those of unused parameters."""
    zeros = [n for n in local[0] if any(_is_zeros(rank[n]) for rank in local)]
    lost = [n for n in zeros if all(rank[n] is None for rank in got)]
    if lost:
        yield Finding(
            "zeros_taken_for_unused",
            f"{names_text(lost)} {'were' if len(lost) > 1 else 'was'} used: before the exchange "
            "the gradient there is zeros, which happens, and not None. Afterwards it is None.",
            property=_MEAN,
            table=Table(
                ("rank", "parameter", "its own gradient", "afterwards", "wanted"),
                tuple(
                    (str(r), lost[0], "None" if rank[lost[0]] is None else "zeros", "None", "zeros")
                    for r, rank in enumerate(local)
                ),
            ),
            advice="Whether a parameter was used is told by None alone, before the exchange; the "
            "numbers cannot tell. Let the ranks exchange who has a gradient.",
        )


def _is_zeros(gradient: torch.Tensor | None) -> bool:
    return gradient is not None and not bool(gradient.any())


def _untouched(nobody: Sequence[str], got: Sequence[Gradients]) -> Iterator[Finding]:
    touched = [n for n in nobody if any(rank[n] is not None for rank in got)]
    if touched:
        yield Finding(
            "touched_unused",
            f"No rank used {names_text(touched)}, and yet there is a gradient now, of zeros. To an "
            "optimizer zeros are not nothing: weight decay shrinks such a parameter, and momentum "
            "goes on moving it.",
            property=_UNTOUCHED,
            table=Table(
                ("rank", "parameter", "gradient", "wanted"),
                tuple(
                    (str(r), touched[0], "None" if rank[touched[0]] is None else "zeros", "None")
                    for r, rank in enumerate(got)
                ),
            ),
            advice="Let the ranks first find out together which parameters anybody used: a tensor "
            "with a 1 for each that this rank used, all-reduced.",
        )


def _names(
    trained: Sequence[str], local: Sequence[Gradients], nobody: Sequence[str], run: Run
) -> Iterator[Finding]:
    named = shown(run, "names")
    if all(isinstance(names, list) and sorted(names) == sorted(nobody) for names in named):
        return
    own = [sorted(n for n in trained if rank[n] is None) for rank in local]
    table = Table(
        ("rank", "returned", "unused here", "unused everywhere"),
        tuple((str(r), _list(named[r]), _list(own[r]), _list(nobody)) for r in range(len(named))),
    )
    wrong = [
        r for r, names in enumerate(named)
        if not isinstance(names, list) or sorted(names) != sorted(nobody)
    ]  # fmt: skip
    code, why = "wrong_names", f"{ranks_text(wrong).capitalize()} named other parameters."
    advice = "model.named_parameters() gives names and parameters in the same order on all ranks."
    if all(names is None for names in named):
        code, why = "returned_nothing", "The function returns None on every rank."
        advice = "Return the list of names, on every rank; an empty list if there is none."
    elif not all(isinstance(names, list) for names in named):
        code, why = "wrong_type", f"Rank {wrong[0]} does not return a list of names."
    elif all(isinstance(n, list) and sorted(n) == own[r] for r, n in enumerate(named)):
        code = "local_names"
        why = "Each rank named what it did not use itself; another rank may have used it."
        advice = "A parameter is unused when the number of ranks that used it is 0."
    elif any(isinstance(n, list) and any("frozen" in name for name in n) for n in named):
        code = "frozen_named"
        why = "Frozen parameters are named too. They are used; they are only not trained."
        advice = "Leave out parameters with requires_grad=False."
    yield Finding(code, why, property=_NAMES, table=table, advice=advice)


def _list(names: Any) -> str:
    if not isinstance(names, (list, tuple)):
        return short_text(names)
    return names_text(list(names), 1) or "(none)"


UNUSED_PARAMETERS = Exercise(
    name="unused_parameters",
    title="A branch that not every rank takes",
    properties=(Property(_MEAN, 1), Property(_UNTOUCHED, 1), Property(_NAMES, 1)),
    cases=cases,
    examine=examine,
    hint="Two rounds. First a tensor with one number for each trainable parameter: 1 where this "
    "rank has a gradient, else 0; its all-reduce gives the number of ranks that used each, and "
    "every rank knows the same. Then, for each parameter that somebody used, in the same order on "
    "all ranks: all-reduce its gradient, zeros where this rank has none, and divide by the number "
    "of *all* ranks.",
    difficulty=3,
    minutes=15,
    call=call_unused,
)
