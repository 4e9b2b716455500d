"""What lesson 02 says in words about BERT-large on four V100, held to the ledger."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course.measure import memory
from course.virtual import gpus, ledger


@pytest.mark.parametrize(
    ("way", "precision", "length", "batch"),
    [
        ("DP", "fp32", 512, 20),
        ("DDP", "fp32", 512, 24),
        ("DDP", "autocast", 512, 28),
        ("DP", "autocast", 256, 60),
        ("DDP", "autocast", 256, 80),
    ],
)
def test_the_largest_batch(way: str, precision: str, length: int, batch: int):
    config = memory.Config(way=way, precision=precision, length=length)
    assert memory.largest_batch(config) == batch


def test_no_row_of_the_table_has_ddp_one_and_a_half_times_as_large():
    table = memory.fits_table(optimizers=("Adam",), lengths=(256, 512))
    for dp, ddp in zip(table[::2], table[1::2], strict=True):
        assert (dp.config.way, ddp.config.way) == ("DP", "DDP")
        assert 1 < ddp.batch / dp.batch < 1.5


def test_a_classifier_has_a_smaller_batch_with_ddp_because_of_the_forward():
    config = memory.Config(head="classes", length=512, way="DP")
    assert memory.largest_batch(config) == 28
    for way in ("DDP", "DDP, bucket views"):
        limit = memory.fit(memory.Config(head="classes", length=512, way=way))
        assert limit.batch == 24
        assert limit.limit.first is not None
        assert limit.limit.first.runs_out == "forward"


def peaks(batch: int) -> list[float]:
    """GiB on each device in a whole step in which the outputs are kept."""
    with gpus(4, "16 GiB", compute=False) as devices:
        with torch.device(devices[0]):
            model = memory.build("BERT-large")
        optimizer = memory.optimizer("Adam", model.parameters())
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
        text = torch.zeros(batch, 512, dtype=torch.long, device=devices[0])
        output = nn.DataParallel(model)(text)
        F.cross_entropy(output.flatten(0, 1), text.flatten()).backward()
        optimizer.step()
        return [ledger(device).peak / 2**30 for device in devices]


@pytest.mark.slow
def test_with_outputs_that_are_kept_16_texts_fit_and_18_do_not():
    home, *others = peaks(16)
    assert 13.9 < home < 14.1
    assert all(7.9 < other < 8.2 for other in others)
    with pytest.raises(torch.OutOfMemoryError):
        peaks(18)
