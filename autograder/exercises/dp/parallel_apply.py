"""parallel_apply: one thread for each replica, and what threads do not do by themselves."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.models import PATIENCE
from autograder.exercises.dp.place import TorchsOwn, attempt, described, raised, some_gpus
from autograder.exercises.dp.shared import (
    listed_text,
    raised_finding,
    same_numbers,
    short_text,
    torchs_own,
    value_of,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

_TOGETHER = "all replicas run at the same time"
_ORDER = "output i is that of replica i, on its own inputs"
_MODE = "the caller's grad mode holds in the threads"
_ERROR = "an exception of a replica is raised, with its device, when all have ended"


class Broken(ValueError):
    """What a replica raises here."""


Calls = list[tuple[int, torch.Tensor]]  # the replica's number, and what it was given


class Replica:
    """Waits until all replicas run, ends the earlier the higher its number, and notes it."""

    def __init__(
        self, number: int, count: int, fails: bool, meeting: threading.Barrier, calls: Calls
    ) -> None:
        self.number, self.fails, self.meeting, self.calls = number, fails, meeting, calls
        self.pause = 0.02 * (count - number)
        self.met = self.ended = False

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.calls.append((self.number, x))
        with contextlib.suppress(threading.BrokenBarrierError):
            self.meeting.wait(PATIENCE)
            self.met = True
        if self.fails:
            raise Broken(f"replica {self.number} cannot do this")
        time.sleep(self.pause)
        output = x * (self.number + 1) + y
        self.ended = True
        return output


def call_parallel_apply(
    answer: Callable[..., Any], numbers: torch.Tensor, failing: list[int], grad: bool
) -> dict[str, Any]:
    own = TorchsOwn()
    count = len(numbers)
    with some_gpus(count) as devices:
        meeting = threading.Barrier(count)
        calls: Calls = []
        replicas = [Replica(i, count, i in failing, meeting, calls) for i in range(count)]
        inputs = [
            (numbers[i].to(d).requires_grad_(), torch.ones(2, dtype=numbers.dtype, device=d))
            for i, d in enumerate(devices)
        ]
        shown: dict[str, Any] = {"devices": [str(device) for device in devices]}
        with torch.set_grad_enabled(grad), _noting_threads() as in_threads:
            if failing:
                shown |= _expecting_an_error(answer, list(replicas), inputs, list(devices))
            else:
                outputs, error = attempt(answer, list(replicas), inputs, list(devices))
                shown |= {"raised": error} if error else _shown_outputs(outputs)
            # As they are at the moment when the answer comes back.
            shown["ended"] = [r.ended for r in replicas]
            shown["met"] = [r.met for r in replicas]
            shown["calls"] = [[number, _whose_input(x, inputs)] for number, x in list(calls)]
            shown["in_threads"] = list(in_threads)
        shown["torchs_own"] = own.used
        return shown


@contextlib.contextmanager
def _noting_threads() -> Iterator[list[dict[str, Any]]]:
    """The exceptions that end threads meanwhile; they are printed as ever."""
    noted: list[dict[str, Any]] = []
    before = threading.excepthook

    def hook(args: Any) -> None:
        if args.exc_value is not None:
            noted.append(raised(args.exc_value))
        before(args)

    threading.excepthook = hook
    try:
        yield noted
    finally:
        threading.excepthook = before


def _expecting_an_error(answer: Callable[..., Any], *args: Any) -> dict[str, Any]:
    try:
        return _shown_outputs(answer(*args))
    except Exception as error:
        return {"error": _shown_error(error)}


def _shown_outputs(outputs: Any) -> dict[str, Any]:
    items = outputs if isinstance(outputs, (list, tuple)) else []
    grad = [t.requires_grad for t in items if isinstance(t, torch.Tensor)]
    return {"outputs": described(outputs), "grad": grad}


def _whose_input(x: torch.Tensor, inputs: list[Any]) -> int | None:
    for i, (own, _) in enumerate(inputs):
        if own is x or torch.equal(own.detach().cpu(), x.detach().cpu()):
            return i
    return None


def _shown_error(error: BaseException) -> dict[str, Any]:
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or here.__context__
    notes = getattr(error, "__notes__", [])
    return {
        "type": type(error).__name__,
        "text": "\n".join([str(error), *map(str, notes)])[:2000],
        "original": any(isinstance(e, Broken) for e in chain),
        "whole": "\n".join(map(str, chain))[:2000],
    }


def parallel_apply_cases(generator: random.Random) -> list[Case]:
    def case(count: int, failing: tuple[int, ...] = (), grad: bool = True, text: str = "") -> Case:
        values = torch.tensor([[generator.randint(1, 99) for _ in range(2)] for _ in range(count)])
        numbers = values.double()
        what = f"{count} replica{'s' * (count > 1)}{text}"
        return Case(((numbers, list(failing), grad),), (numbers, failing, grad), what)

    return [
        case(3),
        case(4, grad=False, text=" under torch.no_grad()"),
        case(4, failing=(2,), text=", of which number 2 raises an exception"),
        case(3, failing=(0, 1), text=", of which numbers 0 and 1 raise an exception"),
        case(1),
    ]


def examine_parallel_apply(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    _, failing, _ = case.expected
    if failing:
        yield from _error(value, failing)
        return
    torchs = list(torchs_own(value, "parallel_apply", _TOGETHER, _THREADS))
    if "raised" in value:
        yield from torchs or [raised_finding(value["raised"])]
        return
    found = list(_outputs(case, value)) or list(_together(value)) or list(_mode(case, value))
    yield from found or torchs


_THREADS = (
    "threading.Thread(target=work, args=(i,)) makes a thread for replica i; start() all of them, "
    "then join() all of them."
)
_LATE = (
    "A function made in a loop reads the loop's variable when it runs, and not when it was made. "
    "Give the thread its own i: threading.Thread(target=work, args=(i,))."
)


def _outputs(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    numbers, _, _ = case.expected
    wanted = [numbers[i] * (i + 1) + 1 for i in range(len(numbers))]
    got = value["outputs"]
    items = got.get("items", []) if got["is"] in ("list", "tuple") else []
    if len(items) != len(wanted) or any(item["is"] != "tensor" for item in items):
        yield _missing(got, items, value)
        return
    if all(same_numbers(a, b) for a, b in zip(items, wanted, strict=True)):
        return
    found = [
        next((j for j, right in enumerate(wanted) if same_numbers(item, right)), None)
        for item in items
    ]
    rows = tuple(
        (str(i), short_text(items[i]["value"]), short_text(wanted[i]), _whose(found[i]))
        for i in range(len(wanted))
    )
    table = Table(("output", "is", "wanted", "which is that of"), rows)
    if len(set(found)) == 1 and found[0] is not None:
        code, why, advice = (
            "all_of_one",
            f"All outputs are those of replica {found[0]}.",
            _LATE,
        )
    elif mixed := [(r, i) for r, i in value["calls"] if i not in (r, None)]:
        code, why, advice = (
            "wrong_inputs",
            f"Replica {mixed[0][0]} was called with the inputs of replica {mixed[0][1]}.",
            f"Output i is replicas[i](*inputs[i]). {_LATE}",
        )
    elif None not in found:
        code, why, advice = (
            "wrong_order",
            "The outputs are in the order in which the replicas ended.",
            "Let each thread write to its own place: results[i] = output.",
        )
    else:
        code, why, advice = (
            "wrong_outputs",
            "The outputs are not those of the replicas on their own inputs.",
            "Output i is replicas[i](*inputs[i]).",
        )
    yield Finding(code, why, property=_ORDER, table=table, advice=advice)


def _missing(got: dict[str, Any], items: list[Any], value: dict[str, Any]) -> Finding:
    """Not every replica has an output in the result; what the threads did says why."""
    count = len(value["ended"])
    if value["in_threads"]:
        error = value["in_threads"][0]
        star = "positional argument" in error["text"]
        return raised_finding(
            error,
            "thread_raised",
            "Outputs are missing, since an exception has ended a thread. It ends nothing else, "
            "so the program goes on.",
            _ORDER,
            "inputs[i] is a tuple of all arguments of replica i; the star in "
            "replicas[i](*inputs[i]) hands them over one by one."
            if star
            else "",
        )
    called = [replica for replica, _ in value["calls"]]
    never = [i for i in range(count) if i not in called]
    often = next((i for i in called if called.count(i) > 1), None)
    if never and often is not None:
        return Finding(
            "late_bound",
            f"Replica {often} was called {called.count(often)} times and "
            f"{listed_text(never)} not at all, as happens when a thread reads the loop's variable "
            "late.",
            property=_ORDER,
            advice=_LATE,
        )
    if not all(value["ended"]):
        return Finding(
            "not_joined",
            "parallel_apply came back before all replicas had ended: outputs are missing.",
            property=_ORDER,
            advice="Start all threads, then join() all of them, then collect the outputs.",
        )
    kinds = ", ".join(item["is"] if item["is"] != "plain" else "None" for item in items)
    return Finding(
        "outputs_missing",
        f"All replicas have been called and have ended, and parallel_apply returns "
        f"{got.get('value', got['is'])}{f' of {kinds}' if kinds else ''}; it is to return a list "
        f"with the outputs of all {count} replicas.",
        property=_ORDER,
        advice=f"Let each thread write to its own place: results[i] = output. {_LATE}",
    )


def _whose(found: int | None) -> str:
    return "nobody" if found is None else f"replica {found}"


def _together(value: dict[str, Any]) -> Iterator[Finding]:
    if not all(value["met"]):
        yield Finding(
            "one_after_another",
            "The replicas run one after the other: while one computes, all other devices wait.",
            property=_TOGETHER,
            advice="Start all threads before you join the first.",
        )


def _mode(case: Case, value: dict[str, Any]) -> Iterator[Finding]:
    grad = case.expected[2]
    if any(flag != grad for flag in value["grad"]):
        yield Finding(
            "grad_mode_lost",
            "Called under torch.no_grad(), the replicas still record everything for a backward "
            "that nobody will call: grad mode belongs to a thread, and a new thread begins with "
            "it on. Evaluation would need as much memory as training."
            if not grad
            else "The replicas' outputs have no history: backward could not go through them.",
            property=_MODE,
            advice="Ask torch.is_grad_enabled() before you start the threads, and in each thread "
            "begin with torch.set_grad_enabled(...).",
        )


def _error(value: dict[str, Any], failing: tuple[int, ...]) -> Iterator[Finding]:
    error = value.get("error")
    names = [value["devices"][i] for i in failing]
    others = [i for i in range(len(value["devices"])) if i not in failing]
    if error is None:
        yield Finding(
            "swallowed",
            f"The replica on {names[0]} raised an exception, and parallel_apply came back as if "
            "nothing had happened. An exception ends its thread and nothing else.",
            property=_ERROR,
            advice="Catch it in the thread, keep it, and raise it after all threads have joined.",
        )
        return
    if not error["original"]:
        yield Finding(
            "error_lost",
            f"The replica on {names[0]} raised {Broken.__name__}; what is raised in the end is "
            f"{error['type']}: {short_text(error['text'])}, which does not lead to it.",
            property=_ERROR,
            advice="Raise the replica's exception itself, or another one `from` it.",
        )
    elif not any(_names(name, error["text"] + error["whole"]) for name in names):
        yield Finding(
            "device_not_named",
            f"The exception says {short_text(error['text'])!r}, and not on which device it "
            "happened.",
            property=_ERROR,
            advice=f"Put the device's name ({names[0]}) into the text, or error.add_note(...).",
        )
    if not all(value["ended"][i] for i in others):
        yield Finding(
            "not_joined",
            "The exception is raised while other replicas are still computing: they go on behind "
            "the caller's back, and keep their memory.",
            property=_ERROR,
            advice="Join all threads first.",
        )


def _names(device: str, text: str) -> bool:
    """``vgpu:2``, or torch's way to say it: ``device 2``."""
    return device in text or f"device {device.split(':')[-1]}" in text


PARALLEL_APPLY = Exercise(
    name="parallel_apply",
    title="A thread for each replica",
    properties=(
        Property(_TOGETHER, 1),
        Property(_ORDER, 1),
        Property(_MODE, 1),
        Property(_ERROR, 1),
    ),
    cases=parallel_apply_cases,
    examine=examine_parallel_apply,
    hint="A function work(i) that does `results[i] = replicas[i](*inputs[i])` inside try, and on "
    "an exception keeps it in errors[i]. Start a threading.Thread for each i, join them all, and "
    "then look whether there is an error.",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_parallel_apply,
)
