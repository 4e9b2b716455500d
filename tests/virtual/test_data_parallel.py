"""torch's own nn.DataParallel, unchanged, on virtual GPUs."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch import nn

from course.virtual import gpus, ledger, memory_by_kind, reset, transfers

WIDTH = 16


class Model(nn.Module):
    """A buffer, a frozen parameter, tied parameters, and a counter that replicas lose."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH, bias=False)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.randn(WIDTH), requires_grad=False)
        self.register_buffer("offset", torch.randn(WIDTH))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.second(torch.tanh(self.first(x))) * self.scale + self.offset


@pytest.fixture
def devices():
    with gpus(4, "1 MiB") as machine:
        yield machine


def chunk_by_chunk(model: Model, batch: torch.Tensor, devices: int) -> tuple:
    """What DataParallel computes, on the CPU: gradients of the chunks, added in their order."""
    outputs, gradients = [], []
    for chunk in batch.chunk(devices):
        outputs.append(model(chunk))
        outputs[-1].square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.requires_grad])
        model.zero_grad()
    return torch.cat(outputs), [sum(parts[1:], parts[0]) for parts in zip(*gradients)]


@pytest.mark.parametrize("batch", [16, 9, 10, 3, 1])
@pytest.mark.parametrize("source", ["cpu", "vgpu:0"])
def test_it_computes_what_the_cpu_does_chunk_by_chunk(devices, batch, source):
    torch.manual_seed(0)
    model, x = Model(), torch.randn(batch, WIDTH)
    expected, gradients = chunk_by_chunk(copy.deepcopy(model), x, len(devices))
    parallel = nn.DataParallel(model.to(devices[0]))
    assert parallel.device_ids == [0, 1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output = parallel(x.to(source))
        output.square().sum().backward()
    assert output.device == devices[0]
    assert torch.equal(output.detach().cpu(), expected.detach())
    learned = [p for p in model.parameters() if p.requires_grad]
    assert all(p.grad.device == devices[0] for p in learned)
    for parameter, gradient in zip(learned, gradients):
        assert torch.equal(parameter.grad.cpu(), gradient)
    assert model.calls == 0  # replicas are thrown away (C56)


def test_the_home_device_carries_more(devices):
    model = nn.DataParallel(Model().to(devices[0]))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        reset()
        optimizer.zero_grad()
        loss = model(torch.randn(64, WIDTH, device=devices[0])).square().mean()
        loss.backward()
        optimizer.step()
    peaks = [sum(kinds.values()) for kinds in memory_by_kind(peak=True).values()]
    assert peaks[0] > 2 * peaks[1] and peaks[1] == peaks[2] == peaks[3]
    del loss
    now = [{k for k, size in kinds.items() if size} for kinds in memory_by_kind().values()]
    assert now[0] == {"parameters", "gradients", "optimizer state", "others"}
    assert now[1] == now[2] == now[3] == set()


def test_the_bytes_that_move_are_the_models_and_the_batchs(devices):
    model = Model().to(devices[0])
    batch = torch.randn(8, WIDTH, device=devices[0])
    size = sum(p.nbytes for p in model.parameters())
    offset = model.offset.nbytes
    parallel = nn.DataParallel(model)
    reset()
    output = parallel(batch)
    output.sum().backward()
    chunk = batch.nbytes // 4
    between: dict[tuple[str, str], list[int]] = {}
    for t in transfers():
        between.setdefault((str(t.source), str(t.target)), []).append(t.bytes)
    for other in ("vgpu:1", "vgpu:2", "vgpu:3"):
        out, back = between["vgpu:0", other], between[other, "vgpu:0"]
        # To the replica: its chunk, the parameters, the buffer; the gradient of its output.
        assert sum(out) == chunk + size + offset + chunk
        # Back home: the output, and a gradient for each parameter (a frozen one's is zeros).
        assert sum(back) == chunk + size
    assert all("vgpu:0" in pair for pair in between)


def test_an_error_in_a_replica_names_its_device(devices):
    class Failing(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.device == devices[2]:
                raise ValueError("no")
            return super().forward(x)

    parallel = nn.DataParallel(Failing().to(devices[0]))
    with pytest.raises(ValueError, match="Caught ValueError in replica 2 on device 2"):
        parallel(torch.randn(8, WIDTH))


def test_a_module_elsewhere_is_refused_in_torchs_words(devices):
    parallel = nn.DataParallel(Model().to(devices[1]))
    with pytest.raises(RuntimeError, match=r"on device vgpu:0 \(device_ids\[0\]\) but found one"):
        parallel(torch.randn(8, WIDTH))


def test_scalars_are_gathered_to_a_vector(devices):
    class Loss(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).mean()

    parallel = nn.DataParallel(Loss().to(devices[0]))
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        losses = parallel(torch.randn(8, WIDTH))
    assert losses.shape == (4,)
    losses.mean().backward()


def test_a_replica_that_runs_out_of_memory_says_which(devices):
    filler = torch.empty(2**20 - 5000, dtype=torch.uint8, device=devices[3])
    parallel = nn.DataParallel(nn.Linear(WIDTH, WIDTH).to(devices[0]))
    with pytest.raises(torch.OutOfMemoryError, match="replica 3 on device 3(.|\n)*GPU 3 has a"):
        parallel(torch.randn(200, WIDTH, device=devices[0]))
    del filler


def test_without_virtual_gpus_it_is_as_before():
    with gpus(2):
        pass
    if torch.cuda.device_count() == 0:
        parallel = nn.DataParallel(Model())
        assert parallel.device_ids == []
        assert parallel(torch.ones(2, WIDTH)).device.type == "cpu"


def test_nothing_is_left_on_the_devices_afterwards(devices):
    parallel = nn.DataParallel(Model().to(devices[0]))
    parallel(torch.randn(8, WIDTH)).sum().backward()
    del parallel
    assert [ledger(d).current for d in devices] == [0, 0, 0, 0]


def test_a_machine_with_more_devices_may_follow():
    for count in (2, 5, 3):
        with gpus(count, "1 MiB") as machine:
            parallel = nn.DataParallel(nn.Linear(4, 4).to(machine[0]))
            assert parallel(torch.ones(10, 4)).shape == (10, 4)


@pytest.mark.parametrize("other", ["cuda", "mps"])
def test_virtual_gpus_are_taken_while_they_are_on_whatever_else_there_is(other, monkeypatch):
    monkeypatch.setattr({"cuda": torch.cuda, "mps": torch.backends.mps}[other], "is_available",
                        lambda: True)  # fmt: skip
    with gpus(3, "1 MiB") as machine:
        parallel = nn.DataParallel(nn.Linear(4, 4).to(machine[0]))
        assert parallel.device_ids == [0, 1, 2]
        output = parallel(torch.ones(6, 4, device=machine[0]))
        output.sum().backward()
        assert {t.source for t in transfers()} == {torch.device("cpu"), *machine}
    assert torch._utils._get_available_device_type() == other
