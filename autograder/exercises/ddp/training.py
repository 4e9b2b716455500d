"""Train with a learner's DDP, in the ranks, and say what is wrong with what came out, outside.

A rank's log gets a mark before each part of a step, so that it can be told in which part a
collective was started.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograder.exercises.ddp.models import (
    Batch,
    Gradients,
    Net,
    Parts,
    buffers,
    build,
    data,
    gradients,
    local_gradients,
    mean_gradients,
    mean_squared,
    weights,
)
from autograder.exercises.ddp.shared import (
    collectives,
    gradient_findings,
    is_close,
    is_collective,
    names_text,
    places_of,
    ranks_text,
    short_text,
    shown,
    split_at,
    tensors,
    whose,
)
from autograder.verdict import Finding, Table
from course.ranks.calls import mark
from course.ranks.outcome import Call, Run

# The marks. LAST is inside backward, where the first layer's gradients, the last ones, are ready.
FORWARD, BACKWARD, LAST, FINISH, DONE = "forward", "backward", "last gradient", "finish", "step"
RATE = 0.3


@dataclass(frozen=True)
class Plan:
    """How one rank trains. ``early_optimizer``: built before the model is wrapped."""

    parts: Parts
    seed: int  # of this rank's model: before it is wrapped, the ranks' models differ
    branch: str | None = None  # of the model's, that its forwards take
    early_optimizer: bool = False
    zeros: bool = False  # zero_grad(set_to_none=False)
    late: tuple[int, ...] = ()  # steps in which this rank comes late to its backward
    arguments: tuple[Any, ...] = ()  # of the wrapper, behind the model


def call_train(
    answer: Callable[..., Any], plan: Plan, xs: torch.Tensor, ys: torch.Tensor
) -> dict[str, Any]:
    """A step for each of xs[k], ys[k] with the learner's wrapper: its forward and its finish()."""
    model = build(plan.parts, plan.seed)
    parameters = list(model.parameters())
    for last in model.inner.parameters():  # before the learner's own hooks, so that it runs first
        last.register_post_accumulate_grad_hook(lambda _: mark(LAST))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE) if plan.early_optimizer else None
    wrapped = answer(model, *plan.arguments)
    evidence: dict[str, Any] = {
        "kind": kind_of(wrapped),
        "same": _same_parameters(wrapped, model, parameters),
        "start": weights(model),
        "buffers": buffers(model),
        "steps": [],
        "gradients": [],
    }
    if not evidence["kind"] and evidence["same"]:
        optimizer = optimizer or torch.optim.SGD(wrapped.parameters(), lr=RATE)
        for step, (x, y) in enumerate(zip(xs, ys, strict=True)):
            train_step(wrapped, model, optimizer, x, y, plan, step in plan.late, evidence)
            if "output" in evidence:
                break  # there is nothing to train on
    return evidence


def train_step(
    wrapped: Any,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    plan: Plan,
    late: bool,
    evidence: dict[str, Any],
) -> None:
    optimizer.zero_grad(set_to_none=not plan.zeros)
    mark(FORWARD)
    output = wrapped(x) if plan.branch is None else wrapped(x, plan.branch)
    if not isinstance(output, torch.Tensor):
        evidence["output"] = short_text(output)
        return
    loss = mean_squared(output, y)
    if late:
        time.sleep(0.03)  # now the others are done, unless they wait for this rank
    mark(BACKWARD)
    loss.backward()
    mark(FINISH)
    wrapped.finish()
    mark(DONE)
    evidence["gradients"].append(gradients(model))
    optimizer.step()
    evidence["steps"].append(weights(model))


def kind_of(wrapped: Any) -> str:
    """What the wrapper is when it is not what was asked for; empty when it is."""
    if isinstance(wrapped, DistributedDataParallel):
        return "torch's DDP itself"
    if not isinstance(wrapped, nn.Module):
        return "not an nn.Module"
    if any(isinstance(m, DistributedDataParallel) for m in wrapped.modules()):
        return "torch's DDP inside"
    return ""


def _same_parameters(wrapped: Any, model: nn.Module, before: Sequence[nn.Parameter]) -> bool:
    if not isinstance(wrapped, nn.Module):
        return False
    held = {id(p) for p in wrapped.parameters()}
    return held == {id(p) for p in before} == {id(p) for p in model.parameters()}


# outside the ranks


@dataclass(frozen=True)
class Training:
    """What one process would do: the models to begin with, and each step's shards by rank."""

    models: tuple[Net, ...]  # of each rank, before they are wrapped
    shards: tuple[tuple[Batch, ...], ...]  # [step][rank]
    branches: tuple[str | None, ...]  # [rank]

    def steps(self) -> Iterator[tuple[list[Gradients], dict[str, torch.Tensor]]]:
        """For each step the ranks' own gradients, and the parameters after it."""
        model = copy.deepcopy(self.models[0])
        for shard in self.shards:
            local = [
                local_gradients(model, x, y, branch)
                for (x, y), branch in zip(shard, self.branches, strict=True)
            ]
            mean = mean_gradients(local)
            with torch.no_grad():
                for name, p in model.named_parameters():
                    if (gradient := mean[name]) is not None:
                        p.sub_(gradient, alpha=RATE)
            yield local, weights(model)


