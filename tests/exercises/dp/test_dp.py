"""The oracles of lesson 02: against the ledger of real steps, and on mistakes made on purpose."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.exercise import Case, Exercise
from autograder.exercises import dp
from autograder.exercises.dp import largest, memory, scatter, shared, traffic
from autograder.exercises.dp.gather import whole_of
from autograder.exercises.dp.place import described, leaves, map_tensors, some_gpus
from course.ranks.outcome import RETURNED, Outcome, Run
from course.virtual import gpus, machine, memory_by_kind, transfers


@pytest.fixture(autouse=True)
def _no_gpus_left():
    yield
    assert machine._on is None


def a_run(value: Any) -> Run:
    return Run((Outcome(0, RETURNED, value),), 1.0)


def codes(findings: Any) -> list[str]:
    return [finding.code for finding in findings]


# --- cases ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", dp.LESSON.exercises, ids=lambda e: e.name)
def test_inputs_depend_on_the_seed_and_on_nothing_else(exercise: Exercise):
    def inputs(seed: int) -> str:
        return str([case.inputs for case in exercise.cases(random.Random(seed))])

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)


@pytest.mark.parametrize("exercise", dp.LESSON.exercises, ids=lambda e: e.name)
def test_every_case_is_one_process_and_says_what_it_is(exercise: Exercise):
    for case in exercise.cases(random.Random(0)):
        assert case.world_size == 1
        assert case.label


def test_uneven_tiny_and_single_batches_are_met():
    sizes = {case.expected[2:] for case in dp.DATA_PARALLEL.cases(random.Random(0))}
    assert any(rows % count for rows, count in sizes)
    assert any(rows < count for rows, count in sizes)
    assert any(count == 1 for _, count in sizes)


# --- what is predicted, against the ledger ----------------------------------------------------


def a_model(widths: tuple[int, ...], activation: str) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(widths[0], widths[1])]
    for a, b in pairwise(widths[1:]):
        layers += [nn.Tanh() if activation == "tanh" else nn.GELU(), nn.Linear(a, b)]
    return nn.Sequential(*layers)


def an_optimizer(name: str, parameters: Any) -> torch.optim.Optimizer:
    if name == "Adam":
        return torch.optim.Adam(parameters)
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9 if name == "momentum" else 0)


def measured(step: memory.Step) -> list[dict[str, int]]:
    with gpus(step.devices, "4 GiB", compute=False) as devices:
        model = a_model(step.widths, step.activation).to(devices[0])
        during: list[Any] = []
        model.register_forward_hook(lambda *_: during.append(memory_by_kind()))
        optimizer = an_optimizer(step.optimizer, model.parameters())
        parallel = nn.DataParallel(model, list(range(step.devices)))
        output = parallel(torch.zeros(step.rows, step.widths[0]))
        target = torch.zeros(step.rows, dtype=torch.long, device=devices[0])
        loss = F.cross_entropy(output, target)
        before = memory_by_kind()
        loss.backward()
        optimizer.step()
        after = memory_by_kind()
        moments = dict.fromkeys(("activations", "outputs"), before)
        moments |= dict.fromkeys(("gradients", "optimizer state"), after)
        moments["parameters"] = during[-1]
        return [{kind: moments[kind][d][kind] for kind in memory.KINDS} for d in devices]


MEMORY_CASES = dp.MEMORY_PER_DEVICE.cases(random.Random(3))


@pytest.mark.parametrize("case", MEMORY_CASES, ids=lambda case: case.label)
def test_the_predicted_memory_is_what_the_ledger_shows(case: Case):
    wanted = memory.step_memory(case.expected)
    for got, right in zip(measured(case.expected), wanted, strict=True):
        for kind in memory.KINDS:
            # torch.nn's cross_entropy adds two scalars to the outputs
            assert abs(got[kind] - right[kind]) <= 8, (kind, got, right)


def moved(step: traffic.Step) -> int:
    """Bytes through home in a step of a model of about this size."""
    features, outputs = step.row_in // 4, step.row_out // 4
    with gpus(step.devices, "1 GiB", compute=False) as devices:
        model = nn.Linear(features, outputs, bias=False).to(devices[0])
        parallel = nn.DataParallel(model, list(range(step.devices)))
        batch = torch.zeros(step.rows, features, device=devices[0])
        before = len(transfers())
        parallel(batch).square().mean().backward()
        through = [t for t in transfers()[before:] if devices[0] in (t.source, t.target)]
        return sum(t.bytes for t in through)


@pytest.mark.parametrize(("devices", "rows"), [(4, 32), (4, 9), (8, 3), (3, 100), (2, 7), (1, 8)])
def test_the_predicted_traffic_is_what_the_ledger_shows(devices: int, rows: int):
    step = traffic.Step(devices, rows, 4 * 30 * 70, row_in=4 * 30, row_out=4 * 70)
    assert moved(step) == step.home()


def test_the_ring_is_2_times_n_minus_1_chunks_in_and_out():
    step = traffic.Step(5, 10, 1000, 4, 4)
    assert step.ring() == 2 * (2 * (5 - 1)) * 1000 / 5


# --- mistakes in predictions are named --------------------------------------------------------


def predicted(step: memory.Step, kind: str, wrong: memory.Misconception) -> Run:
    right = memory.step_memory(step)
    devices = [{**d, kind: wrong.bytes(step, i)} for i, d in enumerate(right)]
    return a_run({"devices": devices, "is": "list"})


@pytest.mark.parametrize("kind", memory.KINDS)
def test_each_misconception_is_told_by_what_it_predicts(kind: str):
    for wrong in memory._MISCONCEPTIONS[kind]:
        found = [
            codes(memory.examine_memory(case, predicted(case.expected, kind, wrong)))
            for case in MEMORY_CASES
        ]
        assert [wrong.code] in found, wrong.code
        assert all(len(one) <= 1 for one in found)


def test_a_right_prediction_has_no_finding_and_a_missing_one_has():
    case = MEMORY_CASES[0]
    right = memory.step_memory(case.expected)
    assert not codes(memory.examine_memory(case, a_run({"devices": right, "is": "list"})))
    some = [{k: v for k, v in d.items() if k != "outputs"} for d in right]
    assert codes(memory.examine_memory(case, a_run({"devices": some, "is": "list"}))) == [
        "kind_missing"
    ]


TRAFFIC_CASES = dp.TRAFFIC.cases(random.Random(3))


def test_each_mistake_about_traffic_is_told_by_its_number():
    for number, mistakes in ((0, traffic._home_mistakes), (1, traffic._ring_mistakes)):
        for name in mistakes(TRAFFIC_CASES[0].expected):
            found = set()
            for case in TRAFFIC_CASES:
                pair = [case.expected.home(), case.expected.ring()]
                pair[number] = mistakes(case.expected)[name][0]
                found |= set(codes(traffic.examine_traffic(case, a_run({"numbers": pair}))))
            assert name in found


# --- searching --------------------------------------------------------------------------------


@pytest.mark.parametrize("largest_that_fits", [0, 1, 2, 63, 64, 4096, 5000])
def test_doubling_and_halving_stays_within_the_tries(largest_that_fits: int):
    tries = 0

    def fits(rows: int) -> bool:
        nonlocal tries
        tries += 1
        return rows <= largest_that_fits

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    assert low == largest_that_fits
    assert tries <= largest.most_tries(largest_that_fits)


# --- nested values ----------------------------------------------------------------------------

NESTED = {"a": (torch.arange(6), [torch.ones(6, 2)]), "b": None, "c": 3, "d": {"e": torch.eye(6)}}


def test_pieces_put_together_again_are_the_batch():
    pieces = scatter.pieces_of(NESTED, 4)
    assert len(pieces) == 3
    again = whole_of(pieces)
    assert not shared.form_difference(described(again), NESTED, "it")
    assert all(torch.equal(a, b) for a, b in zip(leaves(again), leaves(NESTED), strict=True))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({**NESTED, "a": [torch.arange(6), [torch.ones(6, 2)]]}, "it['a'] is a list, not a tuple"),
        ({**NESTED, "a": (torch.arange(6), [])}, "it['a'][1] has 0 entries, not 1"),
        ({**NESTED, "b": torch.ones(1)}, "it['b'] is a tensor, not None"),
        ({**NESTED, "c": 4}, "it['c'] is 4, not 3"),
        ({**NESTED, "d": {}}, "it['d'] has the keys [], not ['e']"),
        ({**NESTED, "d": 5}, "it['d'] is 5, not a dict"),
        ([NESTED], "it is a list, not a dict"),
    ],
)
def test_another_form_is_named_with_its_place(other: Any, text: str):
    assert shared.form_difference(described(other), NESTED, "it") == text


def test_what_is_described_tells_device_and_memory():
    with some_gpus(2) as devices:
        rows = torch.ones(10, 4, device=devices[1])[:2]
        (tensor,) = shared.tensors_in(described({"x": [rows]}))
    assert tensor["device"] == str(devices[1])
    assert tensor["storage"] == 160
    assert type(tensor["value"]) is torch.Tensor
    assert map_tensors(lambda t: t * 2, (1, rows.cpu()))[1].sum() == 16
