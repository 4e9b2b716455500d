"""Tensors on virtual GPUs behave as tensors on CUDA devices do, errors included."""

from __future__ import annotations

import copy
import io
import multiprocessing
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.virtual import gpus, ledger, transfers


@pytest.fixture
def devices():
    with gpus(4, "1 MiB") as machine:
        yield machine


MIXED = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"


def test_a_device_is_torchs_own(devices):
    assert list(devices) == [torch.device(f"vgpu:{i}") for i in range(4)]
    x = torch.ones(3).to("vgpu:1")
    assert x.device == devices[1]
    assert (x.device.type, x.device.index, x.get_device(), x.is_cpu) == ("vgpu", 1, 1, False)
    assert str(x) == "tensor([1., 1., 1.], device='vgpu:1')"
    assert str(nn.Parameter(x)) == (
        "Parameter containing:\ntensor([1., 1., 1.], device='vgpu:1', requires_grad=True)"
    )
    assert f"{x.sum():.2f}" == "3.00"


@pytest.mark.parametrize(
    "make",
    [
        lambda **d: torch.empty(3, **d).fill_(1),
        lambda **d: torch.empty_strided((2, 3), (3, 1), **d).fill_(1),
        lambda **d: torch.zeros(2, 3, **d),
        lambda **d: torch.ones(5, dtype=torch.int16, **d),
        lambda **d: torch.full((2,), 3.5, **d),
        lambda **d: torch.arange(5, **d),
        lambda **d: torch.arange(6.0, **d),
        lambda **d: torch.arange(1, 9, 2, **d),
        lambda **d: torch.linspace(0, 1, 7, **d),
        lambda **d: torch.logspace(0, 1, 7, **d),
        lambda **d: torch.eye(3, **d),
        lambda **d: torch.eye(3, 4, **d),
        lambda **d: torch.randn(4, **d),
        lambda **d: torch.rand(4, dtype=torch.float64, **d),
        lambda **d: torch.normal(0.0, 2.0, (4,), **d),
        lambda **d: torch.randint(9, (4,), **d),
        lambda **d: torch.randint(3, 9, (4,), **d),
        lambda **d: torch.randperm(9, **d),
        lambda **d: torch.tril_indices(3, 3, **d),
        lambda **d: torch.triu_indices(3, 4, **d),
        lambda **d: torch.hann_window(6, **d),
        lambda **d: torch.hamming_window(6, **d),
        lambda **d: torch.bartlett_window(6, **d),
        lambda **d: torch.blackman_window(6, **d),
        lambda **d: torch.fft.fftfreq(6, **d),
        lambda **d: torch.tensor([1.5, 2.5], **d),
        lambda **d: torch.tensor(2.5, **d),
        lambda **d: torch.scalar_tensor(2.5, **d),
        lambda **d: torch.asarray([1.5, 2.5], **d),
        lambda **d: torch.as_tensor(np.arange(3), **d),
        lambda **d: torch.zeros_like(torch.ones(2), **d),
        lambda **d: torch.ones_like(torch.zeros(2), **d),
        lambda **d: torch.full_like(torch.zeros(2), 3.5, **d),
        lambda **d: torch.rand_like(torch.zeros(2), **d),
        lambda **d: torch.randn_like(torch.zeros(2), **d),
        lambda **d: torch.randint_like(torch.zeros(2), 9, **d),
        lambda **d: torch.ones(2).new_zeros(3, **d),
        lambda **d: torch.ones(2).new_full((2,), 7.0, **d),
        lambda **d: torch.ones(2).new_tensor([7.0], **d),
    ],
)
def test_factories_give_the_cpus_numbers_on_the_device_and_are_counted(devices, make):
    torch.manual_seed(0)
    expected = make(device="cpu")
    torch.manual_seed(0)
    made = make(device="vgpu:2")
    assert made.device == devices[2]
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    assert made.stride() == expected.stride()
    assert torch.equal(made.cpu(), expected)
    assert ledger(made.device).current == expected.untyped_storage().nbytes()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.zeros_like(x),
        lambda x: torch.empty_like(x),
        lambda x: torch.full_like(x, 3.5),
        lambda x: torch.randn_like(x),
        lambda x: x.new_zeros(6),
        lambda x: x.new_empty((2, 3)),
        lambda x: x.new_tensor([1.0] * 6),
        lambda x: torch.add(x, 1, out=torch.empty(0, device=x.device)),
    ],
)
def test_what_is_made_like_another_is_counted_beside_it(devices, make):
    x = torch.ones(6, device=devices[1])
    made = make(x)
    assert (made.device, made.numel()) == (devices[1], 6)
    assert ledger(1).current == 2 * 24


def test_what_is_made_without_numbers_is_counted():
    with gpus(2, "1 KiB", compute=False):
        made = torch.arange(6.0, device="vgpu:1")
        assert made.shape == (6,)
        assert ledger(1).current == 24
        with pytest.raises(torch.OutOfMemoryError):
            torch.arange(1000, device="vgpu:1")
        assert ledger(1).current == 24


