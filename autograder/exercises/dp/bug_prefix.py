"""Find the bug: a checkpoint whose names all begin with ``module.``"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.shared import short_text, value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_LOADED = "every tensor is loaded, saved with DataParallel or without"
_STRICT = "a checkpoint that does not fit is refused"

PREFIX = "module."


class Wrapped(nn.Module):
    """Somebody's model that has a part called module, as adapters do."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(3, 4)
        self.block = Wrapped()
        self.head = nn.Linear(4, 2, bias=False)


_MODELS: dict[str, type[nn.Module]] = {"plain": Plain, "adapter": Wrapped}


def build(name: str, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        model = _MODELS[name]()
    for tensor in model.state_dict().values():
        numbers = torch.rand(tensor.shape, generator=generator) * 90 + 10
        tensor.copy_(numbers)
    return model


def call_load(
    answer: Callable[..., Any], name: str, seed: int, saved: bool, loads: bool, damage: str
) -> dict[str, Any]:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # DataParallel would move the model to a GPU
    source, target = build(name, seed), build(name, seed + 1)
    state = (nn.DataParallel(source) if saved else source).state_dict()
    model = nn.DataParallel(target) if loads else target
    if damage:
        state = _damaged(state, damage)
    shown: dict[str, Any] = {"error": None}
    try:
        answer(model, state)
    except Exception as error:
        shown["error"] = f"{type(error).__name__}: {error}"[:600]
        shown["stub"] = isinstance(error, NotImplementedError)
    wanted, got = source.state_dict(), target.state_dict()
    shown["loaded"] = {key: bool(torch.equal(got[key], wanted[key])) for key in wanted}
    return shown


def _damaged(state: dict[str, torch.Tensor], damage: str) -> dict[str, torch.Tensor]:
    """A checkpoint of something else: a tensor too few, too many, or of another name."""
    state = dict(state)
    last = list(state)[-1]
    if damage != "one too many":
        state.pop(last)
    if damage != "one missing":
        state[last.rpartition(".")[0] + ".other"] = torch.zeros(2)
    return state


def load_cases(generator: random.Random) -> list[Case]:
    def case(name: str, saved: bool, loads: bool, damage: str = "") -> Case:
        which = "a model with a part called module" if name == "adapter" else "a model"
        text = f"{which} saved {_with(saved)} and loaded {_with(loads)} DataParallel"
        if damage:
            text += f", {damage}"
        arguments = (name, generator.randrange(1 << 30), saved, loads, damage)
        return Case((arguments,), arguments, text)

    return [
        case("plain", True, False),
        case("plain", False, False),
        case("plain", True, True),
        case("plain", False, True),
        case("adapter", False, False),
        case("adapter", True, False),
        case("plain", True, False, "one missing"),
        case("plain", False, False, "one too many"),
        case("plain", True, True, "one renamed"),
    ]


def _with(yes: bool) -> str:
    return "with" if yes else "without"


def examine_load(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    damage = case.expected[4]
    loaded = value["loaded"]
    if damage:
        if value["error"] is None:
            yield Finding(
                "accepts_anything",
                "The checkpoint is not this model's, and nothing complains. Some tensors keep the "
                "numbers they began with, or some of the file's are dropped, and the model "
                "computes nonsense as if trained.",
                property=_STRICT,
                advice="strict=False is for those who look at what load_state_dict returns: "
                "missing_keys and unexpected_keys.",
            )
        return
    rows = tuple((key, "yes" if there else "no") for key, there in loaded.items())
    table = Table(("tensor", "loaded"), rows)
    if value["error"] is not None:
        yield Finding(
            "refused",
            f"A checkpoint of this very model is refused: {short_text(value['error'], 200)}",
            property=_LOADED,
            advice="Which names does the model want, and which does the checkpoint have? Cut "
            "the prefix only where it is one, once, at the beginning.",
        )
    elif not any(loaded.values()):
        yield Finding(
            "nothing_loaded",
            f"0 of {len(loaded)} tensors are loaded, and nothing complains: no name in the "
            "checkpoint is one of the model's.",
            property=_LOADED,
            table=table,
            advice="DataParallel is a module whose only child is called module. Its names are "
            "the model's with module. before them.",
        )
    elif not all(loaded.values()):
        yield Finding(
            "partly_loaded",
            f"{sum(loaded.values())} of {len(loaded)} tensors are loaded.",
            property=_LOADED,
            table=table,
            advice="A part of a model may be called module, too: module.block.module.weight.",
        )


LOAD_CHECKPOINT = Exercise(
    name="load_checkpoint_fixed",
    title="Find the bug: the model that forgot everything",
    properties=(Property(_LOADED, 2), Property(_STRICT, 1)),
    cases=load_cases,
    examine=examine_load,
    hint="Compare names: set(state) against set(model.state_dict()). Bring the checkpoint's names "
    "into the model's form, and then let load_state_dict be strict.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_load,
)
