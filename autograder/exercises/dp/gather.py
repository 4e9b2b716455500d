"""gather: the replicas' outputs to one device, in one piece."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.place import (
    TorchsOwn,
    attempt,
    described,
    leaves,
    map_tensors,
    some_gpus,
    weighted_sum,
)
from autograder.exercises.dp.scatter import numbered
from autograder.exercises.dp.shared import (
    a_or_an,
    form_difference,
    grad_findings,
    raised_finding,
    rows_text,
    same_numbers,
    tensors_in,
    torchs_own,
    value_of,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_ROWS = "all rows, in the order of the devices"
_PLACE = "on the device that was asked for"
_FORM = "tuples, lists and dicts keep their form; scalars become a vector"
_GRAD = "differentiable: each piece's gradient comes back to it"


def call_gather(answer: Callable[..., Any], outputs: list[Any], target: int) -> dict[str, Any]:
    own = TorchsOwn()
    with some_gpus(len(outputs)) as devices:
        placed = [
            map_tensors(operator.methodcaller("to", d), output)
            for output, d in zip(outputs, devices, strict=True)
        ]
        floats = [t.requires_grad_() for t in leaves(placed) if t.is_floating_point()]
        whole, error = attempt(answer, placed, devices[target])
        if error:
            return {"error": error, "torchs_own": own.used}
        total = weighted_sum(_squared(whole))
        if total is not None:
            total.backward()
        return {
            "whole": described(whole),
            "target": str(devices[target]),
            "grads": [None if t.grad is None else t.grad.cpu() for t in floats],
            "torchs_own": own.used,
        }


def _squared(value: Any) -> Any:
    """So that every number's gradient is its own."""
    return map_tensors(lambda t: t * t if t.is_floating_point() else t, value)


def gather_cases(generator: random.Random) -> list[Case]:
    def pieces(sizes: Sequence[int]) -> list[torch.Tensor]:
        return list(numbered(generator, sum(sizes)).split(list(sizes)))

    def scalars(count: int) -> list[torch.Tensor]:
        return [torch.tensor(generator.random() + i, dtype=torch.float64) for i in range(count)]

    def case(outputs: list[Any], text: str, target: int = 0) -> Case:
        where = f", to device {target}" if target else ""
        return Case(((outputs, target),), (outputs, target), text + where)

    nested = [
        {"logits": a, "hidden": [(b, a[:, 0].long()), b * 2], "cache": None}
        for a, b in zip(pieces([3, 3, 1]), pieces([6, 6, 2]), strict=True)
    ]
    return [
        case(pieces([3, 3, 3, 1]), "pieces of 3, 3, 3 and 1 rows"),
        case(pieces([2, 2, 1]), "pieces of 2, 2 and 1 rows", target=1),
        case(nested, "nested outputs"),
        case(scalars(3), "a scalar from each of 3 devices", target=2),
        case(
            list(zip(pieces([2, 1]), scalars(2), strict=True)),
            "a tuple of rows and a scalar from each of 2 devices",
        ),
        case(pieces([4]), "a single piece"),
    ]


def whole_of(outputs: list[Any]) -> Any:
    """What gather has to return."""
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return torch.cat(outputs) if first.dim() else torch.stack(outputs)
    if isinstance(first, dict):
        return {key: whole_of([o[key] for o in outputs]) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)(whole_of(list(parts)) for parts in zip(*outputs, strict=True))
    return first


