"""memory_per_device: what one step of DataParallel holds on each device, by kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.dp.shared import value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

KINDS = ("parameters", "gradients", "optimizer state", "activations", "outputs")
TOLERANCE = 0.05
NUMBER = 4  # bytes of a float32
STATES = {"SGD": 0, "momentum": 1, "Adam": 2}  # numbers that the optimizer keeps for a weight

_PROPERTY = {kind: f"{kind}, within 5 %" for kind in KINDS}


@dataclass(frozen=True)
class Step:
    """The arguments of one question. ``rows_on(d)`` are those of torch.chunk."""

    widths: tuple[int, ...]
    rows: int
    devices: int
    optimizer: str
    activation: str

    def rows_on(self, device: int) -> int:
        size = -(-self.rows // self.devices)
        return max(0, min(size, self.rows - device * size))

    @property
    def weights(self) -> int:
        return sum(a * b for a, b in pairwise(self.widths))

    @property
    def biases(self) -> int:
        return sum(self.widths[1:])

    @property
    def hidden(self) -> int:
        return sum(self.widths[1:-1])


def step_memory(step: Step) -> list[dict[str, int]]:
    """What the ledger shows, device by device; tests compare it with a real step."""
    return [{kind: _RIGHT[kind](step, d) for kind in KINDS} for d in range(step.devices)]


def _parameters(step: Step, device: int) -> int:
    return (step.weights + step.biases) * NUMBER if step.rows_on(device) else 0


def _at_home(step: Step, device: int) -> int:
    return 0 if device else (step.weights + step.biases) * NUMBER


def _state(step: Step, device: int) -> int:
    return _at_home(step, device) * STATES[step.optimizer]


def _kept(step: Step) -> int:
    """Numbers that one row leaves behind: the input, and each activation's result or more."""
    return step.widths[0] + step.hidden * (2 if step.activation == "gelu" else 1)


def _activations(step: Step, device: int) -> int:
    return step.rows_on(device) * _kept(step) * NUMBER


def _outputs(step: Step, device: int) -> int:
    return 0 if device else 2 * step.rows * step.widths[-1] * NUMBER


Bytes = Callable[[Step, int], float]
_RIGHT: dict[str, Callable[[Step, int], int]] = {
    "parameters": _parameters,
    "gradients": _at_home,
    "optimizer state": _state,
    "activations": _activations,
    "outputs": _outputs,
}


@dataclass(frozen=True)
class Misconception:
    """What somebody predicts who is wrong in this way, and what to tell them."""

    code: str
    bytes: Bytes
    why: str
    advice: str


def _everywhere(right: Bytes) -> Bytes:
    return lambda s, d: right(s, 0) if s.rows_on(d) else 0


def _all_devices(right: Bytes) -> Bytes:
    return lambda s, d: right(s, 0)


_HOME_STEPS = (
    "The optimizer has the module's parameters, which are at home. What it keeps is there too."
)
_SUMMED = (
    "Backward through replicate carries the replicas' gradients home and adds them; only the "
    "module's parameters have a .grad that stays."
)
_DOWN = (
    "The rows of a piece are rounded down here; torch.chunk rounds up, and the last piece gets "
    "what is left."
)


def _rows_down(step: Step, device: int) -> int:
    """Who cuts into pieces of ``rows // devices`` and gives the last device the rest."""
    size = step.rows // step.devices
    last = device == step.devices - 1
    return step.rows - device * size if last else size


def _rows_lost(step: Step, device: int) -> int:
    """The same, and nobody gets the rest."""
    return step.rows // step.devices


