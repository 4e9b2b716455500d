"""How a function and its arguments travel to a rank."""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections import ChainMap
from collections.abc import Callable
from typing import Any


class CannotTravel(TypeError):
    """A function or an argument cannot be sent to another process."""


def pack(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """The function and its arguments as bytes for ``pickle.loads``.

    A function of an importable module travels by its name. One of a script, a notebook cell or
    another function's body has no name that a fresh process could import, so its code travels,
    by cloudpickle.

    Raises:
        CannotTravel: something in it cannot be pickled; the message says what.
    """
    try:
        if has_importable_name(function):
            return pickle.dumps((function, args))
        return _dumps_by_value((function, args))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        name = getattr(function, "__name__", repr(function))
        raise CannotTravel(
            f"{name} or one of its arguments cannot be sent to another process: {error}. "
            "Make such objects (locks, open files, generators) inside the function instead."
        ) from error


def has_importable_name(function: Callable[..., Any]) -> bool:
    """Whether a fresh process can find the function by module and name."""
    module = sys.modules.get(getattr(function, "__module__", None) or "__main__")
    if module is None or module.__name__ in ("__main__", "__mp_main__"):
        return False
    found: Any = module
    for part in getattr(function, "__qualname__", "<none>").split("."):
        found = getattr(found, part, None)
    return found is function


def _dumps_by_value(value: Any) -> bytes:
    """cloudpickle's bytes, with the file names of code kept: they lead back to the cell."""
    cloudpickle = _cloudpickle()
    reducers = cloudpickle.Pickler.dispatch_table

    def reduce_code(code: types.CodeType) -> tuple[Any, ...]:
        make, parts = reducers[types.CodeType](code)
        return make, tuple(code.co_filename if p == "<dynamic-code>" else p for p in parts)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc,name-defined]
        dispatch_table = ChainMap({types.CodeType: reduce_code}, reducers)

    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.getvalue()


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError as error:
        raise CannotTravel(
            "A function of a notebook cell or a script needs the package cloudpickle to reach "
            "other processes: pip install cloudpickle, or move the function into a module."
        ) from error
    return cloudpickle
