"""A tensor on a virtual GPU: a CPU tensor inside, its device and its block of memory outside.

torch hands every operation on such tensors to ``__torch_dispatch__``, below autograd, as it
would hand them to CUDA's kernels: what autograd keeps, and what backward and optimizers
compute, passes here too, and nothing escapes the ledger.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _mode_utils

from course.virtual import accounting, kernels, kinds
from course.virtual.machine import CPU, Machine
from course.virtual.memory import ACTIVATIONS, OTHERS, OUTPUTS, Block, Ledger
from course.virtual.surface import Surface, mixed

aten = torch.ops.aten


class VirtualTensor(Surface):
    """A tensor on a virtual GPU; ``wrap`` makes it."""

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, op: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # torch would run the backward pass of each device in a thread of its own, which it
        # starts for the devices it knew when it first ran any. One thread does it all, in
        # an order that is always the same. (A setting of the thread, so it is looked at here.)
        if torch._C._is_multithreading_enabled():
            torch._C._set_multithreading_enabled(False)
        return _HANDLERS.get(op, run)(op, args, kwargs or {})

    # By these torch knows that the class wraps another tensor, and ``module.to`` exchanges
    # the parameters' contents instead of giving the module new ones.

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["content"], self.block

    @staticmethod
    def __tensor_unflatten__(contents: dict[str, torch.Tensor], block: Any, *_: Any) -> Any:
        return wrap(contents["content"], block)


def wrap(inner: torch.Tensor, block: Block) -> VirtualTensor:
    tensor: VirtualTensor = torch.Tensor._make_wrapper_subclass(
        VirtualTensor,
        inner.size(),
        strides=inner.stride(),
        storage_offset=inner.storage_offset(),
        dtype=inner.dtype,
        device=block.ledger.device,
    )
    tensor.content = inner
    tensor.block = block
    return tensor


def run(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operation on the inner tensors; its results are on the device of its arguments."""
    virtual: list[VirtualTensor] = []
    plain: list[torch.Tensor] = []
    args = [_inner(arg, virtual, plain) for arg in args]
    if kwargs:
        kwargs = {name: _inner(value, virtual, plain) for name, value in kwargs.items()}
    if plain or len(virtual) > 1:
        check_devices(op, virtual, plain)
    ledger = virtual[0].block.ledger
    if kwargs.get("device") is not None:  # zeros_like(x, device=...)
        device = torch.device(kwargs["device"])
        kwargs["device"] = inner_device(device, ledger.machine)
        if device.type != "vgpu":
            return op(*args, **kwargs)
        ledger = ledger.machine.ledger(device)
    if ledger.machine.computes:
        result = op(*args, **kwargs)
    else:
        result = accounting.run(op, args, kwargs)
    if isinstance(result, torch.Tensor):
        return _outer(result, virtual, ledger)
    if isinstance(result, (tuple, list)):
        return type(result)(
            _outer(r, virtual, ledger) if isinstance(r, torch.Tensor) else r for r in result
        )
    return result


def check_devices(op: Any, virtual: list[VirtualTensor], plain: list[torch.Tensor]) -> None:
    """All on one device; a plain tensor may join as a scalar, or as an index."""
    ledger = virtual[0].block.ledger
    for other in virtual:
        if other.block.ledger is not ledger and other.device != ledger.device:
            raise mixed(ledger.device, other.device)
    for tensor in plain:
        if tensor.dim() and op not in _TAKES_PLAIN_INDICES:
            raise mixed(ledger.device, tensor.device)


def on_device(inner: torch.Tensor, ledger: Ledger, kind: str) -> VirtualTensor:
    """A tensor that has just been made, with a block of its own."""
    storage = inner.untyped_storage()
    try:
        block = ledger.allocate(storage.nbytes(), kind, storage._cdata)
    except torch.OutOfMemoryError as error:
        if not _put_off(error):
            raise
        block = Block(ledger, 0, kind, storage._cdata)
    return wrap(inner, block)


def _put_off(error: torch.OutOfMemoryError) -> bool:
    """Keep it until backward has ended, if that is running."""
    kinds.failed()
    if torch._C._current_autograd_node() is None:
        return False
    # An exception that leaves an operation inside backward would end the process: on its
    # way out torch asks the device a question in Python, which none may be while one is
    # pending. So backward goes on, with what did not fit uncounted, and is told afterwards.
    late.append(error)
    return True


late: list[torch.OutOfMemoryError] = []  # errors of the backward that is running


def delivering(run_backward: Callable[..., Any]) -> Callable[..., Any]:
    """torch's function that runs a backward, made to raise what happened meanwhile."""

    @functools.wraps(run_backward)
    def function(*args: Any, **kwargs: Any) -> Any:
        before = len(late)
        try:
            result = run_backward(*args, **kwargs)
        finally:
            mine, late[before:] = late[before:], []
        if mine:
            raise mine[0].with_traceback(None)
        return result

    return function


def inner_device(device: torch.device, machine: Machine) -> torch.device:
    """Where the inner tensor of one on ``device`` is."""
    if device.type == "vgpu" and not machine.computes:
        return torch.device("meta")
    return CPU