_MISCONCEPTIONS: dict[str, tuple[Misconception, ...]] = {
    "parameters": (
        Misconception(
            "home_only",
            _at_home,
            "The other devices have replicas during the step, and a replica has all parameters.",
            "They live from replicate to the end of backward.",
        ),
        Misconception(
            "idle_devices",
            _all_devices(_parameters),
            "A device that gets no rows gets no replica either.",
            "How many pieces does torch.chunk make?",
        ),
        Misconception(
            "rows_rounded_down",
            lambda s, d: _parameters(s, d) if s.rows // s.devices else 0,
            _DOWN,
            "All pieces but the last have ⌈rows / devices⌉ rows.",
        ),
        Misconception(
            "no_biases",
            lambda s, d: s.weights * NUMBER if s.rows_on(d) else 0,
            "The biases are missing.",
            "nn.Linear(a, b) has a·b weights and b biases.",
        ),
        Misconception(
            "divided",
            lambda s, d: _parameters(s, 0) / s.devices,
            "The parameters are not shared among the devices: every replica has all of them.",
            "DataParallel cuts the batch, not the model.",
        ),
    ),
    "gradients": (
        Misconception(
            "gradients_everywhere",
            _everywhere(_at_home),
            "After the step, no replica has gradients: they have been carried home and added up.",
            _SUMMED,
        ),
        Misconception(
            "gradients_everywhere", _all_devices(_at_home), "Gradients stay at home only.", _SUMMED
        ),
        Misconception(
            "gradients_of_all",
            lambda s, d: _at_home(s, d) * s.devices,
            "At home there is one gradient for each parameter: the replicas' have been added up.",
            "All replicas' gradients are there for a moment, and then only their sum.",
        ),
    ),
    "optimizer state": (
        Misconception(
            "state_everywhere",
            _everywhere(_state),
            "The replicas have no optimizer: the step is taken at home, and the next forward "
            "sends the new weights.",
            _HOME_STEPS,
        ),
        Misconception(
            "state_everywhere", _all_devices(_state), "Only home has an optimizer.", _HOME_STEPS
        ),
        Misconception(
            "one_number",
            lambda s, d: _at_home(s, d) * (s.optimizer != "SGD"),
            "Adam keeps two numbers for each weight: means of the gradient and of its square.",
            "SGD keeps nothing, with momentum one number, Adam two.",
        ),
        Misconception(
            "momentum_forgotten",
            lambda s, d: 0 if s.optimizer == "momentum" else _state(s, d),
            "SGD with momentum keeps a number for each weight: its velocity.",
            "SGD keeps nothing, with momentum one number, Adam two.",
        ),
    ),
    "activations": (
        Misconception(
            "all_rows_everywhere",
            lambda s, d: s.rows * _kept(s) * NUMBER,
            "Each device computes its own rows only, and keeps what belongs to these.",
            "The batch is cut before anything is computed.",
        ),
        Misconception(
            "rows_shared_evenly",
            lambda s, d: s.rows / s.devices * _kept(s) * NUMBER,
            "The rows are not shared evenly: torch.chunk gives the first devices more.",
            "All pieces but the last have ⌈rows / devices⌉ rows.",
        ),
        Misconception(
            "input_forgotten",
            lambda s, d: s.rows_on(d) * (_kept(s) - s.widths[0]) * NUMBER,
            "The input's rows are missing: the first layer needs them for its weight's gradient.",
            "A Linear layer keeps its input.",
        ),
        Misconception(
            "one_tensor_each",
            lambda s, d: s.rows_on(d) * (s.widths[0] + s.hidden) * NUMBER,
            "tanh's derivative follows from its result, gelu's does not: it keeps its input too.",
            "For gelu, two tensors of each hidden width are kept: what goes in, for gelu itself, "
            "and what comes out, for the next layer.",
        ),
        Misconception(
            "two_tensors_each",
            lambda s, d: s.rows_on(d) * (s.widths[0] + 2 * s.hidden) * NUMBER,
            "tanh keeps its result only: its derivative is 1 - tanh(x)², and the next layer "
            "keeps the same tensor.",
            "What a Linear layer returns is gone as soon as tanh has used it.",
        ),
        Misconception(
            "outputs_counted_too",
            lambda s, d: s.rows_on(d) * (_kept(s) + s.widths[-1]) * NUMBER,
            "The last layer's results are counted here; they are outputs, and are gathered at "
            "home.",
            "After the last Linear comes no activation, and no layer needs its result.",
        ),
        Misconception(
            "whole_batch_at_home",
            lambda s, d: (
                _activations(s, d) + (0 if d else (s.rows - s.rows_on(0)) * s.widths[0]) * NUMBER
            ),
            "Home is counted with the input of all rows; the first layer there keeps home's piece "
            "only.",
            "The batch itself is no activation: backward through the first layer needs the piece.",
        ),
        Misconception(
            "rows_rounded_down",
            lambda s, d: _rows_down(s, d) * _kept(s) * NUMBER,
            _DOWN,
            "All pieces but the last have ⌈rows / devices⌉ rows.",
        ),
        Misconception(
            "rows_rounded_down",
            lambda s, d: _rows_lost(s, d) * _kept(s) * NUMBER,
            _DOWN,
            "All pieces but the last have ⌈rows / devices⌉ rows.",
        ),
    ),
    "outputs": (
        Misconception(
            "outputs_once",
            lambda s, d: _outputs(s, d) / 2,
            "They are there twice: as the gathered output, and as the log-probabilities that "
            "cross_entropy computes from it and keeps.",
            "cross_entropy is log_softmax and then nll_loss.",
        ),
        Misconception(
            "outputs_everywhere",
            lambda s, d: 2 * s.rows_on(d) * s.widths[-1] * NUMBER,
            "The outputs have been gathered, and the loss is computed, on the home device, "
            "for all rows.",
            "The replicas' own outputs are not needed any more once they are gathered.",
        ),
        Misconception(
            "outputs_everywhere",
            lambda s, d: s.rows_on(d) * s.widths[-1] * NUMBER,
            "The outputs have been gathered, and the loss is computed, on the home device, "
            "for all rows.",
            "The replicas' own outputs are not needed any more once they are gathered.",
        ),
        Misconception(
            "own_outputs",
            lambda s, d: 0 if d else 2 * s.rows_on(0) * s.widths[-1] * NUMBER,
            "Home has the outputs of all rows, not only those of its own.",
            "The loss is computed from all rows, in one place.",
        ),
        Misconception(
            "outputs_elsewhere_too",
            lambda s, d: _outputs(s, 0) if not d else s.rows_on(d) * s.widths[-1] * NUMBER,
            "Home is right; the other devices' own outputs have been gathered, and are gone from "
            "there.",
            "Nothing that backward needs is the result of the last Linear itself.",
        ),
        Misconception(
            "outputs_elsewhere_too",
            lambda s, d: _outputs(s, 0) if not d else 2 * s.rows_on(d) * s.widths[-1] * NUMBER,
            "Home is right; the other devices' own outputs have been gathered, and are gone from "
            "there.",
            "The loss is computed at home, once, and nothing of it is anywhere else.",
        ),
    ),
}


