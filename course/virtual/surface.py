"""What torch would ask a tensor's memory for, or refuse a subclass: answered for virtual ones.

Printing, numpy, copies, pickles, and what may be assigned to: ``.grad`` and ``.data``.
"""

from __future__ import annotations

from typing import Any

import torch

from course.virtual.memory import GRADIENTS, PARAMETERS, Block

_GRAD: Any = torch.Tensor.grad
_DATA: Any = torch.Tensor.data


class Surface(torch.Tensor):
    """``content`` computes, ``block`` is its memory (and ``block.ledger`` its device's ledger).

    With a machine that only accounts, ``content`` is a meta tensor.
    """

    content: torch.Tensor
    block: Block

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        text = repr(self.content).replace(", device='meta'", "")
        more = f", device='{self.device}'"
        if self.grad_fn is not None:
            more += f", grad_fn=<{type(self.grad_fn).__name__}>"
        elif self.requires_grad:
            more += ", requires_grad=True"
        text = f"{text[:-1]}{more})"
        return f"Parameter containing:\n{text}" if self._is_param else text

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return self.detach().cpu().numpy()

    def __array__(self, dtype: Any = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def new_tensor(self, data: Any, **options: Any) -> torch.Tensor:  # type: ignore[override]
        return torch.tensor(data, **{"device": self.device, "dtype": self.dtype, **options})

    def data_ptr(self) -> int:
        return self.content.data_ptr()

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.content.untyped_storage()

    def record_stream(self, stream: Any) -> None:
        """Nothing to do: there is one stream, and it is always done."""

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) "
                    "support the deepcopy protocol at the moment"
                )
            twin: torch.Tensor = self.detach().clone().requires_grad_(self.requires_grad)
            if self._is_param:
                twin = torch.nn.Parameter(twin, self.requires_grad)
            if self.grad is not None:
                twin.grad = self.grad.__deepcopy__(memo)
            memo[id(self)] = twin
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Saved and sent as a CPU tensor, as ``torch.load(map_location="cpu")`` would have it."""
        twin: torch.Tensor = self.detach().cpu().requires_grad_(self.requires_grad)
        if self._is_param:
            twin = torch.nn.Parameter(twin, self.requires_grad)
        return twin.__reduce_ex__(protocol)

    # What is assigned to; the block's kind follows.

    @property
    def _is_param(self) -> bool:
        return "_param" in self.__dict__

    @_is_param.setter
    def _is_param(self, value: bool) -> None:  # by torch.nn.Parameter
        self._param = value
        self.block.ledger.relabel(self.block, PARAMETERS)

    @property
    def grad(self) -> torch.Tensor | None:
        return _GRAD.__get__(self)

    @grad.setter
    def grad(self, value: torch.Tensor | None) -> None:
        _GRAD.__set__(self, value)
        if isinstance(value, Surface):
            value.block.ledger.relabel(value.block, GRADIENTS)

    @grad.deleter
    def grad(self) -> None:
        _GRAD.__set__(self, None)

    @property
    def data(self) -> torch.Tensor:
        return _DATA.__get__(self)

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        if not isinstance(value, Surface):
            raise mixed(self.device, value.device)
        _DATA.__set__(self, value)
        self.content, self.block = value.content, value.block
        if self._is_param:
            self.block.ledger.relabel(self.block, PARAMETERS)


def mixed(one: torch.device, other: torch.device) -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, "
        f"but found at least two devices, {one} and {other}!"
    )
