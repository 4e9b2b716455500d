"""What is accounted for, against full training steps on virtual GPUs."""

from __future__ import annotations

import dataclasses
import time

import pytest
import torch
from torch import nn

from course.measure import memory
from course.measure.memory import (
    GIB,
    WAYS,
    Config,
    account,
    fits_table,
    largest_batch,
    optimizer,
    shares,
    step_parts,
)
from course.measure.transformer import Size
from course.virtual import gpus, memory_by_kind, reset


def base(**changes) -> Config:
    usual = {"model": "tiny", "devices": 3, "batch": 9, "length": 16, "card": 80}
    return Config(**{**usual, **changes})


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setitem(memory.SIZES, "tiny", Size(500, 64, 3, 4, 64, False))
    monkeypatch.setitem(memory.SIZES, "tiny GPT", Size(500, 64, 3, 4, 64, True))


def step_on(devices, config: Config, views: bool = False) -> list[dict[str, int]]:
    """Peaks by kind in the second step, threads and all; one device stands for a rank of DDP."""
    build, text, loss = step_parts(config)
    rows = config.batch if config.way == "DP" else shares(config)[0]
    with torch.device(devices[0]):
        model, batch = build(), text(rows)
    if config.way != "DP":
        buckets = torch.zeros(sum(p.numel() for p in model.parameters()), device=devices[0])
        buckets = buckets.to(next(model.parameters()).dtype)
    if views:
        sizes = [p.numel() for p in model.parameters()]
        for parameter, part in zip(model.parameters(), buckets.split(sizes)):
            parameter.grad = part.view_as(parameter)
    trainer = optimizer(config.optimizer, model.parameters())
    called = nn.DataParallel(model) if config.way == "DP" else model
    for _ in range(2):
        trainer.zero_grad(set_to_none=not views)
        reset()
        loss(called(batch), batch).backward()
        trainer.step()
    return list(memory_by_kind(peak=True).values())


def assert_close(config: Config, share: float = 0.01) -> None:
    count = config.devices if config.way == "DP" else 1
    with gpus(count, "1 TiB", compute=False) as devices:
        measured = step_on(devices, config, config.way == "DDP, bucket views")
    for mine, theirs in zip(account(config).devices, measured):
        assert mine.peak == pytest.approx(sum(theirs.values()), rel=share)
    if config.way != "DP":
        assert len({one.peak for one in account(config).devices}) == 1