def call_memory(answer: Callable[..., Any], *arguments: Any) -> list[dict[str, float]]:
    widths, rows, devices, optimizer, activation = arguments
    predicted = answer(list(widths), rows, devices, optimizer, activation)
    listed = predicted if isinstance(predicted, (list, tuple)) else []
    return {"devices": [_numbers(d) for d in listed], "is": type(predicted).__name__}  # type: ignore[return-value]


def _numbers(device: Any) -> dict[str, float] | None:
    if not isinstance(device, dict):
        return None
    there = {str(k): v for k, v in device.items()}
    return {k: float(v) for k, v in there.items() if isinstance(v, (int, float))}


def memory_cases(generator: random.Random) -> list[Case]:
    def case(step: Step) -> Case:
        arguments = (step.widths, step.rows, step.devices, step.optimizer, step.activation)
        text = (
            f"widths {list(step.widths)}, {step.rows} rows, {step.devices} "
            f"device{'s' * (step.devices > 1)}, {step.optimizer}, {step.activation}"
        )
        return Case((arguments,), step, text)

    def widths(*near: int) -> tuple[int, ...]:
        return tuple(n + generator.randint(0, n // 3) for n in near)

    return [
        case(Step(widths(9, 12, 7), 64, 4, "SGD", "tanh")),
        case(Step(widths(9, 14, 12, 7), 90, 4, "Adam", "gelu")),
        case(Step(widths(10, 8, 40), 33, 4, "momentum", "tanh")),
        case(Step(widths(8, 10), 9, 4, "Adam", "tanh")),
        case(Step(widths(8, 10), 5, 4, "momentum", "tanh")),
        case(Step(widths(12, 9, 9, 6), 2, 3, "Adam", "gelu")),
        case(Step(widths(1024, 4096, 1000), 256, 8, "Adam", "gelu")),
        case(Step(widths(9, 12, 7), 10, 1, "momentum", "gelu")),
    ]


def examine_memory(case: Case, run: Run) -> Iterator[Finding]:
    step: Step = case.expected
    value = value_of(run)
    got, wanted = value["devices"], step_memory(step)
    if len(got) != step.devices or any(d is None for d in got):
        yield Finding(
            "not_by_device",
            f"memory_per_device returns {value['is']}{f' of {len(got)}' if got else ''}; it is to "
            f"return a list of {step.devices} dicts, one for each device.",
            advice=f"Each dict has the keys {', '.join(map(repr, KINDS))}.",
        )
        return
    for kind in KINDS:
        yield from _kind(step, kind, [d.get(kind) for d in got], [w[kind] for w in wanted])


def _near(got: float | None, wanted: float, tolerance: float = TOLERANCE) -> bool:
    return got is not None and abs(got - wanted) <= max(tolerance * wanted, 16)


def _kind(
    step: Step, kind: str, got: Sequence[float | None], wanted: Sequence[int]
) -> Iterator[Finding]:
    if all(_near(g, w) for g, w in zip(got, wanted, strict=True)):
        return
    code, why, advice = _cause(step, kind, got, wanted)
    rows = tuple(
        (str(d), str(step.rows_on(d)), "-" if g is None else f"{g:,.0f}", f"{w:,}")
        for d, (g, w) in enumerate(zip(got, wanted, strict=True))
    )
    yield Finding(
        code,
        f"{kind.capitalize()}: {why}",
        property=_PROPERTY[kind],
        table=Table(("device", "its rows", "predicted bytes", "on the ledger"), rows),
        advice=advice,
    )


def _continued(sentence: str) -> str:
    """After a colon; SGD stays SGD."""
    word = sentence.split()[0]
    return sentence if word.isupper() and len(word) > 1 else sentence[0].lower() + sentence[1:]


def _cause(
    step: Step, kind: str, got: Sequence[float | None], wanted: Sequence[int]
) -> tuple[str, str, str]:
    if None in got:
        return (
            "kind_missing",
            f"device {got.index(None)} has no entry {kind!r}.",
            f"The keys are {', '.join(map(repr, KINDS))}, spelled like this.",
        )
    below = next((i for i, g in enumerate(got) if g is not None and g < 0), None)
    if below is not None:
        return (
            "negative",
            f"device {below} would have {got[below]:,.0f} bytes, and no device has fewer than 0. "
            f"{step.rows} rows do not reach all {step.devices} devices.",
            "The rows that are left for a device may be none: max(0, ...).",
        )
    if all(_near(g, w / NUMBER, 0.01) for g, w in zip(got, wanted, strict=True)):
        return "numbers_not_bytes", "these are numbers, not bytes.", "A float32 has 4 bytes."
    for wrong in _MISCONCEPTIONS[kind]:
        theirs = [wrong.bytes(step, d) for d in range(step.devices)]
        if all(_near(g, t, 0.01) for g, t in zip(got, theirs, strict=True)):
            return wrong.code, _continued(wrong.why), wrong.advice
    first = next(i for i, (g, w) in enumerate(zip(got, wanted, strict=True)) if not _near(g, w))
    return (
        f"wrong_{kind.split()[0]}",
        f"device {first} has {wanted[first]:,} bytes of them.",
        "Which tensors of this kind are there, of what size, on which device?",
    )


MEMORY_PER_DEVICE = Exercise(
    name="memory_per_device",
    title="Predict the memory",
    properties=tuple(Property(_PROPERTY[kind], 1) for kind in KINDS),
    cases=memory_cases,
    examine=examine_memory,
    hint="Count numbers first and multiply by 4 at the end. Rows of device d: all pieces but the "
    "last have ⌈rows / devices⌉. For activations go through the layers, and ask of each: what "
    "does its backward need? For outputs: what does cross_entropy keep?",
    difficulty=4,
    minutes=30,
    partial=True,
    backend="gloo",
    call=call_memory,  # type: ignore[arg-type]
)
