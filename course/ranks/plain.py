"""Plain data between processes, without pickles: reading it can run nobody's code.

A value becomes one JSON text and the raw bytes of its tensors and arrays behind it.
What may travel: None, bool, int, float, str, bytes, torch dtypes and devices, tensors,
NumPy arrays, and lists, tuples and dicts of these.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import torch

_SCALARS = (type(None), bool, int, float, str)


class NotPlain(TypeError):
    """A value cannot travel as plain data; the message names the part that cannot."""


class TooLarge(ValueError):
    """A value has more bytes than the receiver takes."""


def encode(value: Any) -> bytes:
    """The value as bytes.

    Raises:
        NotPlain: some part of it is none of the types that may travel.
    """
    blobs: list[bytes] = []
    text = json.dumps(_pack(value, blobs, "value")).encode()
    return b"".join([struct.pack("!Q", len(text)), text, *blobs])


def decode(data: bytes) -> Any:
    """The value that :func:`encode` was given; tensors come back on the CPU.

    Raises:
        ValueError: the bytes are not such a value.
    """
    try:
        (length,) = struct.unpack_from("!Q", data)
        tree = json.loads(bytes(data[8 : 8 + length]))
        value, end = _unpack(tree, memoryview(data), 8 + length)
    except (LookupError, TypeError, AttributeError, RuntimeError, struct.error) as error:
        raise ValueError(f"not a plain value: {error!r}") from error
    if end != len(data):
        raise ValueError(f"not a plain value: {len(data) - end} bytes too many")
    return value


def _pack(value: Any, blobs: list[bytes], where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _SCALARS:
        return value
    if isinstance(value, bytes):
        return ["bytes", _blob(value, blobs)]
    if isinstance(value, torch.Tensor):
        return _pack_tensor(value, blobs, where)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise NotPlain(f"{where} is an array of Python objects")
        return ["array", value.dtype.str, list(value.shape), _blob(value.tobytes(), blobs)]
    if isinstance(value, (torch.dtype, torch.device)):
        return [type(value).__name__, str(value).removeprefix("torch.")]
    if isinstance(value, (list, tuple)):
        items = [_pack(item, blobs, f"{where}[{i}]") for i, item in enumerate(value)]
        return ["list" if isinstance(value, list) else "tuple", items]
    if isinstance(value, dict):
        pairs = [
            [_pack(k, blobs, f"a key of {where}"), _pack(v, blobs, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return ["dict", pairs]
    raise NotPlain(
        f"{where} is a {type(value).__name__}; a rank can return None, numbers, text, bytes, "
        "tensors and arrays, and lists, tuples and dicts of these"
    )


def _pack_tensor(tensor: torch.Tensor, blobs: list[bytes], where: str) -> Any:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        raise NotPlain(f"{where} is a {tensor.layout} tensor on {tensor.device}: make it dense")
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().flatten()
    # One element counts as contiguous whatever its stride, and could not be viewed as bytes.
    flat = flat.as_strided(flat.shape, (1,))
    raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return ["tensor", dtype, list(tensor.shape), _blob(raw, blobs)]


def _blob(raw: bytes, blobs: list[bytes]) -> int:
    blobs.append(raw)
    return len(raw)


def _unpack(tree: Any, data: memoryview, at: int) -> tuple[Any, int]:
    """The value of this part of the tree, and where the next blob begins."""
    if type(tree) in _SCALARS:
        return tree, at
    kind = tree[0]
    if kind in ("dtype", "device"):
        return (_dtype(tree[1]) if kind == "dtype" else _device(tree[1])), at
    if kind in ("bytes", "tensor", "array"):
        end = at + tree[-1]
        if tree[-1] < 0 or end > len(data):
            raise ValueError("not a plain value: its bytes are missing")
        return _leaf(tree, data[at:end]), end
    if kind in ("list", "tuple"):
        items = []
        for part in tree[1]:
            item, at = _unpack(part, data, at)
            items.append(item)
        return (items if kind == "list" else tuple(items)), at
    if kind == "dict":
        pairs = {}
        for key_tree, value_tree in tree[1]:
            key, at = _unpack(key_tree, data, at)
            pairs[key], at = _unpack(value_tree, data, at)
        return pairs, at
    raise ValueError(f"not a plain value: unknown kind {kind!r}")


def _leaf(tree: Any, raw: memoryview) -> Any:
    if tree[0] == "bytes":
        return bytes(raw)
    shape = [int(size) for size in tree[2]]
    if tree[0] == "array":
        dtype = np.dtype(tree[1])
        if dtype.hasobject:
            raise ValueError("not a plain value: an array of Python objects")
        return np.frombuffer(bytearray(raw), dtype).reshape(shape)
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=_dtype(tree[1]))
    return torch.frombuffer(bytearray(raw), dtype=_dtype(tree[1])).reshape(shape)


def _device(name: str) -> torch.device | str:
    """The device; its name where this process does not know its kind (a virtual GPU's)."""
    try:
        return torch.device(name)
    except RuntimeError:
        return name


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"not a plain value: {name!r} is no dtype")
    return dtype