def test_a_device_may_be_the_default(devices):
    with torch.device("vgpu:3"):
        assert nn.Linear(2, 2).weight.device == devices[3]
    assert torch.ones(1, device="vgpu:3").new_tensor([1]).device == devices[3]


def test_there_are_as_many_devices_as_were_asked_for(devices):
    with pytest.raises(RuntimeError, match="invalid device ordinal: there is no vgpu:4"):
        torch.ones(1, device="vgpu:4")
    with pytest.raises(RuntimeError, match="no vgpu:7"):
        torch.ones(1, device="vgpu:1").to("vgpu:7")


@pytest.mark.parametrize("other", ["vgpu:2", "cpu"])
def test_devices_do_not_mix(devices, other):
    x, y = torch.ones(2, 2, device="vgpu:1"), torch.ones(2, 2, device=other)
    for mix in (lambda: x + y, lambda: x @ y, lambda: torch.cat([x, y]), lambda: F.linear(x, y)):
        with pytest.raises(RuntimeError) as error:
            mix()
        assert str(error.value) == MIXED.format("vgpu:1", other)


def test_what_cuda_lets_join_from_the_cpu_may_join(devices):
    x = torch.arange(6.0, device="vgpu:1").reshape(3, 2)
    assert (x * torch.tensor(2.0)).sum().item() == 30
    assert x[torch.tensor([2, 0])].tolist() == [[4, 5], [0, 1]]


def test_numbers_must_be_copied_to_the_cpu_first(devices):
    x = torch.ones(2, device="vgpu:1")
    for read in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(TypeError, match="can't convert vgpu:1 device type tensor to numpy"):
            read()
    assert x.cpu().numpy().tolist() == [1, 1]
    assert x.tolist() == [1, 1]


def test_a_transfer_is_differentiable_there_and_back(devices):
    x = torch.arange(3.0, requires_grad=True)
    y = (x.to("vgpu:1") * 2).to("vgpu:2").square().sum().cpu()
    y.backward()
    assert type(x.grad) is torch.Tensor
    assert x.grad.tolist() == [0, 8, 16]
    ways = [(str(t.source), str(t.target)) for t in transfers() if t.bytes == 12]
    there = [("cpu", "vgpu:1"), ("vgpu:1", "vgpu:2")]
    assert ways == [*there, *((b, a) for a, b in reversed(there))]


def test_a_view_shares_its_bytes_and_a_copy_does_not(devices):
    x = torch.zeros(4, 8, device="vgpu:0")
    views = [x.view(-1), x[1:], x.T, x.reshape(2, 16), x.chunk(2)[1], x.detach(), x.data, x[0]]
    assert ledger(0).current == 128
    views[1][0, 0] = 5
    assert x[1, 0].item() == 5
    assert views[2].data_ptr() == x.data_ptr()
    del x
    assert ledger(0).current == 128  # the views keep it
    contiguous = views[2].contiguous()
    assert ledger(0).current == 256
    del views, contiguous
    assert ledger(0).current == 0


def test_in_place_operations_make_nothing_new(devices):
    x = torch.ones(8, device="vgpu:0")
    same = x
    x += 1
    x.mul_(3).clamp_(max=5)
    x[2:4] = 0
    x[torch.tensor([7])] = 9.0
    torch.add(x, 1, out=x)
    assert x is same
    assert x.tolist() == [6, 6, 1, 1, 6, 6, 6, 10]
    assert ledger(0).peak < 3 * 32
    x = torch.zeros(2, 3, device="vgpu:0")
    assert x.t_().shape == (3, 2)
    assert x.unsqueeze_(0).shape == (1, 3, 2)
    assert (x + 1).shape == (1, 3, 2)


def test_data_may_be_replaced(devices):
    p = nn.Parameter(torch.zeros(2, device="vgpu:0"))
    p.data = torch.ones(3, device="vgpu:1")
    assert p.tolist() == [1, 1, 1]
    assert (ledger(0).current, ledger(1).by_kind["parameters"]) == (0, 12)
    with pytest.raises(RuntimeError, match="same device"):
        p.data = torch.ones(3)


@pytest.mark.parametrize("path", [["vgpu:1"], ["vgpu:1", "vgpu:2"], ["vgpu:1", "cpu", "vgpu:2"]])
def test_a_moved_module_keeps_its_parameters(devices, path):
    """So an optimizer made before the move, or between two, still trains the module."""
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = list(model.parameters())
    model(torch.randn(2, 3)).sum().backward()
    for device in path:
        assert model.to(device) is model
    assert all(a is b for a, b in zip(before, model.parameters()))
    tensors = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())]
    assert {str(t.device) for t in tensors} == {path[-1]}
    assert all(isinstance(p, nn.Parameter) and p.is_leaf for p in before)
    old = model[0].weight.detach().clone()
    optimizer.step()
    assert torch.equal(model[0].weight, old - model[0].weight.grad)


def test_tied_parameters_stay_tied(devices):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    model.to("vgpu:1")
    assert model[1].weight is model[0].weight
    twin = copy.deepcopy(model)
    assert twin[1].weight is twin[0].weight
    assert twin[0].weight.device == devices[1]
    assert isinstance(twin[0].weight, nn.Parameter)


