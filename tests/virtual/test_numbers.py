"""Any small model with any optimizer: the same numbers on a virtual GPU as on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course.virtual import gpus, ledger
from tests.virtual.walk import bytes_by_walk

WIDTH = 8


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.relu(self.inner(x), inplace=True)


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv1d(1, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool1d(self.inner(x.unsqueeze(1)).flatten(1), 3)


class Attention(nn.Module):
    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(4, 2, 8, dropout=p, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.view(-1, 2, 4)).view(x.shape)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "no bias": lambda: nn.Linear(WIDTH, WIDTH, bias=False),
    "residual": Residual,
    "convolution": Convolution,
    "attention": Attention,
    "attention with dropout": lambda: Attention(0.3),
    "batch norm": lambda: nn.BatchNorm1d(WIDTH),
    "layer norm": lambda: nn.LayerNorm(WIDTH),
    "dropout": lambda: nn.Dropout(0.4),
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "softmax": lambda: nn.Softmax(-1),
    "parametric relu": nn.PReLU,
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "Adam, foreach": lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}
LOSSES = {
    "mse": lambda y: y.square().mean(),
    "entropy": lambda y: F.cross_entropy(y, torch.arange(len(y), device=y.device) % WIDTH),
    "smooth": lambda y: F.smooth_l1_loss(y, torch.ones_like(y), reduction="sum"),
}

programs = st.fixed_dictionaries(
    {
        "layers": st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=5),
        "optimizer": st.sampled_from(sorted(OPTIMIZERS)),
        "loss": st.sampled_from(sorted(LOSSES)),
        "batch": st.integers(2, 9),
        "frozen": st.booleans(),
        "clip": st.booleans(),
        "seed": st.integers(0, 2**31),
    }
)


def train(program: dict, device: str, after_step: Callable[[], None]) -> list[torch.Tensor]:
    """Losses of three steps, then all gradients and the state of model and optimizer."""
    torch.manual_seed(program["seed"])
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), *(LAYERS[name]() for name in program["layers"]))
    batches = [torch.randn(program["batch"], WIDTH) for _ in range(3)]
    model[0].bias.requires_grad_(not program["frozen"])
    model.to(device)
    optimizer = OPTIMIZERS[program["optimizer"]](model.parameters())
    found = []
    for batch in batches:
        optimizer.zero_grad()
        loss = LOSSES[program["loss"]](model(batch.to(device)))
        loss.backward()
        if program["clip"]:
            found.append(nn.utils.clip_grad_norm_(model.parameters(), 0.1))
        optimizer.step()
        found.append(loss.detach())
        after_step()
    found += [p.grad for p in model.parameters() if p.grad is not None]
    found += [p.detach() for p in model.parameters()] + list(model.buffers())
    for state in optimizer.state.values():
        found += [t for t in state.values() if isinstance(t, torch.Tensor)]
    return [t.cpu() for t in found]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(programs)
def test_training_gives_the_cpus_numbers_and_the_ledger_is_right_after_each_step(program):
    expected = train(program, "cpu", lambda: None)
    with gpus(2, "10 MiB") as devices:

        def check() -> None:
            assert ledger(1).current == bytes_by_walk(devices[1]) > 0

        got = train(program, "vgpu:1", check)
        assert len(got) == len(expected)
        for mine, theirs in zip(got, expected):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=0, equal_nan=True)
        assert ledger(0).peak == 0


@pytest.mark.parametrize("mask", ["none", "causal", "bool", "float", "dropout"])
@pytest.mark.parametrize("heads", [(2, 2, 8, 16), (1, 3, 5, 7), (4, 6, 8)])
def test_attention_takes_the_cpus_road(mask, heads):
    torch.manual_seed(0)
    q, k, v = (torch.randn(heads) for _ in range(3))
    length = heads[-2]
    options: dict = {
        "none": {},
        "causal": {"is_causal": True},
        "bool": {"attn_mask": torch.ones(length, length, dtype=torch.bool).tril()},
        "float": {"attn_mask": torch.randn(length, length)},
        "dropout": {"dropout_p": 0.5},
    }[mask]

    def run(device: str) -> list[torch.Tensor]:
        torch.manual_seed(1)
        inputs = [t.detach().to(device).requires_grad_() for t in (q, k, v)]
        moved = {n: t.to(device) if isinstance(t, torch.Tensor) else t for n, t in options.items()}
        out = F.scaled_dot_product_attention(*inputs, **moved)
        out.square().sum().backward()
        return [t.detach().cpu() for t in (out, *(i.grad for i in inputs))]

    with gpus(1):
        assert all(torch.equal(a, b) for a, b in zip(run("vgpu:0"), run("cpu")))


OPERATIONS = [
    lambda x: x + 1,
    lambda x: x.view(-1),
    lambda x: x[..., 1:] if x.shape[-1] > 1 else x,
    lambda x: x.mul_(0.5) if not x.requires_grad else x * 0.5,
    lambda x: torch.cat([x, x], -1) if x.numel() < 200 else x.sum(-1, keepdim=True),
    lambda x: x.to("vgpu:1"),
    lambda x: x.to("vgpu:0"),
    lambda x: x.cpu().to(x.device),
    lambda x: x.double() if x.dtype == torch.float32 else x.float(),
    lambda x: x.detach(),
    lambda x: x.T.contiguous() if x.dim() == 2 else x.unsqueeze(0),
    lambda x: x.softmax(-1),
    lambda x: x.sort(-1).values,
    lambda x: torch.zeros_like(x),
    lambda x: copy.deepcopy(x.detach()),
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(range(len(OPERATIONS))), st.booleans()), max_size=12))
def test_at_any_time_the_ledger_is_the_sum_over_live_tensors(program):
    """Each operation on the newest tensor; then the oldest one is dropped, or not."""
    with gpus(2) as devices:
        alive = [torch.randn(3, 4, device="vgpu:0")]
        for number, drop in program:
            alive.append(OPERATIONS[number](alive[-1]))
            if drop:
                alive.pop(0)
            for device in devices:
                assert ledger(device).current == bytes_by_walk(device)
                assert sum(ledger(device).by_kind.values()) == ledger(device).current
                assert ledger(device).peak >= ledger(device).current
        alive.clear()
        assert all(ledger(device).current == 0 for device in devices)
