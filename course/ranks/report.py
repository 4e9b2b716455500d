"""A rank's report, read with suspicion: what runs in a rank can write anything into it."""

from __future__ import annotations

import dataclasses
import linecache
from typing import Any

from course.ranks import outcome, plain
from course.ranks.outcome import Call, Frame, Outcome, Print, RaisedException

_NUMBER = (int, float)
_CALL_TYPES: dict[str, type | tuple[type, ...]] = {
    "op": str,
    "begin": _NUMBER,
    "end": (*_NUMBER, type(None)),
    "dtype": str,
    "bytes": int,
    "peer": int,
    "group_size": int,
    "asynchronous": bool,
    "waits_for": str,
    "touched": bool,
    "file": str,
    "line": int,
}


def read_outcome(fields: dict[str, Any], value: bytes) -> Outcome:
    """The outcome that a keeper reports; one that its rank forged ends as ``raised``."""
    evidence = ("prints", "calls", "stack", "exception")
    known = Outcome(**{k: v for k, v in fields.items() if k not in evidence})
    try:
        full = dataclasses.replace(
            known,
            prints=tuple(_print(p) for p in fields["prints"]),
            calls=tuple(_call(c) for c in fields["calls"]),
            stack=tuple(_frame(f) for f in fields["stack"]),
            exception=_raised(fields["exception"]),
        )
        return dataclasses.replace(full, value=plain.decode(value)) if full.ok else full
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        garbled = RaisedException("GarbledReport", f"the rank's report cannot be read: {error}")
        return dataclasses.replace(known, state=outcome.RAISED, exception=garbled)


def _call(fields: dict[str, Any]) -> Call:
    shape = fields.pop("shape", None)
    if shape is not None:
        shape = tuple(_is(size, int, "a size") for size in shape)
    for name, value in fields.items():
        _is(value, _CALL_TYPES[name], name)
    return Call(**fields, shape=shape)


def _print(fields: dict[str, Any]) -> Print:
    stream = fields["stream"]
    if stream not in ("stdout", "stderr"):
        raise ValueError(f"no such stream: {stream!r}")
    return Print(_is(fields["time"], _NUMBER, "time"), _is(fields["text"], str, "text"), stream)


def _frame(fields: dict[str, Any]) -> Frame:
    """A frame; its text from this process, which knows the cells of its own notebook."""
    file, line = _is(fields["file"], str, "file"), _is(fields["line"], int, "line")
    text = _is(fields.get("text", ""), str, "text") or linecache.getline(file, line).strip()
    return Frame(file, line, _is(fields["function"], str, "function"), text)


def _raised(fields: dict[str, Any] | None) -> RaisedException | None:
    if fields is None:
        return None
    return RaisedException(
        type=_is(fields.get("type", "SystemExit"), str, "type"),
        message=_is(fields.get("message", ""), str, "message"),
        frames=tuple(_frame(f) for f in fields["frames"]),
        traceback=_is(fields.get("traceback", ""), str, "traceback"),
        line=_is(fields.get("line"), (int, type(None)), "line"),
    )


def _is(value: Any, kind: type | tuple[type, ...], name: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {type(value).__name__}")
    return value
