"""replicate: the module on every device, as copies through which gradients flow back."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import Parts
from autograder.exercises.ddp.shared import names_text
from autograder.exercises.dp.models import Net, build, data
from autograder.exercises.dp.place import TorchsOwn, bytes_moved, some_gpus
from autograder.exercises.dp.shared import is_close, torchs_own, value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_COMPUTES = "replica i computes on device i what the module does"
_GRAD = "backward through the replicas reaches the module's own parameters"
_SAME = "tied stays tied, frozen stays frozen, and every tensor travels once"
_KEPT = "the module itself stays as it was"


def call_replicate(
    answer: Callable[..., Any], seed: int, parts: dict[str, bool], training: bool, count: int
) -> dict[str, Any]:
    own = TorchsOwn()
    with some_gpus(count) as devices:
        module = build(Parts(**parts), seed).train(training).to(devices[0])
        before = list(module.parameters())
        started = bytes_moved(devices)
        replicas = answer(module, list(devices))
        moved = bytes_moved(devices)
        if not isinstance(replicas, (list, tuple)) or not all(map(callable, replicas)):
            return {"replicas": None, "is": _kind(replicas)}
        parameters = list(module.parameters())
        value = {
            "replicas": len(replicas),
            "one_object": len({id(r) for r in replicas}) < len(replicas),
            "module_on": sorted({str(t.device) for t in (*parameters, *module.buffers())}),
            "same_parameters": len(before) == len(parameters)
            and all(a is b for a, b in zip(before, parameters, strict=True)),
            "moved": _difference(started, moved),
            "torchs_own": own.used,
        }
        value |= _use(module, replicas[:count], devices, seed)
        return value | {"at_once": _use_at_once(module, replicas[:count], devices, seed)}


def _kind(value: Any) -> str:
    return type(value).__name__


def _difference(before: Any, after: Any) -> Any:
    if before is None:
        return None
    return [[b - a for a, b in zip(r, s, strict=True)] for r, s in zip(before, after, strict=True)]


def _use(module: Net, replicas: Any, devices: list[torch.device], seed: int) -> Any:
    """Each replica's forward, and backward through all of them."""
    shown: list[dict[str, Any]] = []
    total = torch.zeros((), dtype=torch.float64)
    for i, (replica, device) in enumerate(zip(replicas, devices, strict=False)):
        x = data(seed + i, 4)[0].to(device)
        try:
            output = replica(x)
        except RuntimeError as error:
            shown.append({"error": str(error)})
            continue
        shown.append({"device": str(output.device), "value": output.detach().cpu()})
        total = total + output.sum().to("cpu") * (i + 1)
    if total.requires_grad:
        total.backward()  # type: ignore[no-untyped-call]
    grads = {n: p.grad for n, p in module.named_parameters()}
    return {
        "outputs": shown,
        "devices": [str(device) for device in devices],
        "notes": module.notes.forwards,
        "grads": {n: None if g is None else g.cpu() for n, g in grads.items()},
    }


def _use_at_once(module: Net, replicas: Any, devices: list[torch.device], seed: int) -> Any:
    """The replicas' forwards in threads, all of them begun before any goes on."""
    shown: list[dict[str, Any]] = [{} for _ in replicas]
    inputs = [data(seed + i, 4)[0].to(device) for i, device in enumerate(devices)]
    module.notes.forwards = []
    module.notes.meeting = threading.Barrier(len(replicas))

    def work(i: int) -> None:
        try:
            output = replicas[i](inputs[i])
            shown[i] = {"device": str(output.device), "value": output.detach().cpu()}
        except Exception as error:
            shown[i] = {"error": str(error)}

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    met = all(note["met"] for note in module.notes.forwards)
    return {"outputs": shown, "met": met}


def replicate_cases(generator: random.Random) -> list[Case]:
    def case(count: int, training: bool = True, **parts: bool) -> Case:
        seed = generator.randrange(1 << 30)
        mode = "" if training else ", in evaluation mode"
        return Case(
            ((seed, parts, training, count),),
            (seed, parts, training, count),
            f"{count} device{'s' * (count > 1)} and {Parts(**parts)}{mode}",
        )

    return [
        case(3),
        case(4, tied=True, frozen=True),
        case(2, training=False, frozen=True),
        case(1, tied=True),
    ]


