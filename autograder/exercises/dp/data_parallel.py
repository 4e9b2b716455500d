"""data_parallel: a module's forward on several devices, with one device's gradients."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import Parts, mean_squared
from autograder.exercises.ddp.shared import names_text
from autograder.exercises.dp.models import Net, build, data
from autograder.exercises.dp.place import (
    TorchsOwn,
    attempt,
    bytes_moved,
    described,
    some_gpus,
)
from autograder.exercises.dp.shared import is_close, listed_text, raised_finding, value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

RATE, STEPS = 0.1, 2

_OUTPUT = "the output is the module's, for all rows, on the first device"
_GRAD = "the module's gradients are one device's, step after step"
_WORK = "every device with rows computes its own, all at once"


def call_data_parallel(
    answer: Callable[..., Any], seed: int, parts: dict[str, bool], rows: int, count: int
) -> dict[str, Any]:
    own = TorchsOwn()
    with some_gpus(count) as devices:
        home = devices[0]
        module = build(Parts(**parts), seed).to(home)
        steps = []
        for step in range(STEPS):
            x, y = (part.to(home) for part in data(seed + step, rows))
            module.notes.forwards = []
            module.notes.meeting = threading.Barrier(len(x.chunk(count)))
            output, error = attempt(answer, module, x, list(devices))
            if error:
                return {"error": error, "torchs_own": _whole(own)}
            steps.append({"output": described(output), "forwards": module.notes.forwards})
            if isinstance(output, torch.Tensor) and output.requires_grad:
                if output.shape == y.shape and output.device == home:
                    mean_squared(output, y).backward()  # type: ignore[no-untyped-call]
            grads = {n: p.grad for n, p in module.named_parameters()}
            steps[-1]["grads"] = {n: None if g is None else g.cpu() for n, g in grads.items()}
            with torch.no_grad():
                for parameter in module.parameters():
                    if parameter.grad is not None:
                        parameter.sub_(parameter.grad, alpha=RATE)
                        parameter.grad = None
        return {
            "steps": steps,
            "devices": [str(device) for device in devices],
            "module_on": sorted({str(p.device) for p in module.parameters()}),
            "moved": bytes_moved(devices),
            "torchs_own": _whole(own),
        }


def _whole(own: TorchsOwn) -> list[str]:
    """Its four parts may be torch's, the whole may not."""
    return [name for name in own.used if name == "nn.DataParallel"]


def data_parallel_cases(generator: random.Random) -> list[Case]:
    def case(rows: int, count: int, **parts: bool) -> Case:
        arguments = (generator.randrange(1 << 30), parts, rows, count)
        text = (
            f"{rows} row{'s' * (rows > 1)} on {count} device{'s' * (count > 1)} "
            f"and {Parts(**parts)}"
        )
        return Case((arguments,), arguments, text)

    return [
        case(12, 3),
        case(9, 4, tied=True),
        case(2, 4, frozen=True),
        case(1, 3),
        case(5, 1, tied=True),
    ]


