"""ZeRO stage 1: each rank keeps the optimizer's state of its own share of the parameters."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import (
    Batch,
    Gradients,
    Net,
    Parts,
    build,
    data,
    local_gradients,
    mean_gradients,
    mean_squared,
    weights,
)
from autograder.exercises.ddp.shared import (
    is_close,
    is_collective,
    names_text,
    places_of,
    ranks_of,
    ranks_text,
    shown,
    tensors,
    whose,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

NAME = "ShardedOptimizer"
_STEPS = "every rank's weights are those of one whole optimizer"
_STATE = "each parameter's state is on one rank only"
_BALANCE = "the ranks' states are about equally large"
STEPS = 5


class Adam(torch.optim.Adam):
    """An optimizer that the rank's side can find again, wherever the answer keeps it."""

    made: list[torch.optim.Optimizer] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        Adam.made.append(self)


class SGD(torch.optim.SGD):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        Adam.made.append(self)


CLASSES = {"Adam": Adam, "SGD": SGD}


def call_sharded(
    answer: Callable[..., Any],
    parts: Parts,
    seed: int,
    kind: str,
    options: Mapping[str, float],
    frozen: Sequence[str],
    xs: torch.Tensor,
    ys: torch.Tensor,
) -> dict[str, Any]:
    model = build(parts, seed)
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    trained = (p for p in model.parameters() if p.requires_grad)  # a generator: it is used up
    Adam.made.clear()
    optimizer = answer(trained, CLASSES[kind], **options)
    evidence: dict[str, Any] = {"steps": [], "left": [], "torch": _is_torchs(optimizer)}
    for x, y in zip(xs, ys, strict=True):
        optimizer.zero_grad()
        evidence["left"].append(_nonzero(model))
        mean_squared(model(x), y).backward()
        _average(model)
        optimizer.step()
        evidence["steps"].append(weights(model))
    names = {id(p): name for name, p in model.named_parameters()}
    state = [(p, s) for made in Adam.made for p, s in made.state.items()]
    evidence["bytes"] = sum(_bytes(s) for _, s in state)
    evidence["owned"] = sorted(names.get(id(p), "?") for p, s in state if _bytes(s))
    evidence["options"] = [{k: made.defaults.get(k) for k in options} for made in Adam.made]
    return evidence


def _is_torchs(optimizer: Any) -> bool:
    held = vars(optimizer).values() if hasattr(optimizer, "__dict__") else ()
    return any(
        c.__name__ == "ZeroRedundancyOptimizer" for o in (optimizer, *held) for c in type(o).__mro__
    )


def _nonzero(model: nn.Module) -> list[str]:
    return [n for n, p in model.named_parameters() if p.grad is not None and bool(p.grad.any())]


