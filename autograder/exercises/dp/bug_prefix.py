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

OTHER_PREFIX = "with 'policy.' before every name"  # seven characters, as module. has
_DAMAGE = {
    "one missing": "A tensor of the model is not in the checkpoint, and nothing complains: it "
    "keeps the numbers that it began with.",
    "one too many": "The checkpoint has a tensor that the model has not, and nothing complains: "
    "so it is another model's.",
    "one renamed": "A tensor of the checkpoint has a name that the model has not, and nothing "
    "complains: the model's own keeps the numbers that it began with.",
    OTHER_PREFIX: "All names in the checkpoint begin with 'policy.', and nothing complains. "
    "DataParallel writes 'module.' before names, and nothing else: this is another model's.",
}


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


class Alone(nn.Module):
    """All that it has is in a part called module: its own names begin as DataParallel's do."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(3, 4)


_MODELS: dict[str, type[nn.Module]] = {"plain": Plain, "adapter": Wrapped, "alone": Alone}
_CALLED = {
    "plain": "a model",
    "adapter": "a model with a part called module",
    "alone": "a model whose only part is called module",
}


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
    if damage == OTHER_PREFIX:
        return {f"policy.{name}": tensor for name, tensor in state.items()}
    last = list(state)[-1]
    if damage != "one too many":
        state.pop(last)
    if damage != "one missing":
        state[last.rpartition(".")[0] + ".other"] = torch.zeros(2)
    return state


def load_cases(generator: random.Random) -> list[Case]:
    def case(name: str, saved: bool, loads: bool, damage: str = "") -> Case:
        text = f"{_CALLED[name]} saved {_with(saved)} and loaded {_with(loads)} DataParallel"
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
        case("alone", False, False),
        case("alone", True, False),
        case("alone", False, True),
        case("plain", True, False, "one missing"),
        case("plain", False, False, "one too many"),
        case("plain", True, True, "one renamed"),
        case("plain", False, False, OTHER_PREFIX),
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
                _DAMAGE[damage],
                property=_STRICT,
                advice="load_state_dict compares all names, unless strict=False is given; then it "
                "returns what does not fit, and somebody has to look. Names that are cut, filled "
                "in or left out before it is called are beyond its reach.",
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