def examine_replicate(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    for look in (_replicas, _module, _outputs, _at_once, _gradients, _notes, _traffic):
        found = list(look(case, value))
        if found:
            yield from found
            return
    yield from torchs_own(value, "replicate", _COMPUTES)


def _replicas(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    count = case.expected[3]
    if value.get("replicas") is None:
        yield Finding(
            "not_modules",
            f"replicate returns {value.get('is')}; it is to return a list of modules.",
            property=_COMPUTES,
        )
    elif value["replicas"] != count:
        yield Finding(
            "wrong_count",
            f"There are {value['replicas']} replicas for {count} devices.",
            property=_COMPUTES,
            advice="One for each device, the first included.",
        )


def _module(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    home = value["devices"][0]
    if value["module_on"] != [home]:
        yield Finding(
            "moved_module",
            f"The module was on {home}, and now it has tensors on "
            f"{names_text(value['module_on'])}: it has been moved, not copied.",
            property=_KEPT,
            advice="module.to(device) changes the module itself and returns it, other than "
            "tensor.to(device), which makes a copy. And a shallow copy of a module shares the "
            "dict of its parameters.",
        )
    elif value["one_object"]:
        yield Finding(
            "same_module",
            "Several of the replicas are one and the same object.",
            property=_COMPUTES,
            advice="Each device needs a module of its own, with its own tensors.",
        )
    elif not value["same_parameters"]:
        yield Finding(
            "new_parameters",
            "The module's parameters are other objects now; an optimizer that was made before "
            "would go on with the old ones.",
            property=_KEPT,
            advice="Write into the copies, not into the module.",
        )


def _outputs(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    wanted = _wanted_outputs(case)
    errors = [(i, o["error"]) for i, o in enumerate(value["outputs"]) if "error" in o]
    if errors:
        i, error = errors[0]
        mixed = "same device" in error
        yield Finding(
            "left_behind" if mixed else "replica_fails",
            f"Replica {i} fails with an input on {value['devices'][i]}: {error.splitlines()[0]}"
            + (" Something of it is not there." if mixed else ""),
            property=_COMPUTES,
            advice="What must be on the device: every parameter and every buffer, of the module "
            "and of all modules inside it; buffers that are not in the state dict too.",
        )
        return
    for i, (output, right) in enumerate(zip(value["outputs"], wanted, strict=True)):
        if output["device"] != value["devices"][i]:
            yield Finding(
                "wrong_device",
                f"Replica {i} computes on {output['device']}, not on {value['devices'][i]}.",
                property=_COMPUTES,
            )
            return
        if not is_close(output["value"], right.detach()):
            yield Finding(
                "wrong_numbers",
                f"Replica {i} does not compute what the module does, with the same input.",
                property=_COMPUTES,
                advice="Are all its parameters and buffers copies of the module's?",
            )
            return


def _at_once(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    """Looked at when each replica by itself is right."""
    wanted, outputs = _wanted_outputs(case), value["at_once"]["outputs"]
    advice = (
        "Each replica needs a module object of its own, in which its own tensors stand and stay. "
        "torch.func.functional_call, for one, puts tensors into the module that it is given, and "
        "takes them out again after the call."
    )
    for i, (output, right) in enumerate(zip(outputs, wanted, strict=True)):
        if "error" not in output and is_close(output["value"], right.detach()):
            continue
        what = (
            f"fails: {output['error'].splitlines()[0]}"
            if "error" in output
            else "computes something else."
        )
        yield Finding(
            "shared_module",
            "Called one after the other, the replicas compute what the module does. Called at "
            f"the same time, in threads, they get in each other's way: replica {i} {what}",
            property=_COMPUTES,
            advice=advice,
        )
        return
    if not value["at_once"]["met"]:
        yield Finding(
            "one_at_a_time",
            "Called at the same time, in threads, the replicas wait for each other: while one "
            "computes, no other does.",
            property=_COMPUTES,
            advice="What do they share that only one may use at a time? " + advice,
        )


def _wanted_outputs(case: Case) -> list[torch.Tensor]:
    seed, parts, _, count = case.expected
    model = build(Parts(**parts), seed)
    return [model(data(seed + i, 4)[0]) for i in range(count)]


def _gradients(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    seed, parts, _, count = case.expected
    model = build(Parts(**parts), seed)
    total = torch.zeros((), dtype=torch.float64)
    for i in range(count):
        total = total + model(data(seed + i, 4)[0]).sum() * (i + 1)
    total.backward()  # type: ignore[no-untyped-call]
    wanted = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    got = value["grads"]
    alone = build(Parts(**parts), seed)
    alone(data(seed, 4)[0]).sum().backward()
    home = {n: p.grad for n, p in alone.named_parameters() if p.grad is not None}
    missing = [n for n in wanted if got.get(n) is None]
    wrong = [n for n in wanted if n not in missing and not is_close(got[n], wanted[n])]
    if missing:
        every = len(missing) == len(wanted)
        yield Finding(
            "not_differentiable",
            "After backward through the replicas, "
            f"{'none' if every else names_text(missing)} of the module's parameters "
            f"{'has' if every else 'have no'} {'a gradient' if every else 'gradient'}: "
            "the replicas' parameters are new ones, with gradients of their own that nobody sees.",
            property=_GRAD,
            advice="parameter.to(device) remembers where it came from. copy.deepcopy, detach(), "
            "load_state_dict and nn.Parameter(...) do not: they make a new leaf.",
        )
    elif wrong and all(is_close(got[n], home[n]) for n in wanted):
        yield Finding(
            "not_differentiable",
            "Only the replica on the first device leads back to the module's parameters; what the "
            f"other {count - 1} compute teaches nobody.",
            property=_GRAD,
            advice="On the first device, tensor.to(device) is the tensor itself. On the others it "
            "is a copy, and remembers its original only while gradients are on.",
        )
    elif wrong:
        first = [names_text(wrong), *(f"{t.norm():.4g}" for t in (got[wrong[0]], wanted[wrong[0]]))]
        yield Finding(
            "wrong_gradient",
            f"The gradient of {first[0]} is not the sum over the replicas.",
            property=_GRAD,
            table=Table(("parameter", "norm", "wanted"), ((wrong[0], first[1], first[2]),)),
            advice="Every replica, the one at home too, has to lead back to the same parameter.",
        )


def _notes(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    notes = value["notes"]
    apart = [n["device"] for n in notes if not n["tied"]]
    if apart:
        yield Finding(
            "untied",
            f"In the replica on {apart[0]}, two layers that share one weight have a copy each: "
            "twice the bytes sent, and twice the memory.",
            property=_SAME,
            advice="Copy each tensor once and remember the copy, say in a dict from the tensor "
            "to its copy; then put that wherever the tensor stood.",
        )
    if any(n["thawed"] for n in notes):
        yield Finding(
            "thawed",
            "A frozen parameter (requires_grad=False) requires a gradient in the replica.",
            property=_SAME,
            advice="tensor.to(device) keeps that, too. A gradient that nobody wants would be "
            "computed, and sent home.",
        )
    if any(n["training"] != case.expected[2] for n in notes):
        yield Finding(
            "training_mode",
            "The module is in evaluation mode, and a replica in training mode: dropout and "
            "BatchNorm would behave differently there.",
            property=_COMPUTES,
            advice="A replica has all of the module's attributes, self.training among them.",
        )


def _traffic(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    """On virtual devices, bytes are counted: each tensor travels once to each other device."""
    seed, parts, _, count = case.expected
    moved = value["moved"]
    if moved is None:
        return
    model = build(Parts(**parts), seed)
    wanted = sum(t.nbytes for t in (*model.parameters(), *model.buffers()))
    rows = tuple(
        (value["devices"][i], f"{moved[0][i]:,}", f"{wanted if i else 0:,}") for i in range(count)
    )
    if any(sum(row) for row in moved[1:]) or any(moved[0][i] != wanted for i in range(1, count)):
        yield Finding(
            "sent_twice",
            "The replicas' tensors have not travelled once each, from home to their device.",
            property=_SAME,
            table=Table(("to", "bytes from home", "wanted"), rows),
            advice="Copy each parameter and each buffer straight from the module, once.",
        )


REPLICATE = Exercise(
    name="replicate",
    title="A module on every device",
    properties=(
        Property(_COMPUTES, 1),
        Property(_GRAD, 2),
        Property(_SAME, 1),
        Property(_KEPT, 1),
    ),
    cases=replicate_cases,
    examine=examine_replicate,
    hint="For each device, make a dict from id(tensor) to tensor.to(device), for every parameter "
    "and buffer. Python's copy.deepcopy(x, memo) puts memo[id(y)] wherever it meets y inside x. "
    "Or copy the modules one by one with copy.copy, give each new dicts `_parameters`, "
    "`_buffers` and `_modules`, and fill those.",
    difficulty=4,
    minutes=30,
    backend="gloo",
    call=call_replicate,
)
