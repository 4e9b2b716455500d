"""A training run against one process that takes all ranks' batches together, step by step."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import torch

from autograder.exercises.ddp.models import (
    Batch,
    Gradients,
    Net,
    local_gradients,
    mean_gradients,
    mean_squared,
    weights,
)
from autograder.exercises.ddp.shared import (
    gradient_findings,
    is_close,
    names_text,
    shown,
    tensors,
    whose,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run


class Replay:
    """Each rank's value has ``before`` (its weights at each forward), ``after`` (at the end) and
    ``through_ddp`` (how many forwards went through DDP). Plain SGD is assumed: what a step did
    to the weights then tells which gradients it took.

    ``losses[step][rank]`` is filled by :meth:`findings`: the loss in that forward, and its rows;
    ``later`` has the loss of the same rows after the step.

    With ``optimizers`` (see :class:`autograder.exercises.ddp.watch.Steps`), steps that are wrong
    though their gradients are right are blamed on the optimizer.
    """

    def __init__(
        self, model: Net, shards: Sequence[Sequence[Batch]], rate: float, run: Run, property_: str
    ) -> None:
        self.losses: list[list[tuple[float, int]]] = []
        self.later: list[list[tuple[float, int]]] = []
        self._model, self._shards, self._rate = model, shards, rate
        self._run, self._property = run, property_
        self._names = list(weights(model))
        self._before, self._after = shown(run, "before"), shown(run, "after")

    def findings(self) -> list[Finding]:
        """What is wrong with the first step that is not the one process's."""
        model = copy.deepcopy(self._model)
        found = list(self._start(model))
        previous: Gradients | None = None
        for step, shards in enumerate(self._shards):
            self.losses.append(_losses(model, shards))
            local = [local_gradients(model, x, y) for x, y in shards]
            start = weights(model)
            got = [
                self._taken(start, self._weights(rank, step + 1), local[0])
                for rank in range(len(self._run))
            ]
            found = found or self._step(step, got, local, previous)
            previous = mean_gradients(local)
            self._take(model, previous)
            self.later.append(_losses(model, shards))
        return found

    def _take(self, model: Net, gradients: Gradients) -> None:
        with torch.no_grad():
            for name, p in model.named_parameters():
                if (gradient := gradients[name]) is not None:
                    p.sub_(gradient, alpha=self._rate)

    def _weights(self, rank: int, step: int) -> Gradients:
        """The rank's weights before this step, or after the last."""
        before = self._before[rank] if isinstance(self._before[rank], list) else []
        return tensors(before[step] if step < len(before) else self._after[rank], self._names)

    def _taken(self, start: dict[str, torch.Tensor], end: Gradients, local: Gradients) -> Gradients:
        """What the gradients must have been for plain SGD to lead from start to end."""
        found: Gradients = {}
        for name, value in end.items():
            idle = local[name] is None and value is not None and is_close(value, start[name])
            found[name] = None if value is None or idle else (start[name] - value) / self._rate
        return found

    def _start(self, model: Net) -> Iterator[Finding]:
        wanted = weights(model)
        got = [self._weights(rank, 0) for rank in range(len(self._run))]
        wrong = [n for n in wanted if not all(is_close(rank[n], wanted[n]) for rank in got)]
        if not wrong or self._around_the_wrapper():
            return
        yield Finding(
            "parameters_not_broadcast",
            f"The ranks begin with different {names_text(wrong)}.",
            self._property,
            Table(
                ("rank", "parameter", "before step 1", "rank 0's"),
                tuple(
                    (str(r), wrong[0], whose(g[wrong[0]]), whose(wanted[wrong[0]]))
                    for r, g in enumerate(got)
                ),
            ),
            advice="DDP(model) sends rank 0's weights to all when it is made.",
        )

    def _around_the_wrapper(self) -> bool:
        return len(self._run) > 1 and not any(shown(self._run, "through_ddp"))

    def _step(
        self,
        step: int,
        got: Sequence[Gradients],
        local: Sequence[Gradients],
        previous: Gradients | None,
    ) -> list[Finding]:
        """The finding on a wrong step, by the mistake in the loop that makes it."""
        found = list(gradient_findings(got, local, self._property))
        if not found:
            return []
        code, why, advice = found[0].code, found[0].message, found[0].advice
        if step == 0 and (blamed := self._optimizer(local)) is not None:
            return [Finding(*blamed[:2], self._property, advice=blamed[2])]
        if self._around_the_wrapper():
            code = "around_the_wrapper"
            why = (
                "No forward went through DDP, so no gradients were averaged: each rank trains a "
                "model of its own."
            )
            advice = "Call the DDP itself, ddp(x), in every forward that backward will follow."
        elif all(not any(g is not None and bool(g.any()) for g in rank.values()) for rank in got):
            code = "not_stepped"
            why = f"Step {step + 1} changes no parameter."
            advice = (
                "zero_grad, forward, backward, step; and the optimizer must own the DDP's "
                "parameters."
            )
        elif previous is not None and _is_sum(got, mean_gradients(local), previous):
            code = "not_zeroed"
            why = f"In step {step + 1} the gradients of the step before are added to the new ones."
            advice = "optimizer.zero_grad() before every backward."
        elif code in ("sum_not_mean", "divided_twice", "scaled"):
            why = f"Step {step + 1} is wrong by a factor. {why}"
            advice = (
                "DDP averages over the ranks, and the loss is the mean over the rows: no factor is "
                "needed, and SGD takes the learning rate as it is."
            )
        else:
            code = code if code == "not_averaged" else "wrong_step"
            why = f"Step {step + 1} is not the step that one process would take. {why}"
        return [Finding(code, why, self._property, found[0].table, advice=advice)]

    def _optimizer(self, local: Sequence[Gradients]) -> tuple[str, str, str] | None:
        """What is wrong with an optimizer that was given the right gradients in its first step."""
        made = [of[0] for of in shown(self._run, "optimizers") if of]
        if len(made) < len(self._run):
            return None
        got = [tensors(of["gradients"], self._names) for of in made]
        if list(gradient_findings(got, local, self._property)):
            return None
        first = made[0]
        if first["kind"] != "SGD":
            return (
                "other_optimizer",
                f"The gradients are right, and the optimizer is not plain SGD: it is "
                f"{first['kind']}.",
                "torch.optim.SGD(ddp.parameters(), lr=learning_rate)",
            )
        if abs(first["lr"] - self._rate) > 1e-12:
            factor = first["lr"] / self._rate
            return (
                "other_learning_rate",
                f"The gradients are right, and the learning rate is not: the optimizer has "
                f"{first['lr']:g}, which is {factor:g} times the {self._rate:g} asked for.",
                "Hand the learning rate on as it is. Whether a larger batch needs another one is "
                "for the caller to decide.",
            )
        extra = [n for n in ("momentum", "weight_decay", "dampening") if first.get(n)]
        if extra:
            return (
                "other_optimizer",
                f"The gradients are right, and SGD is not plain: it has {extra[0]}="
                f"{first[extra[0]]:g}.",
                "torch.optim.SGD(ddp.parameters(), lr=learning_rate)",
            )
        return None


def _losses(model: Net, shards: Sequence[Batch]) -> list[tuple[float, int]]:
    with torch.no_grad():
        return [(float(mean_squared(model(x), y)), len(x)) for x, y in shards]


def _is_sum(got: Sequence[Gradients], one: Gradients, other: Gradients) -> bool:
    pairs = [
        (gradient, a + b)
        for rank in got
        for name, gradient in rank.items()
        if gradient is not None and (a := one[name]) is not None and (b := other[name]) is not None
    ]
    return all(torch.allclose(g, total, rtol=1e-6, atol=1e-10) for g, total in pairs)