def examine_gather(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    outputs, _ = case.expected
    if "error" in value:
        yield from list(torchs_own(value, "gather", _ROWS)) or [_raises(outputs, value["error"])]
        return
    wanted, got = whole_of(outputs), value["whole"]
    found = list(_form(got, wanted)) or list(_numbers(got, wanted)) or list(_place(got, value))
    yield from found or list(_gradients(outputs, value)) or torchs_own(value, "gather", _ROWS)


def _raises(outputs: list[Any], error: dict[str, Any]) -> Finding:
    """The likely cause, by what torch says and by what is gathered."""
    first, said = outputs[0], error["text"]
    if "on the same device" in said:
        return raised_finding(
            error,
            "not_moved",
            "Tensors on different devices are put together.",
            _PLACE,
            "Move each piece to the device first, and then put them together.",
        )
    if "equal size" in said:
        return raised_finding(
            error,
            "stacked",
            "torch.stack takes tensors of one size only, and pieces may have different numbers "
            "of rows.",
            _ROWS,
            "torch.cat puts pieces one after the other along the first dimension.",
        )
    if "zero-dimensional" in said:
        return raised_finding(
            error,
            "scalars_fail",
            "torch.cat takes no tensors without dimensions.",
            _FORM,
            "torch.stack makes a vector of scalars; unsqueeze(0) gives each one a dimension.",
        )
    if isinstance(first, torch.Tensor):
        return raised_finding(error)
    return raised_finding(
        error,
        "nested_fails",
        "gather works for tensors, and not for nested outputs; each of these is "
        f"{a_or_an(type(first).__name__)}.",
        _FORM,
        "Make a tuple, list or dict of the same form, and for each of its entries call the "
        "function again, with that entry of every output; zip(*outputs) pairs the entries of "
        "tuples. None stays None.",
    )


def _form(got: dict[str, Any], wanted: Any) -> Iterator[Finding]:
    difference = form_difference(got, wanted, "the result")
    if difference:
        yield Finding(
            "wrong_form",
            f"{difference[0].upper()}{difference[1:]}.",
            property=_FORM,
            advice="Gather looks at the first output: a tensor is put together with the others' "
            "tensors; a tuple, list or dict is made anew, each entry gathered by itself; None "
            "stays None.",
        )


def _numbers(got: dict[str, Any], wanted: Any) -> Iterator[Finding]:
    pairs = list(zip(tensors_in(got), leaves(wanted), strict=True))
    bad = next((p for p in pairs if not same_numbers(*p)), None)
    if bad is None:
        return
    tensor, right = bad[0]["value"], bad[1]
    shapes = f"shape {tuple(tensor.shape)}, not {tuple(right.shape)}"
    code, why, advice, of = (
        "wrong_numbers",
        "The rows are not those of the pieces, one after the other.",
        "torch.cat puts pieces one after the other along the first dimension.",
        _ROWS,
    )
    if right.dim() == 1 and tensor.dim() == 0:
        code = "scalars_merged"
        why = f"Of {len(right)} scalars one number is left; they are to become a vector of them."
        advice = "Only who knows how many rows each device had can tell their mean from a sum."
        of = _FORM
    elif tensor.dim() == right.dim() + 1:
        code, why = "stacked", f"The result has {shapes}: a dimension too many."
        advice += " torch.stack makes a new dimension, and only works for pieces of one size."
    elif tensor.dtype != right.dtype:
        code, why, of = "wrong_dtype", f"A tensor is {tensor.dtype}, not {right.dtype}.", _FORM
        advice = "Gathering changes no dtype."
    elif tensor.dim() and len(tensor) < len(right):
        code, why = "rows_lost", f"The result has {len(tensor)} rows of {len(right)}."
    elif tensor.shape == right.shape and torch.equal(*(_sorted(t) for t in (tensor, right))):
        code, why = "wrong_order", "All rows are there, in another order than the devices'."
        advice = "Row i of the result must belong to row i of the batch: keep the pieces' order."
    table = Table(("is", "wanted"), ((rows_text(tensor), rows_text(right)),))
    yield Finding(code, why, property=of, table=table, advice=advice)


def _sorted(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten().sort().values


def _place(got: dict[str, Any], value: dict[str, Any]) -> Iterator[Finding]:
    elsewhere = sorted({t["device"] for t in tensors_in(got)} - {value["target"]})
    if elsewhere:
        yield Finding(
            "wrong_device",
            f"The result is on {elsewhere[0]}; {value['target']} was asked for.",
            property=_PLACE,
            advice="Move each piece to the device that the function is given. It need not be "
            "the first piece's.",
        )


def _gradients(outputs: list[Any], value: dict[str, Any]) -> Iterator[Finding]:
    copies = map_tensors(
        lambda t: t.clone().requires_grad_() if t.is_floating_point() else t, outputs
    )
    total = weighted_sum(_squared(whole_of(copies)))
    assert total is not None
    total.backward()
    wanted = [t.grad for t in leaves(copies) if t.grad is not None]
    yield from grad_findings(value["grads"], wanted, "the pieces", _GRAD)


GATHER = Exercise(
    name="gather",
    title="The outputs, together again",
    properties=(Property(_ROWS, 1), Property(_PLACE, 1), Property(_FORM, 1), Property(_GRAD, 1)),
    cases=gather_cases,
    examine=examine_gather,
    hint="For tensors: `torch.cat([o.to(device) for o in outputs])`. torch.cat refuses tensors "
    "without dimensions; give each one by unsqueeze(0). For the rest, the function calls itself.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_gather,
)
