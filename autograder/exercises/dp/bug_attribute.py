"""Find the bug: an attribute that forward sets, and that is gone when forward is over."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import mse_loss

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.shared import names_text
from autograder.exercises.dp.place import attempt, some_gpus
from autograder.exercises.dp.shared import is_close, raised_finding, short_text, value_of
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

FEATURES, HIDDEN, OUTPUTS = 5, 7, 3
WEIGHT = 0.1  # of the penalty
STEPS = 2

_LOSS = "the loss is that of one device, penalty included"
_GRAD = "the gradients are those of one device"
_WORK = "the forward goes through DataParallel"


class Net(nn.Module):
    """The judge's own: the penalty is returned, a number for each row."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(FEATURES, HIDDEN)
        self.head = nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.inner(x))
        return self.head(hidden), hidden.square().mean(1)


@dataclass(frozen=True)
class Mistake:
    """A loss that somebody computes who is wrong in this way, and what to tell them."""

    code: str
    loss: torch.Tensor
    why: str
    advice: str


def parameters(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        shapes = {name: p.shape for name, p in Net().named_parameters()}
    return {
        name: torch.rand(shape, generator=generator, dtype=torch.float64) - 0.4
        for name, shape in shapes.items()
    }


def rows_of(seed: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows that grow, so that the pieces' means differ."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand((rows, FEATURES), generator=generator, dtype=torch.float64)
    scale = torch.linspace(0.5, 3.0, rows, dtype=torch.float64).unsqueeze(1)
    return x * scale, torch.rand((rows, OUTPUTS), generator=generator, dtype=torch.float64)


def call_penalised(answer: Callable[..., Any], seed: int, rows: int, count: int) -> dict[str, Any]:
    made = answer.__globals__.get("Net")
    if not (isinstance(made, type) and issubclass(made, nn.Module)):
        return {"problem": "The cell defines no class Net."}
    with some_gpus(count) as devices:
        net = made()
        found = {name: tuple(p.shape) for name, p in net.named_parameters()}
        weights = parameters(seed)
        if found != {name: tuple(p.shape) for name, p in weights.items()}:
            return {"problem": f"Net has the parameters {', '.join(found) or 'of nobody'}."}
        net = net.double()
        net.load_state_dict(weights, strict=False)
        parallel = nn.DataParallel(net.to(devices[0]), device_ids=[d.index for d in devices])
        forwards: list[int] = []
        inner: dict[str, int] = {}  # rows that the layer inner computed, by device
        net.get_submodule("inner").register_forward_hook(
            lambda m, inputs, output: _note_rows(inner, output)
        )
        parallel.register_forward_pre_hook(lambda *_: forwards.append(1))
        steps = []
        for step in range(STEPS):
            x, y = (part.to(devices[0]) for part in rows_of(seed + step, rows))
            forwards.clear()
            inner.clear()
            net.zero_grad()
            loss, error = attempt(answer, parallel, x, y)
            if error:
                return {"error": error}
            grads = {n: p.grad for n, p in net.named_parameters()}
            steps.append(
                {
                    "loss": _number(loss),
                    "is": _kind(loss),
                    "grads": {n: None if g is None else g.cpu() for n, g in grads.items()},
                    "through_parallel": len(forwards),
                    "rows_at_home": inner.get(str(devices[0]), 0),
                }
            )
        return {"steps": steps}


def _note_rows(noted: dict[str, int], output: torch.Tensor) -> None:
    device = str(output.device)
    noted[device] = noted.get(device, 0) + len(output)  # only home's is asked for


def _kind(loss: Any) -> str:
    if isinstance(loss, (int, float)):
        return "number"
    return "tensor" if isinstance(loss, torch.Tensor) else type(loss).__name__


def _number(loss: Any) -> float | str:
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        return loss.item()
    return float(loss) if isinstance(loss, (int, float)) else repr(loss)[:80]


def penalised_cases(generator: random.Random) -> list[Case]:
    def case(rows: int, count: int) -> Case:
        arguments = (generator.randrange(1 << 30), rows, count)
        text = f"{rows} row{'s' * (rows > 1)} on {count} device{'s' * (count > 1)}"
        return Case((arguments,), arguments, text)

    return [case(8, 2), case(9, 4), case(5, 3), case(6, 1), case(1, 2)]


def examine_penalised(case: Case, run: Run) -> Iterator[Finding]:
    value = value_of(run)
    if "problem" in value:
        yield Finding(
            "no_net",
            f"{value['problem']} It is to have the layers inner and head, as before.",
            advice="The cell holds both, the class Net and the step.",
        )
        return
    if "error" in value:
        yield _raises(value["error"])
        return
    seed, rows, count = case.expected
    for step, seen in enumerate(value["steps"]):
        truth = _Truth(seed, step, rows, count)
        found = [*_work(seen), *_loss(seen, truth, step)] or list(_gradients(seen, truth, step))
        found = found or list(_again(seen, rows, count))
        if found:
            yield from found
            return


class _Truth:
    """What one device has, and what the usual mistakes make of it."""

    def __init__(self, seed: int, step: int, rows: int, count: int) -> None:
        self._net = Net().double()
        self._net.load_state_dict(parameters(seed))
        self._x, self._y = rows_of(seed + step, rows)
        self._sizes = [len(chunk) for chunk in self._x.chunk(count)]
        self.error, penalties = self._parts()
        self.loss = self.error + WEIGHT * penalties.mean()
        self.unweighted = self.error + penalties.mean()
        self.hidden_summed = self.error + WEIGHT * HIDDEN * penalties.mean()
        self.pieces = [piece.mean() for piece in penalties.split(self._sizes)]
        self.mean_of_means = self.error + WEIGHT * torch.stack(self.pieces).mean()
        self.sum = self.error + WEIGHT * torch.stack(self.pieces).sum()
        self.sum_of_rows = self.error + WEIGHT * penalties.sum()

    def _parts(self) -> tuple[torch.Tensor, torch.Tensor]:
        output, penalties = self._net(self._x)
        return mse_loss(output, self._y), penalties

    def with_hidden(self, activation: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """The loss with other hidden values than relu's."""
        hidden = activation(self._net.inner(self._x))
        error = mse_loss(self._net.head(hidden), self._y)
        return error + WEIGHT * hidden.square().mean()

    def gradients(self, loss: torch.Tensor) -> dict[str, torch.Tensor]:
        names = [name for name, _ in self._net.named_parameters()]
        return dict(zip(names, self._gradients(loss), strict=True))

    def _gradients(self, loss: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(loss, list(self._net.parameters()), retain_graph=True)


def _raises(error: dict[str, Any]) -> Finding:
    if "grad can be implicitly created only for scalar" in error["text"]:
        return raised_finding(
            error,
            "vector_loss",
            "backward() begins at one number, and this loss has several.",
            _LOSS,
            "parallel(x) returns more than one penalty. Which mean of them does the loss contain?",
        )
    return raised_finding(error)


def _again(seen: dict[str, Any], rows: int, count: int) -> Iterator[Finding]:
    """A right loss, for which home has computed what the replicas had computed already."""
    own = len(torch.empty(rows).chunk(count)[0])
    if count > 1 and seen["rows_at_home"] >= own + rows:
        yield Finding(
            "computed_again",
            "The loss is right, and for the penalty the layer inner was computed once more at "
            f"home, for all rows: {seen['rows_at_home']} rows in all, and home's piece has {own}.",
            property=_WORK,
            advice="Let forward return what the penalty needs. The replicas have computed it.",
        )


def _work(seen: dict[str, Any]) -> Iterator[Finding]:
    if not seen["through_parallel"]:
        yield Finding(
            "around_the_wrapper",
            "The step never calls parallel(x): all rows are computed on the home device.",
            property=_WORK,
            advice="parallel.module is the model without DataParallel around it.",
        )


def _loss(seen: dict[str, Any], truth: _Truth, step: int) -> Iterator[Finding]:
    got = seen["loss"]
    if _equal(got, truth.loss):
        if seen["is"] != "number":
            yield Finding(
                "not_a_number",
                f"The loss that is returned is right, and is a {seen['is']}; it is to be a number.",
                property=_LOSS,
                advice="return loss.item()",
            )
        return
    if isinstance(got, str):
        yield Finding(
            "not_a_number",
            f"penalised_step_fixed returns {short_text(got)}; it is to return one number, the "
            "loss.",
            property=_LOSS,
            advice="return loss.item()",
        )
        return
    code, why, advice = (
        "wrong_loss",
        "it is not the mean squared error plus 0.1 times the mean penalty of all rows.",
        "Compare it with F.mse_loss(output, y) + 0.1 * (the mean of the squares of "
        "relu(inner(x)), over all rows and all hidden values).",
    )
    if _equal(got, truth.error):
        code, why = "penalty_lost", "this is the mean squared error alone; the penalty is missing."
        advice = (
            "Each replica is a copy that lives for one forward. What forward sets on self, it sets "
            "on the copy. Only what forward returns comes home."
        )
    elif _equal(got, truth.mean_of_means):
        code = "mean_of_means"
        why = (
            "the pieces have different numbers of rows, and the mean of their means counts a row "
            "in a small piece for more."
        )
        advice = "Return the penalty of each row, and take the mean once, at home."
    elif _equal(got, truth.sum) or _equal(got, truth.sum_of_rows):
        code, why = "penalty_summed", "the penalties are added up, not averaged over the rows."
        advice = "With more devices, or more rows, the penalty would weigh more."
    for mistake in _mistakes(truth) if code == "wrong_loss" else ():
        if _equal(got, mistake.loss):
            code, why, advice = mistake.code, mistake.why, mistake.advice
            break
    one, other = _alike(got, truth.loss.item())
    yield Finding(
        code,
        f"In step {step + 1} the loss is {one}, and {other} on one device: {why}",
        property=_LOSS,
        advice=advice,
    )


def _mistakes(truth: _Truth) -> list[Mistake]:
    return [
        Mistake(
            "weight_forgotten",
            truth.unweighted,
            "the penalty counts whole.",
            "The loss is the mean squared error plus 0.1 times the penalty.",
        ),
        Mistake(
            "hidden_summed",
            truth.hidden_summed,
            f"a row's penalty is the sum over its {HIDDEN} hidden values, not their mean.",
            "hidden.square().mean(1)",
        ),
        Mistake(
            "no_relu",
            truth.with_hidden(lambda x: x),
            "the hidden values have been used without the relu.",
            "hidden = torch.relu(self.inner(x))",
        ),
        Mistake(
            "tanh",
            truth.with_hidden(torch.tanh),
            "the hidden values are tanh's, and not relu's.",
            "hidden = torch.relu(self.inner(x))",
        ),
    ]


def _alike(one: float, other: float) -> tuple[str, str]:
    """Both with as many digits, so many that they differ."""
    for digits in (4, 6, 9, 12):
        texts = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts


def _equal(got: Any, wanted: torch.Tensor) -> bool:
    return isinstance(got, float) and abs(got - wanted.item()) <= 1e-6 * max(1.0, abs(got))


def _gradients(seen: dict[str, Any], truth: _Truth, step: int) -> Iterator[Finding]:
    got, wanted = seen["grads"], truth.gradients(truth.loss)
    wrong = [n for n in wanted if not is_close(got.get(n), wanted[n])]
    if not wrong:
        return
    code, why, advice = (
        "wrong_gradient",
        f"the gradients of {names_text(wrong)} are not one device's.",
        "Call backward once, on the loss of all rows.",
    )
    if all(got.get(n) is None for n in wanted):
        code, why = "no_backward", "no parameter has a gradient."
    elif all(is_close(got.get(n), g) for n, g in _plain(truth).items()):
        code = "penalty_without_gradient"
        why = (
            "the loss contains the penalty, and the gradients do not: to autograd the penalty is "
            "a number from nowhere."
        )
        advice = "float(), .item(), .data and buffers cut the history. Return the tensor."
    rows = tuple((n, _norm(got.get(n)), _norm(wanted[n])) for n in wrong)
    yield Finding(
        code,
        f"In step {step + 1} the loss is right, but {why}",
        property=_GRAD,
        table=Table(("parameter", "norm of its gradient", "one device's"), rows),
        advice=advice,
    )


def _plain(truth: _Truth) -> dict[str, torch.Tensor]:
    return truth.gradients(truth.error)


def _norm(tensor: torch.Tensor | None) -> str:
    return "None" if tensor is None else f"{tensor.norm():.6g}"


PENALISED_STEP = Exercise(
    name="penalised_step_fixed",
    title="Find the bug: the penalty that was never paid",
    properties=(Property(_LOSS, 1), Property(_GRAD, 1), Property(_WORK, 1)),
    cases=penalised_cases,
    examine=examine_penalised,
    hint="Let forward return two things, and remember what gather does with each. A number per "
    "row is gathered as rows are.",
    difficulty=2,
    minutes=15,
    backend="gloo",
    call=call_penalised,
)
