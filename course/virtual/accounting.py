"""Operations without numbers: what the result's shape is, worked out once for each question.

torch knows for every operation what comes out of a meta tensor, but takes its time. A model
asks the same over and over (24 layers, the same shapes), so answers are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

MOST_ANSWERS = 50_000

# For each result: the place of the argument that it is (in-place), or what to make.
_answers: dict[Any, Any] = {}
_NOT_KEPT = object()  # views, and results that are no tensors: always ask torch


def run(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """``op(*args, **kwargs)`` on meta tensors."""
    tensors: list[torch.Tensor] = []
    question = (id(op), _text(args, tensors), _text(list(kwargs.items()), tensors))
    answer = _answers.get(question)
    if answer is None:
        shapes = [tensor.shape for tensor in tensors]
        result = op(*args, **kwargs)
        if len(_answers) >= MOST_ANSWERS:
            _answers.clear()
        _answers[question] = _answer(result, tensors, shapes)
        return result
    return op(*args, **kwargs) if answer is _NOT_KEPT else _make(answer, tensors)


def _text(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Something hashable that says all that the result's shape depends on."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return (value.shape, value.stride(), value.dtype, value.device)
    if isinstance(value, (list, tuple)):
        return tuple([_text(one, tensors) for one in value])
    return (type(value), value)  # 1, 1.0 and True are equal, but not the same question


def _answer(result: Any, tensors: list[torch.Tensor], shapes: list[torch.Size]) -> Any:
    if isinstance(result, (tuple, list)):
        answers = [_answer(one, tensors, shapes) for one in result]
        return _NOT_KEPT if _NOT_KEPT in answers else type(result)(answers)
    if not isinstance(result, torch.Tensor) or not result.is_meta:
        return _NOT_KEPT
    for place, tensor in enumerate(tensors):
        if result is tensor:
            return place if tensor.shape == shapes[place] else _NOT_KEPT
        if result.untyped_storage()._cdata == tensor.untyped_storage()._cdata:
            return _NOT_KEPT
    if result.untyped_storage().nbytes() != _least_bytes(result):
        return _NOT_KEPT
    return {"size": result.size(), "stride": result.stride(), "dtype": result.dtype}


def _least_bytes(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.element_size()


def _make(answer: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(answer, int):
        return tensors[answer]
    if isinstance(answer, dict):
        return torch.empty_strided(**answer, device="meta")
    return type(answer)(_make(one, tensors) for one in answer)
