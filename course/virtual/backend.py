"""``vgpu`` as a device type of torch's: names, factories, ``torch.vgpu``.

torch lets a program add one device type of its own ("PrivateUse1"), from Python too. Then
``torch.device("vgpu:1")``, ``.to("vgpu:1")``, ``.vgpu(1)``, ``torch.zeros(3, device="vgpu:1")``
and ``with torch.device("vgpu:1"):`` are torch's own, and so are nn.Module, optimizers and
autograd. It cannot be taken back: for the rest of the process torch.accelerator is ``vgpu``.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import backend_registration

from course.virtual import autocast, comm, kernels, kinds, machine
from course.virtual.machine import switched_on
from course.virtual.tensor import VirtualTensor, copy, delivering, inner_device, on_device

_registered: list[Any] = []  # what must live as long as the registration


def register() -> None:
    """Make ``vgpu`` known to torch; once a process, and never before it is wanted."""
    if _registered:
        return
    if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        raise RuntimeError(
            f"Virtual GPUs need a newer torch than {torch.__version__}: "
            "one that takes a device type written in Python (2.13 does)."
        )
    if not torch.cuda.is_available():
        # autograd starts a thread for every device that it knows when it first runs, and
        # cannot be forked after that. It runs now, knowing none.
        torch.ones((), requires_grad=True).backward()
    backend_registration._setup_privateuseone_for_python_backend("vgpu", _module())
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_make, "PrivateUse1")
    some = torch.library.Library("aten", "IMPL")
    some.impl("scaled_dot_product_attention", kernels.attention, "AutogradPrivateUse1")
    if not torch.cuda.is_available():  # DataLoader(pin_memory=True): nothing to pin for
        some.impl("_pin_memory", lambda tensor, device=None: tensor.clone(), "CPU")
    some.impl("_copy_from", _copy_from, "PrivateUse1")
    _keep_parameters()
    autograd: Any = torch.autograd
    autograd._engine_run_backward = delivering(autograd._engine_run_backward)
    autocast.install(everything, some)
    comm.install()
    _registered.extend([everything, some])


def _keep_parameters() -> None:
    """``module.cpu()`` keeps its parameters the same objects, as it does with CUDA.

    torch does so by itself on the way to a virtual GPU; on the way back it would give the
    module new ones, and an optimizer would go on with the old.
    """
    apply, future = torch.nn.Module._apply, torch.__future__

    @functools.wraps(apply)
    def _apply(self: torch.nn.Module, fn: Any, recurse: bool = True) -> torch.nn.Module:
        before = future.get_swap_module_params_on_conversion()
        virtual = any(isinstance(p, VirtualTensor) for p in self._parameters.values())
        try:
            future.set_swap_module_params_on_conversion(before or virtual)
            return apply(self, fn, recurse)
        finally:
            future.set_swap_module_params_on_conversion(before)

    torch.nn.Module._apply = _apply  # type: ignore[method-assign]


def _make(op: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.empty and all other operations that make a tensor without having one."""
    on = switched_on()
    device = torch.device(kwargs.pop("device"))
    ledger = on.ledger(device)
    kwargs.pop("pin_memory", None)
    inner = op(*args, device=inner_device(device, on), **kwargs)
    return on_device(inner, ledger, kinds.of_result([]))


def _copy_from(source: torch.Tensor, target: torch.Tensor, *ignored: Any) -> torch.Tensor:
    """How torch.tensor(numbers, device=...) fills what it made: past __torch_dispatch__."""
    return copy(torch.ops.aten.copy_.default, (target, source), {})


def _module() -> types.ModuleType:
    """``torch.vgpu``, with the functions of torch.cuda that ask for numbers."""
    module = types.ModuleType("torch.vgpu", "Virtual GPUs, as torch.cuda is for real ones.")

    def ledger(device: Any = None) -> Any:
        return switched_on().ledger(0 if device is None else device)

    @contextlib.contextmanager
    def nothing(*ignored: Any) -> Iterator[None]:
        yield

    functions = {
        "is_available": lambda: machine._on is not None,
        "is_initialized": lambda: True,
        "_is_in_bad_fork": lambda: False,
        "device_count": lambda: len(machine._on or ()),
        "current_device": lambda: 0,
        "device": nothing,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "memory_allocated": lambda device=None: ledger(device).current,
        "max_memory_allocated": lambda device=None: ledger(device).peak,
        "reset_peak_memory_stats": lambda device=None: ledger(device).reset_peak(),
        "mem_get_info": lambda device=None: (
            ledger(device).capacity - ledger(device).current,
            ledger(device).capacity,
        ),
        # Random numbers are the CPU's: what seeds and saves its generator does it for these.
        "manual_seed_all": lambda seed: None,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: None,
        "get_amp_supported_dtype": lambda: [torch.bfloat16, torch.float16],
    }
    for name, function in functions.items():
        setattr(module, name, function)
    return module