def examine_data_parallel(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    seed, parts, rows, count = case.expected
    module = build(Parts(**parts), seed)
    if value["torchs_own"]:
        yield Finding(
            "torchs_own",
            "This answer calls torch's own nn.DataParallel (or data_parallel), which is what you "
            "are to put together here.",
            property=_OUTPUT,
            advice="Use your four functions, copied into this cell, or torch's four.",
        )
        return
    if "error" in value:
        yield _raises(rows, count, value)
        return
    for step, seen in enumerate(value["steps"]):
        x, y = data(seed + step, rows)
        module.zero_grad()
        output = module(x)
        mean_squared(output, y).backward()  # type: ignore[no-untyped-call]
        wanted = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
        found = list(_output(seen["output"], output.detach(), step, value["devices"][0]))
        found = found or list(_gradients(seen["grads"], wanted, step))
        if [f.code for f in found] == ["wrong_gradient"]:
            found = list(_home_alone(module, x, y, count, seen["grads"], wanted)) or found
        found = found or list(_work(seen["forwards"], x, count, value["devices"]))
        if found:
            yield from found
            return
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if name in wanted:
                    parameter.sub_(wanted[name], alpha=RATE)
    yield from list(_moved(value)) or _idle(value, rows, count)


def _raises(rows: int, count: int, value: dict[str, Any]) -> Finding:
    """A batch with as many pieces as devices comes first among the cases."""
    pieces = len(torch.empty(rows).chunk(count))
    if pieces == count:
        return raised_finding(value["error"])
    return raised_finding(
        value["error"],
        "pieces_not_devices",
        f"{rows} row{'s' * (rows > 1)} for {count} devices make {pieces} "
        f"piece{'s' * (pieces > 1)}, so some devices get none; where every device gets one, this "
        "answer raises nothing.",
        _WORK,
        "As many replicas as pieces: replicate to devices[:len(pieces)].",
    )


def _output(got: dict[str, Any], wanted: torch.Tensor, step: int, home: str) -> Iterator[Finding]:
    if got["is"] != "tensor":
        yield Finding(
            "not_a_tensor",
            f"data_parallel returns {got.get('value', got['is'])}; the module returns a tensor.",
            property=_OUTPUT,
        )
    elif got["device"] != home:
        yield Finding(
            "wrong_device",
            f"The output is on {got['device']}; it belongs on the first device, {home}, where "
            "the loss is computed.",
            property=_OUTPUT,
            advice="gather(outputs, devices[0])",
        )
    elif got["value"].shape != wanted.shape:
        yield Finding(
            "rows_lost",
            f"The output has shape {tuple(got['value'].shape)}, not {tuple(wanted.shape)}.",
            property=_OUTPUT,
            advice="Every row of the batch has its row of the output, at the same place.",
        )
    elif not is_close(got["value"], wanted):
        if step:
            yield Finding(
                "stale_replicas",
                "The first step is right, and in the second the output is not that of the module "
                "with its new weights: some replica still has the old ones.",
                property=_OUTPUT,
                advice="Replicate in every forward. The weights change in between, at home only.",
            )
        elif (factor := _factor(got["value"], wanted)) is not None:
            yield Finding(
                "scaled_output",
                f"Every number of the output is {factor:.4g} times what the module computes.",
                property=_OUTPUT,
                advice="Gathering puts rows one after the other, and adds or averages nothing: "
                "there is nothing to divide by.",
            )
        else:
            yield Finding(
                "wrong_numbers",
                "The output is not what the module computes.",
                property=_OUTPUT,
                advice="Are the rows in order, and each piece computed by its own replica?",
            )


def _factor(got: torch.Tensor, wanted: torch.Tensor) -> float | None:
    """What all numbers have been multiplied by; None if it is not one factor."""
    if got.dtype != wanted.dtype or not wanted.abs().max():
        return None
    factor = (got * wanted).sum() / wanted.square().sum()
    return factor.item() if is_close(got, wanted * factor) else None


def _home_alone(
    module: Net, x: torch.Tensor, y: torch.Tensor, count: int, got: Any, wanted: Any
) -> Iterator[Finding]:
    """Gradients that know only of the rows that stayed on the first device."""
    module.zero_grad()
    here = module(x)
    first = len(x.chunk(count)[0])
    mean_squared(torch.cat([here[:first], here[first:].detach()]), y).backward()  # type: ignore[no-untyped-call]
    alone = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
    if all(n in alone and is_close(got[n], alone[n]) for n in wanted):
        yield Finding(
            "only_home_learns",
            f"The gradients are those of the first {first} rows, which the first device had. What "
            "the other replicas computed does not lead back to the module.",
            property=_GRAD,
            advice="Copies of parameters are made by tensor.to(device). copy.deepcopy(module) "
            "makes new ones, with gradients of their own that nobody sees.",
        )


def _gradients(
    got: dict[str, Any], wanted: dict[str, torch.Tensor], step: int
) -> Iterator[Finding]:
    missing = [n for n in wanted if got.get(n) is None]
    wrong = [n for n in wanted if n not in missing and not is_close(got[n], wanted[n])]
    when = f"After step {step + 1}"
    if missing:
        yield Finding(
            "not_differentiable",
            f"{when}, {names_text(missing)} of the module {'have' if missing[1:] else 'has'} no "
            "gradient: somewhere between module and output, the history is cut.",
            property=_GRAD,
            advice="Copies of parameters by .to(device), outputs moved by .to(devices[0]), and "
            "nothing under no_grad, detached or deep-copied in between.",
        )
    elif wrong:
        name = wrong[0]
        ratios = [float(got[n].norm() / wanted[n].norm()) for n in wrong]
        same = max(ratios) - min(ratios) < 1e-6 * max(ratios)
        scaled = same and len(wrong) == len(wanted)
        norms = tuple(f"{t.norm():.6g}" for t in (got[name], wanted[name]))
        yield Finding(
            "scaled_gradient" if scaled else "wrong_gradient",
            f"{when}, all gradients are {ratios[0]:.4g} times one device's."
            if scaled
            else f"{when}, the gradient of {names_text(wrong)} is not one device's.",
            property=_GRAD,
            table=Table(("parameter", "norm", "one device's"), ((name, *norms),)),
            advice="The loss is computed once, from all rows, so gradients of the replicas are "
            "simply added. There is nothing to divide by.",
        )


def _work(
    forwards: list[dict[str, Any]], x: torch.Tensor, count: int, devices: list[str]
) -> Iterator[Finding]:
    chunks = [len(chunk) for chunk in x.chunk(count)]
    wanted = {devices[i]: rows for i, rows in enumerate(chunks)}
    done: dict[str, int] = {}
    for note in forwards:
        done[note["device"]] = done.get(note["device"], 0) + note["rows"]
    rows = tuple((d, str(done.get(d, 0)), str(wanted.get(d, 0))) for d in devices)
    table = Table(("device", "rows that it computed", "wanted"), rows)
    if done != wanted or len(forwards) != len(wanted):
        home = set(done) == {devices[0]}
        yield Finding(
            "only_home" if home and len(wanted) > 1 else "wrong_pieces",
            "Everything was computed on the first device."
            if home and len(wanted) > 1
            else f"{len(x)} rows for {count} devices are {listed_text(chunks)}; it was done "
            "in another way.",
            property=_WORK,
            table=table,
            advice="As many replicas as pieces, each on the device of its piece.",
        )
    elif not all(note["met"] for note in forwards):
        yield Finding(
            "one_after_another",
            "The replicas run one after the other: while one computes, all other devices wait.",
            property=_WORK,
            advice="A thread for each replica: parallel_apply.",
        )


def _idle(value: dict[str, Any], rows: int, count: int) -> Iterator[Finding]:
    """On virtual devices, bytes are counted: nothing goes where there are no rows."""
    pieces = len(torch.empty(rows).chunk(count))
    sent = value["moved"][0] if value["moved"] else []
    idle = [i for i in range(pieces, len(sent)) if sent[i]]
    if idle:
        device = value["devices"][idle[0]]
        yield Finding(
            "idle_replicas",
            f"{device} gets no rows, and {sent[idle[0]]:,} bytes were sent to it in {STEPS} "
            "steps: a model for nothing.",
            property=_WORK,
            advice="Cut the batch first, and replicate to devices[:len(pieces)].",
        )


def _moved(value: dict[str, Any]) -> Iterator[Finding]:
    if value["module_on"] != [value["devices"][0]]:
        yield Finding(
            "moved_module",
            f"The module ends up on {names_text(value['module_on'])}; it was on "
            f"{value['devices'][0]}.",
            property=_GRAD,
            advice="Copy its tensors; module.to(device) moves the module itself.",
        )


DATA_PARALLEL = Exercise(
    name="data_parallel",
    title="DataParallel",
    properties=(Property(_OUTPUT, 1), Property(_GRAD, 2), Property(_WORK, 1)),
    cases=data_parallel_cases,
    examine=examine_data_parallel,
    hint="Scatter, replicate, apply, gather. A batch of 2 rows for 4 devices has 2 pieces: how "
    "many replicas does it need?",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_data_parallel,
)