CHANGES = [
    {},
    {"batch": 200},
    {"batch": 200, "length": 64, "head": "classes"},
    {"optimizer": "SGD", "batch": 24},
    {"optimizer": "momentum", "devices": 2, "batch": 3},
    {"precision": "autocast", "batch": 100},
    {"precision": "half", "batch": 24},
    {"model": "tiny GPT", "batch": 100},
    {"devices": 4, "batch": 9},  # 3, 3, 3 and none
    {"devices": 1, "batch": 5},
    {"devices": 8, "batch": 700},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_as_a_full_step_has_it(way, change):
    """Within 1 %: what the issue allows is 5."""
    assert_close(base(way=way, **change))


@pytest.mark.parametrize("change", [{}, {"optimizer": "SGD", "batch": 40, "length": 256}], ids=str)
def test_so_it_is_for_a_real_model(change):
    assert_close(Config(model="BERT-base", card=80, **change))


def test_a_batch_for_one_replica_makes_one():
    assert_close(base(batch=1))


def test_it_computes_what_it_accounts_for():
    """The same peak where tensors have numbers."""
    config = base(batch=30)
    with gpus(3, "1 GiB") as devices:
        measured = [sum(kinds.values()) for kinds in step_on(devices, config)]
    for mine, theirs in zip(account(config).devices, measured, strict=True):
        assert mine.peak == pytest.approx(theirs, rel=0.01)


def test_kinds_are_those_of_the_books():
    """fp32 with Adam: 4 bytes for each weight, 4 for its gradient, 8 for the optimizer."""
    small = Config(model="BERT-base", batch=4, devices=1, way="DDP, bucket views", length=8)
    with torch.device("meta"):
        count = sum(p.numel() for p in memory.build("BERT-base").parameters())
    (one,) = account(small).devices
    assert one.stage == "step"
    assert one.by_kind["parameters"] == one.by_kind["DDP buckets"] == 4 * count
    assert one.by_kind["optimizer state"] == pytest.approx(12 * count, rel=0.01)  # 4 in passing
    half = account(dataclasses.replace(small, precision="half")).devices[0]
    assert half.by_kind["parameters"] == 2 * count


@pytest.mark.parametrize("way", WAYS)
def test_the_largest_batch_fits_and_one_more_does_not(way):
    config = Config(model="GPT-2 small", way=way, devices=3, card=12, length=200)
    most = largest_batch(config)
    assert most > 0
    assert account(dataclasses.replace(config, batch=most)).fits
    assert not account(dataclasses.replace(config, batch=most + 1)).fits


@pytest.mark.parametrize("head", ["words", "classes"])
def test_what_fits_by_account_runs_and_what_does_not_fails_in_the_words_of_torch(head):
    config = base(card=0.01, head=head)
    card = int(config.card * GIB)
    most = dataclasses.replace(config, batch=largest_batch(config))
    with gpus(3, card, compute=False) as devices:
        step_on(devices, most)
    over = dataclasses.replace(config, batch=most.batch + most.batch // 50 + 1)
    first = account(over).first
    assert first is not None and first.device == 0
    with gpus(3, card, compute=False) as devices:
        with pytest.raises(torch.OutOfMemoryError, match="GPU 0 has a total capacity"):
            step_on(devices, over)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"batch": 4}, "It fits. GPU 0, the fullest, needs 6.3 GiB in "),
        ({"way": "DDP", "batch": 4}, "It fits. Each GPU needs 7.5 GiB in the optimizer's step, "),
        ({"batch": 140}, "GPU 0 runs out of its 16 GiB in the "),
        ({"batch": 140}, "No other needs more than "),
        ({"batch": 400, "length": 512}, "So do 3 of 3 others."),
        ({"card": 2}, "GPU 0 runs out of its 2 GiB in the beginning, before any pass."),
    ],
)
def test_the_sentence_says_who_runs_out_where_and_of_what(change, says):
    assert says in account(Config(**change)).sentence()


def test_a_card_that_does_not_hold_the_model_has_no_batch():
    assert largest_batch(Config(card=1)) == 0
    assert account(Config(card=1)).first.runs_out == "start"


def test_shares_are_those_of_chunk_and_of_the_sampler():
    for batch in range(1, 20):
        for devices in range(1, 9):
            config = Config(batch=batch, devices=devices)
            parts = [len(part) for part in torch.zeros(batch).chunk(devices)]
            assert shares(config) == parts + [0] * (devices - len(parts))
            assert len(set(shares(dataclasses.replace(config, way="DDP")))) == 1


def test_the_table_has_a_row_for_each_combination():
    table = fits_table(start=base(card=0.01), lengths=(16, 32))
    assert len({row.config for row in table}) == len(table) == 16
    for row in table:
        assert row.config.batch == max(1, row.batch)
        assert row.limit.config.batch == row.batch + 1 and not row.limit.fits


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "BERT"}, "known are"),
        ({"way": "FSDP"}, "known are"),
        ({"devices": 0}, "at least 1"),
        ({"length": 600}, "reads at most 512 words"),
    ],
)
def test_what_makes_no_sense_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        Config(**change)


def test_changes_are_quick_once_a_model_is_known():
    account(Config())
    began = time.perf_counter()
    for batch in range(1, 100):
        account(Config(batch=batch, devices=1 + batch % 8 or 2, card=8 + batch))
    assert time.perf_counter() - began < 5
