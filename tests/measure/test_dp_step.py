"""The recorded step of DataParallel, against what is known of it and against the ledger."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.measure import dp_step
from course.measure.dp_step import STAGES, Step, record
from course.virtual import gpus, ledger, reset, transfers

ROWS, WIDE, OUT = 12, 64, 10


class Model(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(WIDE, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, OUT))


def batch(rows: int = ROWS) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(rows, WIDE), torch.randint(OUT, (rows,))


def recorded(devices: int = 3, rows: int = ROWS, compute: bool = True) -> Step:
    return record(Model(), *batch(rows), F.cross_entropy, devices=devices, compute=compute)


def moved(step: Step, stage: str, kind: str) -> dict[tuple[int, int], int]:
    return {(m.source, m.target): m.bytes for m in step[stage].moves if m.kind == kind}


PARAMETERS = sum(p.nbytes for p in Model().parameters())
BUFFERS = sum(b.nbytes for b in Model().buffers())


@pytest.mark.parametrize("compute", [True, False])
@pytest.mark.parametrize("devices", [2, 3, 4])
def test_each_stage_moves_what_it_must(devices, compute):
    step = recorded(devices, compute=compute)
    assert tuple(stage.name for stage in step.stages) == STAGES
    others, share = range(1, devices), ROWS // devices
    assert moved(step, "scatter", "others") == {(0, i): share * WIDE * 4 for i in others}
    assert moved(step, "replicate", "parameters") == {(0, i): PARAMETERS for i in others}
    assert moved(step, "replicate", "others") == {(0, i): BUFFERS for i in others}
    assert moved(step, "gather", "outputs") == {(i, 0): share * OUT * 4 for i in others}
    assert moved(step, "backward", "gradients") == {(0, i): share * OUT * 4 for i in others}
    assert moved(step, "reduce", "gradients") == {(i, 0): PARAMETERS for i in others}
    for stage in ("parallel apply", "loss", "optimizer step"):
        assert step[stage].moves == () and step[stage].moved == 0
    assert step.through_home == sum(stage.moved for stage in step.stages)


def test_all_that_the_ledger_knows_is_in_some_stage():
    """Not a copy is lost between stages, and none is counted twice."""
    step = recorded()
    with gpus(3) as devices:
        model = nn.DataParallel(Model().to(devices[0]))
        trainer = torch.optim.Adam(model.parameters())
        x, y = (part.to(devices[0]) for part in batch())
        for _ in range(2):
            trainer.zero_grad()
            reset()
            F.cross_entropy(model(x), y).backward()
            trainer.step()
        assert sum(stage.moved for stage in step.stages) == sum(t.bytes for t in transfers())
        assert step.peak(0) == pytest.approx(ledger(0).peak, rel=0.02)
        assert step.peak(1) == pytest.approx(ledger(1).peak, rel=0.02)


def test_held_is_what_the_timeline_ends_with():
    step = recorded()
    for device, line in enumerate(step.timelines):
        assert step.stages[-1].held[device] == line[-1].by_kind
        assert step.peak(device) == max(moment.bytes for moment in line)
        assert [m.seconds for m in line] == sorted(m.seconds for m in line)
    home = step["optimizer step"].held[0]
    assert home["parameters"] == home["gradients"] == PARAMETERS
    assert home["optimizer state"] == 2 * PARAMETERS
    assert not any(sum(held.values()) for held in step["optimizer step"].held[1:])
    assert step["scatter"].held[0]["optimizer state"] == 2 * PARAMETERS  # made in the first step


def test_a_row_too_few_leaves_a_device_idle():
    step = recorded(devices=4, rows=9)
    assert {move.target for move in step["scatter"].moves} == {1, 2}
    assert step.peak(3) == 0


def test_the_model_that_was_given_is_left_as_it_was():
    model = Model()
    before = [p.clone() for p in model.parameters()]
    record(model, *batch(), F.cross_entropy, devices=2)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    assert all(p.device.type == "cpu" and p.grad is None for p in model.parameters())


def test_what_cannot_be_recorded_is_refused():
    with pytest.raises(ValueError, match="1 devices and 12 rows: it takes two of each"):
        recorded(devices=1)
    with pytest.raises(ValueError, match="2 devices and 1 rows"):
        recorded(devices=2, rows=1)
    with pytest.raises(torch.OutOfMemoryError, match="GPU 0 has a total capacity of 20"):
        record(Model(), *batch(), F.cross_entropy, memory="20 KiB")
    with pytest.raises(KeyError):
        recorded()["all_reduce"]


def test_the_example_loads_home_more():
    step = dp_step.example(devices=2, rows=4)
    assert step.devices == 2 and step.peak(0) > step.peak(1) > 0
