"""Find the bug: a parameter that is replaced after the model was wrapped."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import (
    device,
    mean_squared,
    weights,
)
from autograder.exercises.ddp.shared import (
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

RATE = 0.2
STEPS = 5

_HEAD = "the model has the new head, all of it trained"
_TOGETHER = "every rank's weights are those of one process"


class Narrow(nn.Module):
    """A backbone and a head with three outputs; float32, as what ``nn.Linear`` makes by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Linear(5, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.backbone(x)))


def call_head(
    answer: Callable[..., Any], outputs: int, xs: torch.Tensor, ys: torch.Tensor
) -> dict[str, Any]:
    """Whatever the answer makes is trained for some steps; plain SGD, mean squared error."""
    torch.manual_seed(1000 + dist.get_rank())
    model = Narrow().to(device())
    backbone = weights(model.backbone)
    ddp = answer(model, outputs)
    evidence: dict[str, Any] = {
        "is_ddp": isinstance(ddp, DistributedDataParallel),
        "twice": False,
        "backbone": backbone,
        "shapes": {},
    }
    if not evidence["is_ddp"]:
        return evidence
    inner = ddp.module
    if isinstance(inner, DistributedDataParallel):
        return {**evidence, "twice": True}
    named = dict(inner.named_parameters())
    evidence["shapes"] = {name: list(p.shape) for name, p in named.items()}
    evidence["frozen"] = [name for name, p in named.items() if not p.requires_grad]
    # DDP's own list: made when it was, and never looked at again.
    known = {id(p) for p in ddp._module_parameters}
    evidence["unknown"] = [name for name, p in named.items() if id(p) not in known]
    evidence["start"] = weights(inner)
    if list(named.get("head.weight", torch.empty(0)).shape) != [outputs, 6]:
        return evidence
    evidence["steps"] = []
    optimizer = torch.optim.SGD(ddp.parameters(), lr=RATE)
    for x, y in zip(xs, ys, strict=True):
        optimizer.zero_grad()
        try:
            output = ddp(x)
        except RuntimeError as error:
            if evidence["unknown"] and "finished reduction" in str(error):
                break  # DDP misses the gradients of what was replaced: a consequence
            raise
        try:
            mean_squared(output, y).backward()
        except RuntimeError as error:
            if "returned an invalid gradient" not in str(error):
                raise
            evidence["reshaped"] = True  # the graph knows the shapes of before
            break
        optimizer.step()
        evidence["steps"].append(weights(inner))
    return evidence


def head_cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, outputs: int) -> Case:
        inputs = []
        for _ in range(world_size):
            seed = torch.Generator().manual_seed(generator.randrange(1 << 30))
            x = torch.randn((STEPS, 4, 5), generator=seed)
            y = torch.randn((STEPS, 4, outputs), generator=seed)
            inputs.append((outputs, x, y))
        label = f"{ranks_of(world_size)}, {outputs} outputs"
        return Case(tuple(inputs), (outputs, inputs), label)

    return [case(2, 4), case(3, 2), case(4, 2), case(1, 5)]


def examine_head(case: Case, run: Run) -> Iterator[Finding]:
    outputs, inputs = case.expected
    found = list(_head(outputs, run)) or list(_reshaped(run))
    yield from found or _trained_together(outputs, inputs, run)


def _head(outputs: int, run: Run) -> Iterator[Finding]:
    shapes = shown(run, "shapes")
    wanted = {
        "backbone.weight": [6, 5],
        "backbone.bias": [6],
        "head.weight": [outputs, 6],
        "head.bias": [outputs],
    }
    if not all(shown(run, "is_ddp")):
        yield Finding(
            "not_ddp",
            "The function does not return a DistributedDataParallel.",
            property=_HEAD,
            advice="return DDP(model)",
        )
    elif any(shown(run, "twice")):
        yield Finding(
            "wrapped_twice",
            "What is returned is a DDP around a DDP: the model was wrapped twice.",
            property=_HEAD,
            advice="One DDP(model) is enough, and it comes after the change.",
        )
    elif any(shape != wanted for shape in shapes):
        rank = next(r for r, shape in enumerate(shapes) if shape != wanted)
        code, why = _shape_cause(shapes[rank], wanted)
        yield Finding(
            code,
            f"On rank {rank} {why}",
            property=_HEAD,
            table=Table(
                ("parameter", "shape", "wanted"),
                tuple((n, str(shapes[rank].get(n)), str(s)) for n, s in wanted.items()),
            ),
            advice="model.head = nn.Linear(model.head.in_features, outputs)",
        )
    elif any(shown(run, "frozen")):
        names = next(names for names in shown(run, "frozen") if names)
        yield Finding(
            "frozen",
            f"{names_text(names)} will not be trained: requires_grad is False.",
            property=_HEAD,
            advice="The whole model is to be trained.",
        )
    else:
        yield from _backbone(run)


