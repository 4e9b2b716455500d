"""scatter: a batch to the devices, in torch.chunk's pieces."""

from __future__ import annotations

import functools
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
from autograder.exercises.dp.shared import (
    a_or_an,
    form_difference,
    grad_findings,
    listed_text,
    raised_finding,
    rows_text,
    same_numbers,
    tensors_in,
    torchs_own,
    value_of,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_SIZES = "pieces of torch.chunk's sizes, their rows in order"
_PLACE = "each piece on its own device"
_FORM = "a nested batch keeps its form in every piece"
_GRAD = "differentiable, and only its own rows travel to a device"


def call_scatter(
    answer: Callable[..., Any], batch: Any, count: int, at_home: bool
) -> dict[str, Any]:
    own = TorchsOwn()
    with some_gpus(count) as devices:
        if at_home:
            batch = map_tensors(lambda t: t.to(devices[0]), batch)
        floats = [t.requires_grad_() for t in leaves(batch) if t.is_floating_point()]
        pieces, error = attempt(answer, batch, list(devices))
        if error:
            return {
                "error": error,
                "plain": _of_plain(answer, devices),
                "torchs_own": own.used,
            }
        listed = isinstance(pieces, (list, tuple))
        total = weighted_sum(list(pieces)) if listed else None
        if total is not None:
            total.backward()
        return {
            "pieces": described(pieces),
            "devices": [str(device) for device in devices],
            "grads": [None if t.grad is None else t.grad.cpu() for t in floats],
            "torchs_own": own.used,
        }


_PLAIN = "train"  # what is no tensor


def _of_plain(answer: Callable[..., Any], devices: Sequence[torch.device]) -> Any:
    """What the answer makes of a value that is no tensor; None if it raises."""
    pieces, error = attempt(answer, _PLAIN, list(devices))
    return None if error else described(pieces)


def numbered(generator: random.Random, rows: int, columns: int = 3) -> torch.Tensor:
    """Rows that can be told apart: row r is r, r + a fraction, …"""
    fractions = torch.tensor([generator.random() for _ in range(columns - 1)]).double()
    return torch.arange(rows).double().unsqueeze(1) + torch.cat([torch.zeros(1), fractions])


def nested(generator: random.Random, rows: int) -> dict[str, Any]:
    x = numbered(generator, rows)
    return {
        "x": x,
        "ids": (torch.arange(rows), [x[:, :2] * 2, x.sum(1)]),
        "mode": "train",
        "scale": generator.randint(2, 9),
        "none": None,
    }


def scatter_cases(generator: random.Random) -> list[Case]:
    def case(batch: Any, count: int, at_home: bool = False, what: str = "") -> Case:
        rows = len(leaves(batch)[0])
        text = f"{rows} row{'s' * (rows > 1)} for {count} device{'s' * (count > 1)}{what}"
        return Case(((batch, count, at_home),), (batch, count), text)

    return [
        case(numbered(generator, 9), 4),
        case(numbered(generator, 9), 4, True, ", the batch on the first of them"),
        case(nested(generator, 10), 4, what=", a nested batch"),
        case(nested(generator, 9), 4, what=", a nested batch"),
        case(numbered(generator, 2), 4),
        case((numbered(generator, 7), torch.arange(7)), 3, True, ", a pair"),
        case(numbered(generator, 12), 4),
        case(numbered(generator, 3), 1),
    ]


def pieces_of(batch: Any, count: int) -> list[Any]:
    """What scatter has to return, on the CPU."""
    number = len(leaves(batch)[0].chunk(count))
    return [map_tensors(functools.partial(_chunk, count, i), batch) for i in range(number)]


def _chunk(count: int, number: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.chunk(count)[number]


def examine_scatter(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    batch, count = case.expected
    if "error" in value:
        yield from list(torchs_own(value, "scatter", _SIZES)) or [_raises(case, value)]
        return
    wanted = pieces_of(batch, count)
    got = value["pieces"]
    found = list(_listed(got))
    if not found:
        found = list(_sizes(got["items"], wanted, batch)) or list(_form(got["items"], wanted))
    if not found:
        placed = list(_places(got["items"], value["devices"]))
        found = placed or _storage(got["items"], wanted, value["devices"])
        found = [*found, *_gradients(case, value)]
    yield from found or torchs_own(value, "scatter", _SIZES)


def _raises(case: Case, value: dict[str, Any]) -> Finding:
    """Tensors alone come first among the cases: who raises here has got those right."""
    batch, count = case.expected
    error, plain = value["error"], value["plain"]
    if isinstance(batch, torch.Tensor):
        return raised_finding(error)
    each = {"is": "list", "items": [{"is": "plain", "value": _PLAIN}] * count}
    if plain is not None and plain != each:
        shown = plain.get("value", [item.get("value") for item in plain.get("items", [])])
        return raised_finding(
            error,
            "plain_value",
            f"The batch has entries that are no tensors, and for such a one, {_PLAIN!r}, scatter "
            f"returns {shown!r}.",
            _FORM,
            "What is no tensor goes to every device as it is. If your function calls itself for "
            "each entry, it has to return such a value once for each device, in a list.",
        )
    number = len(pieces_of(batch, count))
    if number < count:
        return raised_finding(
            error,
            "pieces_not_devices",
            f"There are fewer pieces ({number}) than devices ({count}) here; with as many, a "
            "nested batch is cut.",
            _FORM,
            "torch.chunk may make fewer pieces than there are devices. Take their number from "
            "what your function returned for an entry.",
        )
    return raised_finding(
        error,
        "nested_fails",
        "scatter works for a tensor, and not for a nested batch; this one is "
        f"{a_or_an(type(batch).__name__)}.",
        _FORM,
        "For a tuple, list or dict, scatter each entry by calling the function again, and put "
        "the i-th pieces together.",
    )


def _listed(got: dict[str, Any]) -> Iterator[Finding]:
    if got["is"] not in ("list", "tuple"):
        yield Finding(
            "not_a_list",
            f"scatter returns {got.get('value', got['is'])}; it is to return a list of pieces.",
            property=_SIZES,
            advice="return [piece for the first device, piece for the second, …]",
        )


def _rows(piece: dict[str, Any]) -> int | None:
    """Rows of the first tensor in a piece; None where there is none."""
    first = next((t["value"] for t in tensors_in(piece)), None)
    return None if first is None else (len(first) if first.dim() else 1)


def _sizes(got: Sequence[dict[str, Any]], wanted: Sequence[Any], batch: Any) -> Iterator[Finding]:
    sizes = [_rows(piece) for piece in got]
    right = [len(leaves(piece)[0]) for piece in wanted]
    if sizes == right:
        return
    rows, numbers = sum(right), [size or 0 for size in sizes]
    shown = max(len(sizes), len(right))
    table = Table(
        ("piece", "rows", "wanted", "its rows"),
        tuple(
            (
                str(i),
                str(sizes[i]) if i < len(sizes) else "-",
                str(right[i]) if i < len(right) else "-",
                rows_text(tensors_in(got[i])[0]["value"])
                if i < len(got) and tensors_in(got[i])
                else "-",
            )
            for i in range(shown)
        ),
    )
    text, want = listed_text(sizes) or "no piece", listed_text(right)
    code, why, advice = (
        "wrong_sizes",
        f"The pieces have {text} rows; torch.chunk makes {want}.",
        "Each piece but the last has ⌈rows / devices⌉ rows.",
    )
    if numbers[: len(right)] == right and not any(numbers[len(right) :]):
        code = "empty_pieces"
        why = (
            f"There are {len(sizes)} pieces, and only {len(right)} of them have rows. An empty "
            "piece would send a replica to work on nothing, and the mean over no rows is nan."
        )
        advice = "A device that gets no rows gets no piece: the list is shorter then."
    elif numbers and all(n == rows for n in numbers):
        code = "whole_batch"
        why = f"Every piece has all {rows} rows: the devices would all do the same work."
        advice = "Device i gets piece i of tensor.chunk(len(devices))."
    elif sum(numbers) < rows:
        code = "rows_lost"
        why = f"The pieces have {text} rows, together {sum(numbers)} of {rows}: the rest is lost."
        advice = "Where the division leaves a remainder, round the size of a piece up."
    elif sum(numbers) == rows and numbers == _even(rows, len(numbers)):
        code = "split_evenly"
        why = (
            f"The pieces have {text} rows. That is as even as can be (tensor_split does it), but "
            f"DataParallel cuts as torch.chunk does: {want}."
        )
    yield Finding(code, why, property=_SIZES, table=table, advice=advice)


def _even(rows: int, count: int) -> list[int]:
    return [rows // count + (i < rows % count) for i in range(count)]


def _form(got: Sequence[dict[str, Any]], wanted: Sequence[Any]) -> Iterator[Finding]:
    for i, (piece, right) in enumerate(zip(got, wanted, strict=True)):
        difference = form_difference(piece, right, f"piece {i}")
        if difference:
            yield Finding(
                "wrong_form",
                f"{difference}.",
                property=_FORM,
                advice="A piece looks like the batch: tuples, lists and dicts as they were, what "
                "is no tensor as it was, and each tensor replaced by its rows.",
            )
            return
        pairs = list(zip(tensors_in(piece), leaves(right), strict=True))
        bad = next((p for p in pairs if not same_numbers(*p)), None)
        if bad is None:
            continue
        other, right_rows = rows_text(bad[0]["value"]), rows_text(bad[1])
        whole = bad[0]["value"].shape != bad[1].shape
        yield Finding(
            "parts_differ" if whole else "wrong_rows",
            f"A tensor of piece {i} has shape {tuple(bad[0]['value'].shape)}, not "
            f"{tuple(bad[1].shape)}: not all tensors of the batch were cut alike."
            if whole
            else f"Piece {i} has the rows {other}, and not {right_rows}: the right number, but "
            "gather puts pieces one after the other, so that the outputs would change places.",
            property=_FORM if whole else _SIZES,
            advice="Every tensor of the batch is cut along its first dimension, in one go each.",
        )
        return


def _places(got: Sequence[dict[str, Any]], devices: Sequence[str]) -> Iterator[Finding]:
    rows = []
    for i, piece in enumerate(got):
        places = sorted({t["device"] for t in tensors_in(piece)})
        rows.append((str(i), ", ".join(places), devices[i]))
    if any(row[1] != row[2] for row in rows):
        wrong = next(row for row in rows if row[1] != row[2])
        yield Finding(
            "wrong_device",
            f"Piece {wrong[0]} is on {wrong[1]}; it belongs on {wrong[2]}.",
            property=_PLACE,
            table=Table(("piece", "is on", "belongs on"), tuple(rows)),
            advice="chunk gives pieces where the batch is. Move piece i with .to(devices[i]).",
        )


def _gradients(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    batch, count = case.expected
    floats = [t.clone().requires_grad_() if t.is_floating_point() else t for t in leaves(batch)]
    parts = iter(floats)
    total = weighted_sum(pieces_of(map_tensors(lambda _: next(parts), batch), count))
    assert total is not None
    total.backward()
    wanted = [t.grad for t in floats if t.grad is not None]
    yield from grad_findings(value["grads"], wanted, "the batch", _GRAD)


def _storage(
    got: Sequence[dict[str, Any]], wanted: Sequence[Any], devices: Sequence[str]
) -> list[Finding]:
    """A piece that keeps more than itself alive, on a device that the batch was not on."""
    for i, (piece, right) in enumerate(zip(got, wanted, strict=True)):
        for tensor, rows in zip(tensors_in(piece), leaves(right), strict=True):
            if i and tensor["storage"] > max(rows.nbytes, 1) * 1.01:
                return [
                    Finding(
                        "whole_batch_sent",
                        f"Piece {i} is a slice of a tensor of {tensor['storage']:,} bytes on "
                        f"{devices[i]}, where its own rows have {rows.nbytes:,}: the whole batch "
                        "was sent there and then cut.",
                        property=_GRAD,
                        advice="Cut first, then move.",
                    )
                ]
    return []


SCATTER = Exercise(
    name="scatter",
    title="Cut the batch and send its pieces",
    properties=(Property(_SIZES, 1), Property(_PLACE, 1), Property(_FORM, 1), Property(_GRAD, 1)),
    cases=scatter_cases,
    examine=examine_scatter,
    hint="Begin with tensors: `[c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]`. "
    "For a tuple, list or dict, scatter each entry by calling the function again, and put the "
    "i-th pieces together. How many pieces does something have that is no tensor?",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_scatter,
)
