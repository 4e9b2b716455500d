"""Virtual GPUs: several devices with a ledger of their memory, on a machine that has none.

>>> with gpus(4, memory="16 GiB") as devices:
...     model = torch.nn.Linear(1000, 1000).to(devices[0])
...     loss = model(torch.randn(32, 1000, device=devices[0])).square().mean()
...     loss.backward()
...     ledger("vgpu:0").by_kind["gradients"]
4004000

The devices are torch's own ``torch.device("vgpu:0")`` and so on: ``.to("vgpu:1")``,
``torch.zeros(3, device="vgpu:1")``, modules, optimizers, autograd, threads and torch's own
``nn.DataParallel`` work on them as on CUDA's, and fail as there: tensors on different devices
do not mix, and memory ends in torch.OutOfMemoryError. The arithmetic is the CPU's, bit for bit.

- ``gpus(n, memory)`` switches n devices on. With ``compute=False`` they only account: tensors
  have sizes and no numbers, so that a model of any size costs nothing to try.
- ``ledger(device)``: ``current`` and ``peak`` bytes, ``by_kind``, ``peak_by_kind``,
  ``timeline()``.
- ``memory_by_kind()``: the same for all devices at once.
- ``transfers()``: every copy between devices, in order. ``reset()`` begins all these anew.
- ``holding(kind)``: says what is allocated, where the rules in ``kinds`` would guess otherwise.

README.md, beside this file, says how it works and where it differs from a GPU.
"""

from __future__ import annotations

import torch

from course.virtual import backend, comm, kinds, sizes, tensor
from course.virtual.kinds import holding
from course.virtual.machine import Machine, Transfer, switched_on
from course.virtual.memory import KINDS, Ledger, Moment

__all__ = [
    "KINDS",
    "Ledger",
    "Machine",
    "Moment",
    "Transfer",
    "gpus",
    "holding",
    "ledger",
    "memory_by_kind",
    "reset",
    "transfers",
]


def gpus(
    count: int, memory: int | str = "16 GiB", *, compute: bool = True, rounding: int = 1
) -> Machine:
    """Switch on ``count`` virtual GPUs with so much memory each: a sequence of torch.device.

    They stay until the end of the ``with`` block, or, without one, until the next call. Then
    their tensors live on, but no new ones can be made without them.

    Args:
        memory: of each device, in bytes or as text: "16 GiB", "500 MB".
        compute: False to only account: tensors then have no numbers, and what asks for one
            (``.item()``, ``.cpu()``) raises RuntimeError.
        rounding: every block is counted as a multiple of it, in bytes. CUDA's allocator has
            512; 1 makes what is counted equal what can be computed by hand.

    Raises:
        ValueError: the count or the size makes no sense.
    """
    backend.register()
    machine = Machine(count, sizes.parse(memory), rounding, compute)
    kinds.watch(tensor.relabel_outputs)
    comm.room_for(count)
    return machine.switch_on()


def ledger(device: torch.device | str | int) -> Ledger:
    """The ledger of ``"vgpu:1"``, of ``1`` or of a torch.device.

    Raises:
        RuntimeError: there is no such device, or no virtual GPUs are switched on.
    """
    return switched_on().ledger(device)


def memory_by_kind(*, peak: bool = False) -> dict[torch.device, dict[str, int]]:
    """Bytes on each device by kind, now or when its peak was reached."""
    ledgers = switched_on().ledgers
    return {one.device: one.peak_by_kind if peak else one.by_kind for one in ledgers}


def transfers() -> list[Transfer]:
    """The copies between devices (the CPU is one), oldest first; the last 100,000."""
    return list(switched_on().transfers)


def reset() -> None:
    """Peaks, timelines and transfers begin anew, from what is held now."""
    machine = switched_on()
    machine.transfers.clear()
    for one in machine.ledgers:
        one.reset_peak()