def test_a_state_is_saved_as_cpu_tensors(devices):
    model = nn.Linear(2, 2).to("vgpu:1")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert {type(t) for t in state.values()} == {torch.Tensor}
    other = nn.Linear(2, 2).to("vgpu:3")
    other.load_state_dict(state)
    assert torch.equal(other.weight.cpu(), model.weight.cpu())


def test_backward_works_in_any_thread_and_after_a_backward_on_the_cpu(devices):
    torch.ones(1, requires_grad=True).sum().backward()  # torch starts its threads now
    grads = {}

    def work(device: torch.device) -> None:
        x = torch.ones(2, device=device, requires_grad=True)
        x.square().sum().backward()
        grads[device] = x.grad.tolist()

    threads = [threading.Thread(target=work, args=(d,)) for d in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert grads == {d: [2, 2] for d in devices}


def test_gradients_from_many_devices_are_added_in_one_order(devices):
    """The last bit of a sum depends on the order, and real GPUs' threads race here."""
    torch.manual_seed(0)
    x = torch.randn(64, requires_grad=True)
    weights = [torch.randn(64) for _ in range(4)]

    def gradient(home: str) -> torch.Tensor:
        leaf = x.detach().to(home).requires_grad_()
        where = devices if home != "cpu" else ["cpu"] * 4
        parts = [(leaf.to(d) * w.to(d)).sum().to(home) for d, w in zip(where, weights)]
        sum(parts).backward()
        return leaf.grad.cpu()

    assert all(torch.equal(gradient("vgpu:0"), gradient("cpu")) for _ in range(20))


def test_autocast_computes_in_the_lower_precision(devices):
    linear, norm = nn.Linear(4, 8).to("vgpu:0"), nn.LayerNorm(8).to("vgpu:0")
    x = torch.randn(3, 4, device="vgpu:0")
    with torch.autocast("vgpu", dtype=torch.bfloat16):
        hidden = linear(x)
        assert hidden.dtype == torch.bfloat16
        assert F.gelu(hidden).dtype == torch.bfloat16
        assert norm(hidden).dtype == hidden.softmax(-1).dtype == torch.float32
        assert torch.cat([norm(hidden), hidden]).dtype == torch.float32
        assert torch.cat([hidden, norm(hidden)]).dtype == torch.float32
        norm(hidden).sum().backward()
    assert linear.weight.grad.dtype == torch.float32
    low = [t.to(torch.bfloat16) for t in (x, linear.weight, linear.bias)]
    assert torch.equal(hidden, F.linear(*low))
    assert linear(x).dtype == torch.float32


def test_checkpointing_recomputes_the_same(devices):
    model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 4))
    model.to("vgpu:0")
    x = torch.randn(8, 4, device="vgpu:0")

    def gradient(run) -> torch.Tensor:
        torch.manual_seed(0)
        model.zero_grad()
        run(x).sum().backward()
        return model[0].weight.grad.cpu()

    again = gradient(lambda x: torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False))
    assert torch.equal(again, gradient(model))


@pytest.mark.parametrize(
    "unsupported",
    [
        lambda d: nn.Embedding(5, 3, sparse=True, device=d)(torch.tensor([1], device=d)),
        lambda d: nn.LSTM(3, 4, device=d)(torch.ones(2, 3, 3, device=d)),
        lambda d: torch.ones(2, device=d).resize_(3),
    ],
)
def test_what_is_not_supported_says_so(devices, unsupported):
    with pytest.raises(NotImplementedError, match="A virtual GPU has no"):
        unsupported(devices[0])


def test_without_gpus_there_are_none():
    with gpus(1):
        x = torch.ones(2, device="vgpu:0")
        with gpus(2, "1 KiB") as inner:
            assert len(inner) == torch.vgpu.device_count() == 2
        assert torch.vgpu.device_count() == 1  # the one around is on again
    assert not torch.vgpu.is_available()
    assert (x + 1).tolist() == [2, 2]  # what is alive lives on
    with pytest.raises(RuntimeError, match="call course.virtual.gpus"):
        torch.ones(2, device="vgpu:0")


def test_without_a_with_block_gpus_stay_until_the_next_call():
    with gpus(1):
        gpus(2)
        gpus(3)
        assert torch.vgpu.device_count() == 3
    assert not torch.vgpu.is_available()


@pytest.mark.parametrize("memory", ["16 gigs", "", "0", "-1 GiB", "GiB", "1.2.3 MB"])
def test_a_size_that_is_none_is_refused(memory):
    with pytest.raises(ValueError):
        gpus(1, memory)


def _step_in_a_fork() -> None:
    with gpus(1):
        x = torch.ones(2, device="vgpu:0", requires_grad=True)
        x.square().sum().backward()
        assert x.grad.tolist() == [2, 2]


def test_a_forked_process_goes_on_with_them(devices):
    x = torch.ones(2, device="vgpu:0", requires_grad=True)
    x.square().sum().backward()
    child = multiprocessing.get_context("fork").Process(target=_step_in_a_fork)
    child.start()
    child.join(30)
    assert child.exitcode == 0