def plan_training(
    plans: Sequence[Plan], steps: int, rows: int, seed: int
) -> tuple[tuple[tuple[Any, ...], ...], Training]:
    """Every rank's inputs for :func:`call_train`, and what they should lead to."""
    size = len(plans)
    shards = tuple(
        tuple(data(seed + 1000 * step + rank, rows) for rank in range(size))
        for step in range(steps)
    )
    inputs = tuple(
        (
            plan,
            torch.stack([shard[rank][0] for shard in shards]),
            torch.stack([shard[rank][1] for shard in shards]),
        )
        for rank, plan in enumerate(plans)
    )
    models = tuple(build(p.parts, p.seed) for p in plans)
    return inputs, Training(models, shards, tuple(p.branch for p in plans))


def wrapper_findings(run: Run, property_: str, name: str) -> Iterator[Finding]:
    """An answer that is no wrapper of its own around the model that it was given."""
    kinds = [kind for kind in shown(run, "kind") if kind]
    if kinds and "torch" in kinds[0]:
        yield Finding(
            "torch_ddp",
            f"{name} is {kinds[0]}: it does the work, and you are here to do it yourself.",
            property=property_,
            advice="Build it from nn.Module, hooks and dist.all_reduce.",
        )
    elif kinds:
        yield Finding(
            "not_a_module",
            f"{name}(model) is not an nn.Module, so it has no parameters() for an optimizer.",
            property=property_,
            advice=f"class {name}(nn.Module): call super().__init__() first, then self.module = "
            "module.",
        )
    elif not all(shown(run, "same")):
        yield Finding(
            "other_parameters",
            f"{name}(model).parameters() are not the parameters of the model that was handed in. "
            "An optimizer that was built before would train what nobody uses.",
            property=property_,
            advice="Keep the module itself, self.module = module: no copy of it, and no new "
            "parameters.",
        )
    elif any(shown(run, "output")):
        rank, output = next((r, o) for r, o in enumerate(shown(run, "output")) if o)
        yield Finding(
            "no_output",
            f"On rank {rank} the forward of {name} returns {output}, not the module's output.",
            property=property_,
            advice="forward returns what the module itself returns: is there a return in it?",
        )


def start_findings(training: Training, run: Run, property_: str) -> Iterator[Finding]:
    """A model that after wrapping is not rank 0's."""
    for what, wanted in (
        ("start", weights(training.models[0])),
        ("buffers", buffers(training.models[0])),
    ):
        got = [tensors(value, list(wanted)) for value in shown(run, what)]
        wrong = [n for n in wanted if not all(is_close(rank[n], wanted[n]) for rank in got)]
        if not wrong:
            continue
        name = wrong[0]
        kind = "buffers" if what == "buffers" else "parameters"
        yield Finding(
            f"{kind}_not_broadcast",
            f"After wrapping, the ranks' models differ in their {kind}: {names_text(wrong)}. "
            "From different models, equal gradients lead to different models.",
            property=property_,
            table=Table(
                ("rank", kind[:-1], "after wrapping", "rank 0's"),
                tuple(
                    (str(r), name, whose(g[name]), whose(wanted[name])) for r, g in enumerate(got)
                ),
            ),
            places=places_of(run, is_collective),
            advice="Begin as in broadcast_model: rank 0's parameters and buffers go to all.",
        )
        return


def step_findings(training: Training, run: Run, property_: str) -> Iterator[Finding]:
    """The first step whose gradients or parameters are not what one process would have."""
    all_gradients, all_steps = shown(run, "gradients"), shown(run, "steps")
    for step, (local, wanted) in enumerate(training.steps()):
        names = list(wanted)
        when = f"In step {step + 1}" if step else ""
        got = [tensors(_entry(value, step), names) for value in all_gradients]
        found = list(gradient_findings(got, local, property_, when))
        found = found or list(_weights(_entries(all_steps, step), wanted, step, property_))
        if found:
            yield from found
            return


def _weights(
    values: Sequence[Any], wanted: dict[str, torch.Tensor], step: int, property_: str
) -> Iterator[Finding]:
    got = [tensors(value, list(wanted)) for value in values]
    wrong = [n for n in wanted if not all(is_close(rank[n], wanted[n]) for rank in got)]
    if not wrong:
        return
    name = wrong[0]
    ranks = [r for r in range(len(got)) if not is_close(got[r][name], wanted[name])]
    yield Finding(
        "wrong_weights",
        f"After step {step + 1} the gradients are right and {names_text(wrong)} on "
        f"{ranks_text(ranks)} are not: something else has changed the parameters.",
        property=property_,
        table=Table(
            ("rank", "parameter", "after the step", "one process"),
            tuple((str(r), name, whose(g[name]), whose(wanted[name])) for r, g in enumerate(got)),
        ),
        advice="Only the optimizer changes parameters, and only after finish().",
    )


def _entry(value: Any, step: int) -> Any:
    return value[step] if isinstance(value, list) and len(value) > step else None


def _entries(values: Sequence[Any], step: int) -> list[Any]:
    return [_entry(value, step) for value in values]


def steps_of(run: Run, rank: int) -> list[dict[str, list[Call]]]:
    """The rank's calls in each step, by the part of the step in which they began."""
    return split_at(run[rank].calls, (FORWARD, BACKWARD, LAST, FINISH, DONE))


def reduced_in(step: dict[str, list[Call]], *parts: str) -> list[Call]:
    """The all-reduces begun in these parts of a step."""
    return [call for part in parts for call in collectives(step[part])]
