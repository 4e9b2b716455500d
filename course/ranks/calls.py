"""The log of a rank's calls into torch.distributed.

Each public function is wrapped once, in the server, before any rank is forked. The wrapper
tells a recorder that the call begins and that it has ended; without a recorder it only passes
the call on. A call made inside another one (``all_gather_object`` uses ``all_gather``) is part
of it and is not recorded again.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

# batch_isend_irecv is not here: it calls these, and each of its transfers is recorded.
POINT_TO_POINT = ("send", "recv", "isend", "irecv")
COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
)
SETUP = ("init_process_group", "new_group", "destroy_process_group")

# Names of the parameters that hold the tensor and the other rank, in the order of preference.
_TENSORS = ("tensor", "object_list", "input_tensor", "input", "output_tensor", "output")
_LISTS = ("tensor_list", "input_tensor_list", "scatter_list", "gather_list")
_PEERS = ("dst", "src", "group_dst", "group_src")
_OURS = ("torch.distributed", "course.ranks")


class Recorder(Protocol):
    def begin(self, fields: dict[str, Any]) -> int: ...
    def end(self, number: int) -> None: ...


_recorder: Recorder | None = None
_thread = threading.local()  # .inside: True while this thread is in a recorded call
# Work handles not yet waited on: the work, its call's fields, its tensor and that one's version.
_handles: dict[int, tuple[Any, dict[str, Any], torch.Tensor | None, int]] = {}


def record_with(recorder: Recorder | None) -> None:
    """Send every call from now on to ``recorder``."""
    global _recorder
    _recorder = recorder


def mark(name: str) -> None:
    """Put an entry called ``name`` into the rank's log: between which calls the rank was where."""
    if _recorder is not None:
        _recorder.end(_recorder.begin({"op": name}))


def install() -> None:
    """Wrap the public functions of torch.distributed, and ``wait`` of its work handles."""
    for name in (*POINT_TO_POINT, *COLLECTIVES, *SETUP):
        original = getattr(dist, name)
        wrapped = _recorded(name, original)
        setattr(dist, name, wrapped)
        setattr(distributed_c10d, name, wrapped)
    dist.Work.wait = _recorded_wait(dist.Work.wait)  # type: ignore[method-assign]


def _recorded(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _recorder is None or getattr(_thread, "inside", False):
            return original(*args, **kwargs)
        fields = {"op": name, **_arguments(signature, args, kwargs), **_call_site()}
        result = _around(original, args, kwargs, fields)
        for work in result if isinstance(result, list) else [result]:
            if isinstance(work, dist.Work):
                tensor = _tensor_of(signature, args, kwargs)
                _handles[id(work)] = (work, fields, tensor, _version(tensor))
        return result

    return call


def _recorded_wait(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _recorder is None or getattr(_thread, "inside", False):
            return original(self, *args, **kwargs)
        _, started, tensor, version = _handles.pop(id(self), (None, {"op": "work"}, None, 0))
        known = {k: v for k, v in started.items() if k in ("peer", "shape", "dtype", "group_size")}
        fields = {"op": "wait", "waits_for": started["op"], **known, **_call_site()}
        if _version(tensor) != version:
            fields["touched"] = True
        return _around(original, (self, *args), kwargs, fields)

    return wait


def _version(tensor: torch.Tensor | None) -> int:
    """Counts the writes of torch's own operations; a backend's writes do not count."""
    return 0 if tensor is None or tensor.is_inference() else tensor._version


def _around(original: Callable[..., Any], args: Any, kwargs: Any, fields: dict[str, Any]) -> Any:
    """Call the original between a begin and an end; a call that raises has no end.

    The open call is what a failure is explained by, so it must stay open when it failed.
    """
    recorder = _recorder
    assert recorder is not None
    number = recorder.begin(fields)
    _thread.inside = True
    try:
        result = original(*args, **kwargs)
    finally:
        _thread.inside = False
    recorder.end(number)
    return result


def _arguments(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Shape, dtype, bytes, peer and group size, as far as the arguments tell."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # the call itself will say what is wrong
        return {}
    fields: dict[str, Any] = {}
    tensor = _first_of(given)
    if tensor is not None:
        fields["shape"] = list(tensor.shape)
        fields["dtype"] = str(tensor.dtype).removeprefix("torch.")
        fields["bytes"] = tensor.numel() * tensor.element_size()
    peer = next((given[name] for name in _PEERS if isinstance(given.get(name), int)), None)
    if peer is not None:
        fields["peer"] = peer
    if given.get("async_op"):
        fields["asynchronous"] = True
    if dist.is_initialized():
        fields["group_size"] = dist.get_world_size(given.get("group"))
    return fields


def _tensor_of(signature: inspect.Signature, args: Any, kwargs: Any) -> torch.Tensor | None:
    return _first_of(signature.bind(*args, **kwargs).arguments)


def _first_of(given: dict[str, Any]) -> torch.Tensor | None:
    for name in _TENSORS:
        if isinstance(given.get(name), torch.Tensor):
            return given[name]  # type: ignore[no-any-return]
    for name in _LISTS:
        values = given.get(name)
        if isinstance(values, (list, tuple)) and values:
            if isinstance(values[0], torch.Tensor):
                return values[0]
    return None


def _call_site() -> dict[str, Any]:
    """File and line of the innermost frame that is neither torch.distributed's nor ours."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS):
            return {"file": frame.f_code.co_filename, "line": frame.f_lineno}
        frame = frame.f_back
    return {}