def _average(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def _bytes(state: Mapping[str, Any]) -> int:
    """Bytes of what is kept for each element; a counter of steps is nothing to speak of."""
    kept = [v for v in state.values() if isinstance(v, torch.Tensor) and v.numel() > 1]
    return sum(v.numel() * v.element_size() for v in kept)


def cases(generator: random.Random) -> list[Case]:
    def case(
        world_size: int,
        parts: Parts,
        kind: str,
        options: dict[str, float],
        frozen: tuple[str, ...] = (),
    ) -> Case:
        seed = generator.randrange(1 << 30)
        shards = [
            [data(generator.randrange(1 << 30), 4) for _ in range(STEPS)] for _ in range(world_size)
        ]
        batches = [[torch.stack(part) for part in zip(*of, strict=True)] for of in shards]
        inputs = tuple((parts, seed, kind, options, frozen, *of) for of in batches)
        model = build(parts, seed)
        for name in frozen:
            model.get_parameter(name).requires_grad_(False)
        label = f"{ranks_of(world_size)}, {kind}, {_trained_text(model)}"
        return Case(inputs, (model, shards, kind, options), label)

    all_but_three = ("inner.weight", "inner.bias", "middle.bias")
    return [
        case(2, Parts(frozen=True), "Adam", {"lr": 0.05, "weight_decay": 0.1}),
        case(3, Parts(tied=True), "SGD", {"lr": 0.1, "momentum": 0.9}),
        case(4, Parts(), "Adam", {"lr": 0.02}, frozen=all_but_three),
        case(1, Parts(), "SGD", {"lr": 0.1, "momentum": 0.5}),
    ]


def _trained_text(model: nn.Module) -> str:
    return f"{sum(p.requires_grad for p in model.parameters())} trained parameters"


# the oracle: both optimizers by hand, as their papers have them


def train_whole(
    model: Net, shards: Sequence[Sequence[Batch]], kind: str, options: Mapping[str, float]
) -> Iterator[dict[str, torch.Tensor]]:
    """The weights after each step of one optimizer that owns all parameters."""
    model = copy.deepcopy(model)
    state: dict[str, dict[str, torch.Tensor]] = {}
    for step in range(STEPS):
        mean = mean_gradients([local_gradients(model, *of[step]) for of in shards])
        with torch.no_grad():
            for name, p in model.named_parameters():
                if (gradient := mean[name]) is not None:
                    gradient = gradient + options.get("weight_decay", 0.0) * p
                    kept = state.setdefault(name, {})
                    p.sub_(_update(kind, gradient, kept, step + 1, options))
        yield weights(model)


def _update(
    kind: str,
    gradient: torch.Tensor,
    kept: dict[str, torch.Tensor],
    step: int,
    options: Mapping[str, float],
) -> torch.Tensor:
    if kind == "SGD":
        # torch's momentum: the buffer is not damped.
        kept["m"] = options["momentum"] * kept.get("m", torch.zeros_like(gradient)) + gradient
        return options["lr"] * kept["m"]
    # Kingma and Ba, Adam, algorithm 1, with its default constants.
    kept["m"] = 0.9 * kept.get("m", torch.zeros_like(gradient)) + 0.1 * gradient
    kept["v"] = 0.999 * kept.get("v", torch.zeros_like(gradient)) + 0.001 * gradient**2
    m, v = kept["m"] / (1 - 0.9**step), kept["v"] / (1 - 0.999**step)
    return options["lr"] * m / (v.sqrt() + 1e-8)


def examine(case: Case, run: Run) -> Iterator[Finding]:
    model, shards, kind, options = case.expected
    if any(shown(run, "torch")):
        yield Finding(
            "torch_zero",
            "This is torch's ZeroRedundancyOptimizer; you are here to write it yourself.",
            property=_STATE,
            advice="Give each parameter an owner, and make an optimizer of your own rank's.",
        )
        return
    found = list(_options(options, run)) or list(_cleared(run))
    found = found or list(_weights(model, shards, kind, options, run))
    per_element = 2 if kind == "Adam" else 1
    yield from _owners(model, per_element, run) if len(run) > 1 else ()
    yield from found


def _options(options: Mapping[str, float], run: Run) -> Iterator[Finding]:
    for rank, made in enumerate(shown(run, "options")):
        for got in made:
            lost = [name for name, value in options.items() if got.get(name) != value]
            if lost:
                yield Finding(
                    "options_lost",
                    f"The optimizer on rank {rank} has {lost[0]}={got.get(lost[0])}; "
                    f"{lost[0]}={options[lost[0]]} was asked for.",
                    property=_STEPS,
                    advice="Hand on what you were given: optimizer_class(parameters, **options).",
                )
                return


def _cleared(run: Run) -> Iterator[Finding]:
    for rank, left in enumerate(shown(run, "left")):
        for step, names in enumerate(left):
            if names:
                yield Finding(
                    "not_zeroed",
                    f"After zero_grad(), before step {step + 1}, rank {rank} still has gradients: "
                    f"{names_text(names)}. The next backward adds to them.",
                    property=_STEPS,
                    advice="zero_grad() clears the gradients of all parameters, not only of those "
                    "that this rank owns: this rank computes them all.",
                )
                return


def _weights(
    model: Net,
    shards: Sequence[Sequence[Batch]],
    kind: str,
    options: Mapping[str, float],
    run: Run,
) -> Iterator[Finding]:
    values = shown(run, "steps")
    before = weights(model)
    for step, wanted in enumerate(train_whole(model, shards, kind, options)):
        got: list[Gradients] = [tensors(value[step], list(wanted)) for value in values]
        wrong = [n for n in wanted if not all(is_close(rank[n], wanted[n]) for rank in got)]
        if wrong:
            yield _wrong_step(step, wrong, before, got, wanted, run)
            return
        before = wanted


def _wrong_step(
    step: int,
    wrong: Sequence[str],
    before: Mapping[str, torch.Tensor],
    got: Sequence[Gradients],
    wanted: Mapping[str, torch.Tensor],
    run: Run,
) -> Finding:
    name = wrong[0]
    right = [r for r in range(len(got)) if is_close(got[r][name], wanted[name])]
    stale = [r for r in range(len(got)) if is_close(got[r][name], before[name])]
    these = names_text(wrong)
    code, why = "wrong_weights", f"After step {step + 1}, {these} are not what one whole optimizer "
    why += "makes of them."
    advice = "Does the owner keep its state from step to step, and does it step once?"
    if len(stale) == len(got) and any(name in owned for owned in shown(run, "owned")):
        code = "overwritten"
        why = f"Step {step + 1} changes {these} on no rank, although an optimizer owns them: the "
        why += "owner's new values were overwritten."
        advice = "The source of a parameter's broadcast is the rank that owns it."
    elif len(stale) == len(got):
        code, why = "nobody_steps", f"Step {step + 1} changes {these} on no rank: nobody owns them."
        advice = "Every parameter has an owner. Which rank has this one in its optimizer?"
    elif right and len(right) + len(stale) == len(got):
        code = "not_sent"
        why = (
            f"After step {step + 1}, {name} is new on {ranks_text(right)} only, which owns it; "
            f"{ranks_text(stale)} still {'has' if len(stale) == 1 else 'have'} the old one."
        )
        advice = "After its step, each owner sends its parameters to all: dist.broadcast(p.data, "
        advice += "src=owner), called by every rank, for every parameter, in the same order."
    return Finding(
        code,
        why,
        _STEPS,
        Table(
            ("rank", "parameter", "before the step", "after it", "wanted"),
            tuple(
                (str(r), name, whose(before[name]), whose(g[name]), whose(wanted[name]))
                for r, g in enumerate(got)
            ),
        ),
        places_of(run, is_collective),
        advice,
    )


def _owners(model: Net, per_element: int, run: Run) -> Iterator[Finding]:
    trained = {n: p.nbytes * per_element for n, p in model.named_parameters() if p.requires_grad}
    total, largest = sum(trained.values()), max(trained.values())
    held: list[int] = shown(run, "bytes")
    owned: list[list[str]] = shown(run, "owned")
    table = Table(
        ("rank", "bytes of state", "one whole optimizer's", "parameters"),
        tuple(
            (str(r), f"{held[r]:,}", f"{total:,}", names_text(owned[r], 2) or "(none)")
            for r in range(len(run))
        ),
    )
    room = 8 * per_element * len(run)  # a flat shard may be padded to a multiple of the ranks

    def finding(code: str, why: str, property_: str, advice: str) -> Finding:
        return Finding(code, why, property_, table, advice=advice)

    if max(held) == 0:
        yield finding(
            "no_state",
            "No optimizer of the class that was handed in has any state, on any rank.",
            _STATE,
            "Make self.optimizer = optimizer_class(own parameters, **options), and call its "
            "step(). A generator can be gone through once: make a list of params first.",
        )
    elif all(b == total for b in held):
        yield finding(
            "unsharded",
            f"Every rank keeps the state of all parameters, {total:,} bytes: nothing was saved.",
            _STATE,
            "A rank's optimizer gets only the parameters that this rank owns.",
        )
    elif any(len([n for n in names if n != "?"]) > len(set(names) - {"?"}) for names in owned):
        yield finding(
            "many_states",
            "A rank keeps several states for one parameter: more than one optimizer was made for "
            "it, and each begins without a history.",
            _STATE,
            "Make the optimizer once, in __init__.",
        )
    elif sum(held) > total + room:
        twice = [n for n in trained if sum(n in names for names in owned) > 1]
        same = all(names == owned[0] for names in owned)
        yield finding(
            "same_shard" if same else "owned_twice",
            "All ranks own the same parameters, and nobody the others."
            if same
            else f"The state of {names_text(twice)} is on more than one rank.",
            _STATE,
            "Which rank owns a parameter must depend on the rank: owner(parameter) == rank.",
        )
    elif sum(held) < total:
        same = len(owned) > 1 and all(names == owned[0] for names in owned)
        nobody = [n for n in trained if not any(n in names for names in owned)]
        yield finding(
            "same_shard" if same else "nobody_owns",
            "All ranks own the same parameters, and nobody the others."
            if same
            else f"Nobody keeps a state for {names_text(nobody)}.",
            _STATE,
            "Every parameter belongs to one rank: go through all of them and give each an owner.",
        )
    elif max(held) - min(held) > largest + room:
        rank = held.index(max(held))
        alone = held.count(0) == len(held) - 1
        yield finding(
            "one_owner" if alone else "unbalanced",
            f"Rank {rank} keeps all of it, {total:,} bytes, and the others nothing: the largest "
            "share is what must fit."
            if alone
            else f"Rank {rank} keeps {held[rank]:,} bytes and rank {held.index(min(held))} "
            f"{min(held):,}: the largest share is what must fit, and equal ones would be "
            f"{math.ceil(total / len(held)):,}.",
            _BALANCE,
            "Count bytes, not parameters: weights and biases come in turns, and every second one "
            "is a bias. Give each parameter to the rank that has the least so far.",
        )


SHARDED_OPTIMIZER = Exercise(
    name=NAME,
    title="ZeRO, stage 1: share the optimizer's state",
    properties=(Property(_STEPS, 2), Property(_STATE, 2), Property(_BALANCE, 1)),
    cases=cases,
    examine=examine,
    hint="Make a list of the parameters first: what you are given may be a generator, which can be "
    "gone through once. Give each an owner, the same on all ranks: go through them in order and "
    "give each to the rank with the fewest elements so far. Build `optimizer_class` with this "
    "rank's own ones; an empty list is an error there, so a rank that owns nothing has no "
    "optimizer. `step`: step your own, then broadcast every parameter from its owner. `zero_grad`: "
    "all parameters.",
    difficulty=4,
    minutes=30,
    call=call_sharded,
)
