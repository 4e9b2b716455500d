"""The ledger: what is counted as what, when it comes and goes, and where it ends."""

from __future__ import annotations

import gc
import sys
import threading
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.virtual import KINDS, gpus, holding, ledger, memory_by_kind, reset, transfers
from course.virtual.memory import Ledger
from tests.virtual.walk import bytes_by_walk

WIDTH, BATCH = 32, 8
WEIGHTS = 4 * WIDTH * WIDTH  # bytes of one layer without bias, and of its gradient
ACTIVATION = 4 * BATCH * WIDTH


@pytest.fixture
def device():
    with gpus(2, "1 MiB") as machine:
        yield machine[0]


def held(device: torch.device | int = 0) -> dict[str, int]:
    return {kind: size for kind, size in ledger(device).by_kind.items() if size}


class Layers(nn.Module):
    """Two layers with a ReLU between: it keeps one activation, the ReLU's output."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH, bias=False)
        self.second = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x)))


def test_every_kind_has_its_bytes_at_each_stage_of_a_step(device):
    model = Layers().to(device)
    assert held() == {"parameters": 2 * WEIGHTS}
    x = torch.randn(BATCH, WIDTH).to(device)
    assert held() == {"parameters": 2 * WEIGHTS, "others": ACTIVATION}
    y = model(x)
    after_forward = {
        "parameters": 2 * WEIGHTS,
        "others": ACTIVATION,
        "activations": ACTIVATION,
        "outputs": ACTIVATION,
    }
    assert held() == after_forward
    loss = y.square().mean()  # keeps y, and is 4 bytes itself
    assert held() == {**after_forward, "outputs": ACTIVATION + 4}
    loss.backward()
    del y, loss
    after_backward = {"parameters": 2 * WEIGHTS, "gradients": 2 * WEIGHTS, "others": ACTIVATION}
    assert held() == after_backward
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.step()
    assert held() == {**after_backward, "optimizer state": 4 * WEIGHTS}
    optimizer.zero_grad()
    del x
    assert held() == {"parameters": 2 * WEIGHTS, "optimizer state": 4 * WEIGHTS}
    peak = ledger(0).peak_by_kind
    assert ledger(0).peak == sum(peak.values()) >= 8 * WEIGHTS
    assert held(1) == {}
    assert memory_by_kind()[device] == ledger(0).by_kind
    assert memory_by_kind(peak=True)[device] == peak
    assert tuple(peak) == KINDS


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [
        (lambda p: torch.optim.SGD(p, lr=0.1), 0),
        (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 1),
        (torch.optim.Adam, 2),
    ],
)
def test_an_optimizer_keeps_its_state_where_the_parameter_is(device, optimizer, copies):
    model = Layers().to("vgpu:1")
    model(torch.ones(1, WIDTH, device="vgpu:1")).sum().backward()
    optimizer(model.parameters()).step()
    assert ledger(1).by_kind["optimizer state"] == 0  # the optimizer is gone, and its state
    kept = optimizer(model.parameters())
    kept.step()
    assert ledger(1).by_kind["optimizer state"] == copies * 2 * WEIGHTS
    assert ledger(0).peak == 0


def test_without_grad_activations_go_at_once(device):
    model = Layers().to(device)
    x = torch.ones(BATCH, WIDTH, device=device)
    with torch.no_grad():
        y = model(x)
    assert held()["outputs"] == y.nbytes
    assert "activations" not in held()


def test_what_the_loss_keeps_belongs_to_the_outputs(device):
    model = Layers().to(device)
    target = torch.zeros(BATCH, dtype=torch.long, device=device)
    x = torch.ones(BATCH, WIDTH, device=device)
    for loss_of in (F.cross_entropy, nn.CrossEntropyLoss()):
        loss = loss_of(model(x), target)
        # Its log-softmax is as large as the model's output, of which autograd keeps nothing.
        assert held()["activations"] == ACTIVATION
        assert ACTIVATION < held()["outputs"] <= 2 * ACTIVATION + 8
        del loss


def test_a_copy_is_on_its_device_what_its_original_is(device):
    weight = nn.Parameter(torch.ones(4, device=device))
    replica = weight.to("vgpu:1")
    assert held(1) == {"parameters": 16}
    weight.grad = torch.ones(4, device=device)
    assert held() == {"parameters": 16, "gradients": 16}
    del replica
    gradient = weight.grad.to("vgpu:1")
    assert held(1) == {"gradients": 16}
    assert [(t.kind, t.bytes) for t in transfers()] == [("parameters", 16), ("gradients", 16)]
    del gradient


def test_one_may_say_what_is_held(device):
    with holding("activations"):
        x = torch.ones(4, device=device)
    assert held() == {"activations": 16}
    with pytest.raises(ValueError, match="'batch' is none of parameters"):
        with holding("batch"):
            pass
    del x


def test_memory_ends_in_torchs_words_and_numbers():
    with gpus(2, "16 GiB", compute=False):
        held = torch.empty(14 * 2**30 + 2**29, dtype=torch.uint8, device="vgpu:1")
        with pytest.raises(torch.OutOfMemoryError) as error:
            torch.empty(2**29, device="vgpu:1")
        assert str(error.value) == (
            "vgpu out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of "
            "16.00 GiB of which 1.50 GiB is free. Including non-PyTorch memory, this process "
            "has 14.50 GiB memory in use. Of the allocated memory 14.50 GiB is allocated by "
            "PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
        )
        assert ledger(1).current == ledger(1).peak == held.nbytes
        torch.empty(2**29, device="vgpu:0")  # the other one is empty


def test_after_running_out_of_memory_one_can_go_on(device):
    model = Layers().to(device)
    model(torch.ones(1, WIDTH, device=device)).sum().backward()
    fill = torch.empty(2**20 - ledger(0).current - WEIGHTS, dtype=torch.uint8, device=device)
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(torch.OutOfMemoryError):
        optimizer.step()
    del fill, optimizer
    with pytest.raises(torch.OutOfMemoryError):
        model(torch.ones(4096, WIDTH, device=device))
    model.zero_grad()
    assert held() == {"parameters": 2 * WEIGHTS}
    x = torch.ones(1, WIDTH, device=device)
    assert held()["others"] == x.nbytes  # neither in a step nor in a forward any more


def test_after_a_step_that_failed_a_forward_is_a_forward(device):
    def closure() -> float:
        raise ValueError

    model = Layers().to(device)
    with pytest.raises(ValueError):
        torch.optim.SGD(model.parameters(), lr=0.1).step(closure)
    model(torch.ones(BATCH, WIDTH, device=device)).sum()
    x = torch.ones(4, device=device)
    assert held()["others"] == x.nbytes


def test_the_full_memory_can_be_used_and_not_one_byte_more(device):
    x = torch.empty(2**20, dtype=torch.uint8, device=device)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1, dtype=torch.uint8, device=device)
    del x
    torch.empty(2**20, dtype=torch.uint8, device=device)


def test_blocks_are_rounded_as_cudas_allocator_does():
    with gpus(1, rounding=512):
        tensors = [torch.ones(n, dtype=torch.uint8, device="vgpu:0") for n in (1, 512, 513)]
        assert ledger(0).current == 512 + 512 + 1024
        assert torch.vgpu.memory_allocated() == torch.vgpu.max_memory_allocated("vgpu:0") == 2048
        del tensors
        assert ledger(0).current == 0


def test_the_timeline_leads_from_nothing_to_now_by_way_of_the_peak(device):
    began = time.perf_counter()
    model = Layers().to(device)
    model(torch.ones(BATCH, WIDTH, device=device)).sum().backward()
    moments = ledger(0).timeline()
    assert moments[-1].by_kind == ledger(0).by_kind
    assert max(m.bytes for m in moments) == ledger(0).peak
    assert moments[0].bytes == WEIGHTS
    assert all(size >= 0 for m in moments for size in m.by_kind.values())
    seconds = [m.seconds for m in moments]
    assert began < seconds[0] and seconds == sorted(seconds) and seconds[-1] < time.perf_counter()


def test_a_long_timeline_loses_its_beginning_and_nothing_else(device, monkeypatch):
    monkeypatch.setattr("course.virtual.memory.MOST_EVENTS", 10)
    one = Ledger(ledger(0).machine, device, 2**20)
    kept = [one.allocate(100, "others", 0) for _ in range(50)]
    moments = one.timeline()
    assert [m.bytes for m in moments] == [100 * n for n in range(41, 51)]
    assert len(kept) == 50


def test_reset_begins_anew_from_what_is_held(device):
    x = torch.ones(10, device=device)
    torch.ones(1000, device=device).cpu()
    assert ledger(0).peak == 4040
    reset()
    assert (ledger(0).peak, ledger(0).current) == (40, 40)
    assert (ledger(0).timeline(), transfers()) == ([], [])
    assert x.tolist() == [1] * 10
    assert ledger(0).peak_by_kind["others"] == 40


def test_every_transfer_is_noted_with_its_bytes(device):
    x = torch.ones(4).to(device)
    y = x.to("vgpu:1", torch.float64)
    y.cpu()
    x.copy_(torch.zeros(4))
    x.copy_(y)
    x.sum().item()
    x.to(device)  # moves nothing
    names = [(str(t.source), str(t.target), t.bytes) for t in transfers()]
    assert names == [
        ("cpu", "vgpu:0", 16),
        ("vgpu:0", "vgpu:1", 32),
        ("vgpu:1", "cpu", 32),
        ("cpu", "vgpu:0", 16),
        ("vgpu:1", "vgpu:0", 32),
        ("vgpu:0", "cpu", 4),
    ]


def test_threads_that_allocate_at_once_lose_no_byte(device):
    kept: list[list[torch.Tensor]] = [[] for _ in range(4)]

    def work(mine: list[torch.Tensor]) -> None:
        for n in range(200):
            x = torch.ones(n % 7 + 1, device=device)
            if n % 5 == 0:
                mine.append(x)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(mine,)) for mine in kept]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    expected = sum(x.nbytes for mine in kept for x in mine)
    assert ledger(0).current == bytes_by_walk(device) == expected


def test_a_model_in_a_cycle_is_counted_until_it_is_collected(device):
    import gc

    model = Layers().to(device)
    model.myself = [model]
    assert ledger(0).current == 2 * WEIGHTS
    del model
    gc.collect()
    assert ledger(0).current == 0


@pytest.mark.parametrize("compute", [True, False])
def test_memory_that_runs_out_in_backward_is_an_error_like_any_other(compute):
    with gpus(1, 170_000, compute=compute) as machine:
        w = torch.ones(100, 100, device=machine[0], requires_grad=True)
        y = (w @ torch.ones(100, 100, device=machine[0])).tanh()
        with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 39.06 KiB") as error:
            y.sum().backward()
        assert ledger(0).peak <= 170_000
        del w, y, error
        gc.collect()
        assert ledger(0).current == 0
        x = torch.ones(3, device=machine[0], requires_grad=True)
        x.sum().backward()  # and the next one is not told again
        assert x.grad is not None