def relabel_outputs(value: Any) -> None:
    """What a model returns: activations until now, outputs from now on."""
    if isinstance(value, VirtualTensor):
        if value.block.kind == ACTIVATIONS:
            value.block.ledger.relabel(value.block, OUTPUTS)
    elif isinstance(value, (tuple, list)):
        for one in value:
            relabel_outputs(one)
    elif isinstance(value, dict):
        relabel_outputs(list(value.values()))


def _inner(value: Any, virtual: list[VirtualTensor], plain: list[torch.Tensor]) -> Any:
    """The argument with inner tensors for virtual ones, which are noted."""
    kind = type(value)
    if kind is VirtualTensor:
        virtual.append(value)
        return value.content
    if kind in _NO_TENSORS:
        return value
    if isinstance(value, torch.Tensor):
        plain.append(value)
    elif isinstance(value, (list, tuple)):
        return [_inner(one, virtual, plain) for one in value]
    return value


_NO_TENSORS = {int, float, bool, type(None), str, torch.dtype}


def _outer(inner: torch.Tensor, virtual: list[VirtualTensor], ledger: Ledger) -> VirtualTensor:
    """A result: an argument itself (in-place), a view of one, or new."""
    storage = inner.untyped_storage()._cdata
    for tensor in virtual:
        if inner is tensor.content:
            if inner.size() != tensor.size():
                _resized(tensor)
            return tensor
        if tensor.block.storage == storage:
            return wrap(inner, tensor.block)
    return on_device(inner, ledger, kinds.of_result(virtual))


def _resized(tensor: VirtualTensor) -> None:
    """Give the tensor the size that its inner one has now.

    An operation with ``out=`` resizes what it writes to. torch makes arange, eye and others
    so: an empty tensor first, then the numbers.
    """
    inner, block = tensor.content, tensor.block
    try:
        block.ledger.resize(block, inner.untyped_storage().nbytes())
    except torch.OutOfMemoryError as error:
        if not _put_off(error):
            raise
    tensor.data = wrap(inner, block)


# Operations that need more than that.


def _to(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``.to``: to another device, or another dtype on the same."""
    source = args[0]
    target = torch.device(kwargs.pop("device", None) or source.device)
    kwargs.pop("pin_memory", None)
    if target == source.device:
        return run(op, args, kwargs)
    machine = source.block.ledger.machine
    if target.type == "vgpu":
        inner = op(source.content, **kwargs)
        copied = on_device(inner, machine.ledger(target), kinds.of_copy(source.block.kind))
        machine.moved(source.device, target, copied.content.nbytes, source.block.kind)
        return copied
    _needs_numbers(source)
    inner = op(source.content, device=target, **kwargs)
    machine.moved(source.device, target, inner.nbytes, source.block.kind)
    return inner


def copy(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``target.copy_(source)``, on any two devices."""
    target, source, *rest = args
    if target.device == source.device:
        return run(op, args, kwargs)
    inners = [t.content if isinstance(t, VirtualTensor) else t for t in (target, source)]
    if isinstance(target, VirtualTensor):
        machine = target.block.ledger.machine
    else:
        machine = source.block.ledger.machine
        _needs_numbers(source)
    if machine.computes or inners[1].device != CPU:
        op(*inners, *rest, **kwargs)
    kind = source.block.kind if isinstance(source, VirtualTensor) else OTHERS
    machine.moved(source.device, target.device, inners[1].nbytes, kind)
    return target


def _item(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``.item()`` waits for the device and fetches one number."""
    (source,) = args
    _needs_numbers(source)
    source.block.ledger.machine.moved(source.device, CPU, source.element_size(), source.block.kind)
    return op(source.content)


def _needs_numbers(tensor: VirtualTensor) -> None:
    if not tensor.block.ledger.machine.computes:
        raise RuntimeError(
            f"{tensor.device} only accounts (compute=False): "
            "its tensors have sizes and no numbers that could be copied to the CPU."
        )


def _reshape(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``t_`` and its like change the shape of the tensor itself: of the inner and the outer."""
    op(args[0].content, *args[1:], **kwargs)
    with _mode_utils.no_dispatch():
        op(*args, **kwargs)
    return args[0]


def _unsupported(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise NotImplementedError(f"A virtual GPU has no {op.name()}.")


def _embedding(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("sparse") or (len(args) > 4 and args[4]):
        raise NotImplementedError("A virtual GPU has no sparse tensors: sparse=False works.")
    return run(op, args, kwargs)


Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
_HANDLERS: dict[Any, Handler] = {
    aten._to_copy.default: _to,
    aten.copy_.default: copy,
    aten._local_scalar_dense.default: _item,
    aten.embedding.default: _embedding,
    aten.t_.default: _reshape,
    aten.transpose_.default: _reshape,
    aten.squeeze_.default: _reshape,
    aten.squeeze_.dim: _reshape,
    aten.unsqueeze_.default: _reshape,
    aten.as_strided_.default: _reshape,
    aten.resize_.default: _unsupported,
    aten._thnn_fused_lstm_cell.default: _unsupported,  # nn.LSTM
    aten._thnn_fused_gru_cell.default: _unsupported,  # nn.GRU
    aten.native_dropout.default: kernels.around(run, kernels.dropout),
    aten.native_dropout_backward.default: kernels.around(run, kernels.dropout_backward),
}
_TAKES_PLAIN_INDICES = {
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
    aten._index_put_impl_.default,
}