def _shape_cause(shapes: dict[str, list[int]], wanted: dict[str, list[int]]) -> tuple[str, str]:
    """The code and the first difference between the parameters there are and those wanted."""
    strange = [name for name in shapes if name not in wanted]
    name = next((n for n, shape in wanted.items() if shapes.get(n) != shape), "")
    if not name:
        return (
            "wrong_head",
            f"the model has parameters that it did not have: {names_text(strange)}.",
        )
    if name not in shapes:
        return "wrong_head", f"the model has no {name}."
    code = "old_head" if shapes["head.weight"] == [3, 6] else "wrong_head"
    return code, f"{name} has the shape {shapes[name]}, and {wanted[name]} was asked for."


def _backbone(run: Run) -> Iterator[Finding]:
    """The backbone is the trained one of rank 0: it must not have been made anew."""
    first = tensors(shown(run, "backbone")[0], ["weight", "bias"])
    for rank, value in enumerate(shown(run, "start")):
        got = tensors(value, ["backbone.weight", "backbone.bias"])
        for name, wanted in first.items():
            if wanted is not None and not _is_near(got[f"backbone.{name}"], wanted):
                yield Finding(
                    "backbone_lost",
                    f"The trained backbone is gone: on rank {rank}, backbone.{name} begins with "
                    f"{whose(got[f'backbone.{name}'])} after wrapping, and that of the model that "
                    f"rank 0 was given with {whose(wanted)}.",
                    property=_HEAD,
                    advice="Replace the head of the model that you are given, and nothing else; "
                    "DDP sends rank 0's weights to all.",
                )
                return


def _reshaped(run: Run) -> Iterator[Finding]:
    if any(shown(run, "reshaped")):
        yield Finding(
            "changed_after_wrap",
            "Backward cannot put gradients into the head: its parameters got data of another shape "
            "after DDP had registered its hooks, and those remember the old shape.",
            property=_TOGETHER,
            advice="DDP looks at the parameters once, when it is made. Edit the model first, wrap "
            "it last.",
        )


def _is_near(one: Any, other: torch.Tensor) -> bool:
    """Equal but for rounding in float32, over a few steps."""
    return (
        isinstance(one, torch.Tensor)
        and one.shape == other.shape
        and torch.allclose(one.float(), other.float(), rtol=1e-4, atol=1e-5)
    )


def _trained_together(
    outputs: int, inputs: Sequence[tuple[Any, ...]], run: Run
) -> Iterator[Finding]:
    starts, steps = shown(run, "start"), shown(run, "steps")
    names = ["backbone.weight", "backbone.bias", "head.weight", "head.bias"]
    model = Narrow()
    model.head = nn.Linear(6, outputs)
    model.load_state_dict(tensors(starts[0], names))  # type: ignore[arg-type]
    unknown = sorted({n for some in shown(run, "unknown") for n in some})
    got = [tensors(start, names) for start in starts]
    wrong = [n for n in names if not all(_is_near(r[n], got[0][n]) for r in got)]  # type: ignore[arg-type]
    when = "before the first step"
    for step in range(STEPS):
        if wrong:
            break
        wanted = _one_step(model, [(x[step], y[step]) for _, x, y in inputs])
        got = [tensors(value[step] if step < len(value) else None, names) for value in steps]
        wrong = [n for n in names if not all(_is_near(rank[n], wanted[n]) for rank in got)]
        when = f"after step {step + 1}"
    if not wrong:
        return
    yield Finding(
        "changed_after_wrap" if unknown else "wrong_weights",
        f"{wrong[0]} differs between the ranks {when}."
        + (
            f" {names_text(unknown)} came after the wrap: DDP has neither sent "
            f"{'them' if len(unknown) > 1 else 'it'} to all, nor hooks on "
            f"{'them' if len(unknown) > 1 else 'it'}, so the gradients there are never averaged."
            if unknown
            else " It is not what one process would have."
        ),
        property=_TOGETHER,
        table=Table(
            ("rank", "parameter", when),
            tuple((str(r), wrong[0], whose(g[wrong[0]])) for r, g in enumerate(got)),
        ),
        places=places_of(run, is_collective),
        advice="DDP looks at the parameters once, when it is made. Edit the model first, wrap it "
        "last.",
    )


def _one_step(
    model: nn.Module, shards: Sequence[tuple[torch.Tensor, torch.Tensor]]
) -> dict[str, torch.Tensor]:
    model.zero_grad()
    for x, y in shards:
        (mean_squared(model(x), y) / len(shards)).backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.sub_(p.grad, alpha=RATE)
    return weights(model)


REPLACE_HEAD = Exercise(
    name="replace_head_fixed",
    title="Find the bug: the head that nobody averaged",
    properties=(Property(_HEAD, 1), Property(_TOGETHER, 2)),
    cases=head_cases,
    examine=examine_head,
    hint="DDP registers hooks on the parameters that it finds when it is made. Which are those?",
    difficulty=1,
    minutes=5,
    call=call_head,
)
