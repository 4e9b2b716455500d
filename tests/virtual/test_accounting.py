"""compute=False: the same ledger without any number, for models of any size."""

from __future__ import annotations

import resource
import sys
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.virtual import gpus, ledger, memory_by_kind, reset, transfers

GIB = 2**30


class Bert(nn.Module):
    """BERT: embeddings, encoder, and the words predicted with the embedding's weights."""

    def __init__(self, words: int, width: int, layers: int, heads: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.1, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.predict = nn.Linear(width, words)
        self.predict.weight = self.words.weight

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        places = torch.arange(text.shape[1], device=text.device)
        return self.predict(self.encoder(self.words(text) + self.places(places)))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, text: torch.Tensor) -> None:
    optimizer.zero_grad()
    words = model(text)
    F.cross_entropy(words.flatten(0, 1), text.flatten()).backward()
    optimizer.step()


SMALL = (100, 32, 2, 4, 16)


def account(compute: bool, parallel: bool, autocast: bool) -> tuple[dict, list]:
    with gpus(3, rounding=512, compute=compute) as devices:
        with torch.device(devices[0]):
            model: nn.Module = Bert(*SMALL)
        if parallel:
            model = nn.DataParallel(model)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            reset()
            text = torch.zeros(6, 16, dtype=torch.long, device=devices[0])
            with torch.autocast("vgpu", dtype=torch.bfloat16, enabled=autocast):
                train(model, optimizer, text)
        moved = [(t.source, t.target, t.bytes, t.kind) for t in transfers()]
        return {**memory_by_kind(peak=True), "now": memory_by_kind()}, sorted(moved, key=str)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_it_counts_what_computing_counts(parallel, autocast):
    computed, moved = account(True, parallel, autocast)
    accounted, moves = account(False, parallel, autocast)
    assert accounted["now"] == computed["now"]
    assert moves == moved
    for device in accounted:
        mine, theirs = (sum_of(found[device]) for found in (accounted, computed))
        # Threads interleave differently, and a sum's peak is where they happened to be.
        assert mine == theirs if not parallel else abs(mine / theirs - 1) < 0.05


def sum_of(found: dict) -> int:
    return sum(sum_of(v) if isinstance(v, dict) else v for v in found.values())


def resident() -> int:
    """Most bytes of memory that this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def test_bert_large_with_adam_on_four_devices_takes_seconds_and_few_megabytes():
    account(False, True, False)  # what torch imports once, for meta tensors
    before, began = resident(), time.perf_counter()
    with gpus(4, "16 GiB", compute=False) as devices:
        with torch.device(devices[0]):
            model = Bert(30522, 1024, 24, 16, 512)
        count = sum(p.numel() for p in model.parameters())
        assert 330e6 < count < 345e6
        parallel = nn.DataParallel(model)
        optimizer = torch.optim.Adam(model.parameters())
        train(parallel, optimizer, torch.zeros(8, 512, dtype=torch.long, device=devices[0]))
        home, *others = (ledger(d).by_kind for d in devices)
        assert home["parameters"] == home["gradients"] == 4 * count
        assert home["optimizer state"] == 8 * count
        assert sum(sum(other.values()) for other in others) == 0
        assert ledger(0).peak > ledger(1).peak > 4 * count
        with pytest.raises(torch.OutOfMemoryError, match="GPU 0 has a total capacity of 16.00 GiB"):
            train(parallel, optimizer, torch.zeros(64, 512, dtype=torch.long, device=devices[0]))
    assert resident() - before < 64e6
    assert time.perf_counter() - began < 60


@pytest.mark.parametrize(
    "read", [lambda x: x.cpu(), lambda x: x.item(), lambda x: x.tolist(), float, bool]
)
def test_what_asks_for_a_number_is_told_that_there_is_none(read):
    with gpus(1, compute=False):
        x = torch.ones((), device="vgpu:0")
        with pytest.raises(RuntimeError, match=r"only accounts \(compute=False\)"):
            read(x)
        with pytest.raises(RuntimeError, match="no numbers"):
            torch.ones(()).copy_(x)
        assert str(x) == "tensor(..., size=(), device='vgpu:0')"


def test_a_batch_from_the_cpu_is_a_transfer_like_any_other():
    with gpus(2, compute=False):
        x = torch.ones(1000).to("vgpu:0").to("vgpu:1")
        assert x.device == torch.device("vgpu:1")
        assert [t.bytes for t in transfers()] == [4000, 4000]
        assert (ledger(0).current, ledger(1).current) == (0, 4000)


@pytest.mark.parametrize("question", [1, 1.0, True])
def test_an_answer_is_kept_for_its_own_question_only(question):
    """1, 1.0 and True are equal, and x * 1.0 is no int."""
    with gpus(1, compute=False):
        x = torch.ones(3, dtype=torch.long, device="vgpu:0")
        expected = (torch.ones(3, dtype=torch.long) * question).dtype
        for other in (1, 1.0, True):
            x * other
        assert (x * question).dtype == expected
        assert (x.view(3, 1) * x).shape == (3, 3)
        assert (x.view(1, 3) * x).shape == (1, 3)
        square = torch.ones(3, 3, device="vgpu:0")
        assert (square * question).stride() == (3, 1)
        assert (square.t() * question).stride() == (1, 3)
