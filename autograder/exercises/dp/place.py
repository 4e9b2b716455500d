"""Where an answer of this lesson runs: several devices in one process, and what it did there."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.parallel import _functions

from autograder.answer import FILE
from course.virtual import gpus, transfers

MEMORY = "64 MiB"  # of each virtual device


@contextlib.contextmanager
def some_gpus(count: int, memory: int | str = MEMORY) -> Iterator[list[torch.device]]:
    """``count`` devices, home first: this machine's GPUs where there are two and enough of them,
    else virtual ones. To be called in a process of its own."""
    if torch.cuda.device_count() >= count > 1:
        yield [torch.device("cuda", i) for i in range(count)]
        return
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # torch's nn.DataParallel would prefer real ones
    with gpus(count, memory) as machine:
        yield list(machine)


def bytes_moved(devices: Sequence[torch.device]) -> list[list[int]] | None:
    """Bytes from device i to device j since the devices were switched on; None on real GPUs."""
    if devices[0].type != "vgpu":
        return None
    table = [[0] * len(devices) for _ in devices]
    for t in transfers():
        if t.source in devices and t.target in devices:
            table[devices.index(t.source)][devices.index(t.target)] += t.bytes
    return table


def storage_bytes(tensor: torch.Tensor) -> int:
    """Bytes that the tensor keeps alive: of a slice, those of the whole that it is cut from."""
    block = getattr(tensor, "block", None)  # a virtual GPU's
    return int(block.bytes if block is not None else tensor.untyped_storage().nbytes())


def attempt(answer: Callable[..., Any], *args: Any) -> tuple[Any, dict[str, Any] | None]:
    """What the answer returns, or what it raised as plain data, for a finding that knows why.

    An exercise that is not written and a name that is not defined are told by the launcher.
    """
    try:
        return answer(*args), None
    except (NotImplementedError, NameError):
        raise
    except Exception as error:
        return None, raised(error)


def raised(error: BaseException) -> dict[str, Any]:
    """An exception as plain data, with the answer's line where it came from."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == FILE]
    ours = error.__traceback__  # from the answer on: what called it is no news
    while ours is not None and ours.tb_frame.f_code.co_filename != FILE:
        ours = ours.tb_next
    told = traceback.format_exception(type(error), error, ours or error.__traceback__)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return {
        "text": text[:600],
        "line": lines[-1] if lines else None,
        "detail": "".join(told)[-20_000:],
    }


class TorchsOwn:
    """Which of torch's own parts of DataParallel were used, however they were imported."""

    def __init__(self) -> None:
        self.used: list[str] = []
        self._wrap(_functions.Scatter, "forward", "torch.nn.parallel.scatter", static=True)
        self._wrap(_functions.Gather, "forward", "torch.nn.parallel.gather", static=True)
        self._wrap(_functions.Broadcast, "forward", "torch.nn.parallel.replicate", static=True)
        applying = sys.modules["torch.nn.parallel.parallel_apply"]
        self._wrap(applying, "_get_device_index", "torch.nn.parallel.parallel_apply")
        whole = sys.modules["torch.nn.parallel.data_parallel"]
        for name in ("_get_available_device_type", "_get_device_index"):
            self._wrap(whole, name, "nn.DataParallel")

    def _wrap(self, owner: Any, name: str, what: str, static: bool = False) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def function(*args: Any, **kwargs: Any) -> Any:
            self.used.append(what)
            return original(*args, **kwargs)

        setattr(owner, name, staticmethod(function) if static else function)


# --- values as plain data --------------------------------------------------------------------


def described(value: Any, depth: int = 6) -> dict[str, Any]:
    """A nested value as plain data that still tells form, device and memory of each tensor."""
    if isinstance(value, torch.Tensor):
        return {
            "is": "tensor",
            "device": str(value.device),
            "value": value.detach().cpu(),
            "storage": storage_bytes(value),
        }
    if isinstance(value, (tuple, list)) and depth:
        name = "tuple" if isinstance(value, tuple) else "list"
        return {"is": name, "items": [described(item, depth - 1) for item in value[:64]]}
    if isinstance(value, dict) and depth:
        items = {str(key): described(item, depth - 1) for key, item in value.items()}
        return {"is": "dict", "items": items}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"is": "plain", "value": value}
    return {"is": type(value).__name__}


def map_tensors(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """The same nested value with ``function(tensor)`` for each tensor."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map_tensors(function, item) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(function, item) for key, item in value.items()}
    return value


def leaves(value: Any) -> list[torch.Tensor]:
    """All tensors of a nested value, in order."""
    found: list[torch.Tensor] = []
    map_tensors(found.append, value)
    return found


def weighted_sum(value: Any) -> torch.Tensor | None:
    """A number that depends on every floating-point tensor in its own way, for backward.

    The tensors may be on different devices; None when none of them is differentiable.
    """
    total: torch.Tensor | None = None
    for number, tensor in enumerate(t for t in leaves(value) if t.is_floating_point()):
        if tensor.requires_grad:
            part = tensor.sum().to("cpu") * (number + 1)
            total = part if total is None else total + part
    return total
