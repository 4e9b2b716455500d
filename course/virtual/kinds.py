"""What a block of memory is for: told from what the program is doing when it is allocated.

torch calls a hook when a module's forward begins and ends, and when an optimizer steps. So:

- inside ``Optimizer.step()`` everything is optimizer state (what it frees again, too);
- inside a module's forward, activations; what the outermost module returns, outputs;
- while ``backward()`` runs, gradients: of activations for a moment, of parameters to stay;
- a copy on another device is what its original is;
- what is computed outside of modules from outputs is outputs (the loss and what it keeps),
  from gradients, gradients; anything else that autograd will need, activations;
- a ``Parameter`` is known by its class, and what is assigned to ``.grad`` by that;
- the rest is others: the batch, buffers, what is computed under ``no_grad``.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.modules import module as hooks
from torch.nn.modules.loss import _Loss
from torch.optim import optimizer

from course.virtual.memory import ACTIVATIONS, GRADIENTS, KINDS, OPTIMIZER_STATE, OTHERS, OUTPUTS


class _Doing(threading.local):
    """What this thread is doing."""

    depth = 0  # of modules in whose forward it is
    stepping = False
    told: str | None = None  # by ``holding``


_doing = _Doing()
_watching: list[Any] = []  # handles of the hooks


def of_result(arguments: Sequence[Any]) -> str:
    """The kind of a new tensor, computed on its device from ``arguments`` (virtual tensors)."""
    if _doing.told is not None:
        return _doing.told
    if _doing.stepping:
        return OPTIMIZER_STATE
    if _doing.depth:
        return ACTIVATIONS
    if torch._C._current_autograd_node() is not None:
        return GRADIENTS
    kinds = [tensor.block.kind for tensor in arguments]
    for kind in (OUTPUTS, GRADIENTS):
        if kind in kinds:
            return kind
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in arguments):
        return ACTIVATIONS
    return OTHERS


def of_copy(original: str) -> str:
    """The kind of a copy on another device."""
    if _doing.told is not None:
        return _doing.told
    if not _doing.depth and torch._C._current_autograd_node() is not None:
        return GRADIENTS
    return original


@contextlib.contextmanager
def holding(kind: str) -> Iterator[None]:
    """What this thread allocates inside is of this kind, whatever it is doing."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is none of {', '.join(KINDS)}.")
    before, _doing.told = _doing.told, kind
    try:
        yield
    finally:
        _doing.told = before


def failed() -> None:
    """A step that runs out of memory never reaches the hook at its end."""
    _doing.stepping = False


def watch(relabel_outputs: Callable[[Any], None]) -> None:
    """Begin to follow modules and optimizers; ``relabel_outputs`` gets what a model returned."""
    if _watching:
        return

    def enter(module: torch.nn.Module, inputs: Any) -> None:
        if isinstance(module, _Loss):  # no model, and what it keeps belongs to the outputs
            return
        if _doing.depth == 0:
            _doing.stepping = False
        _doing.depth += 1

    def leave(module: torch.nn.Module, inputs: Any, outputs: Any) -> None:
        if isinstance(module, _Loss):
            return
        _doing.depth = max(0, _doing.depth - 1)
        if _doing.depth == 0:
            relabel_outputs(outputs)

    def step(on: bool) -> Callable[..., None]:
        def hook(*ignored: Any) -> None:
            _doing.stepping = on

        return hook

    _watching.extend(
        [
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave, always_call=True),
            optimizer.register_optimizer_step_pre_hook(step(True)),
            optimizer.register_optimizer_step_post_hook(step(False)),
        ]
    )


def stop_watching() -> None:
    while _watching:
        _watching.pop().remove()
    _doing.depth, _doing.stepping = 0, False
