"""What the runtime wrote down about a run, in terms of the program's own lines."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from course.cuda.builder import Program
from course.cuda.explain import explain
from course.cuda.outcome import Allocation, Call, Fault, Launch, Memory, Operation, Other

# One row an access: see struct Touch in cpu/runtime/check.h. write is 0, 1, or 2 for an atomic.
TOUCH = np.dtype(
    [
        ("operation", "<u4"),
        ("block", "<u4"),
        ("allocation", "<u4"),
        ("thread", "<u4"),
        ("offset", "<u8"),
        ("bytes", "<u2"),
        ("write", "<u2"),
        ("space", "<u4"),
    ],
    align=True,
)

Event = Mapping[str, Any]
_PC_KEYS = ("pc", "freed_pc", "call_pc")
_DIRECTIONS = ("host to host", "host to device", "device to host", "device to device", "default")


@dataclass(frozen=True)
class Place:
    """A line of one of a program's parts."""

    part: str = "cell"
    line: int | None = None


@dataclass(frozen=True)
class Story:
    """All events of a run."""

    faults: tuple[Fault, ...] = ()
    launches: tuple[Launch, ...] = ()
    operations: tuple[Operation, ...] = ()
    calls: tuple[Call, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    leaks: tuple[Allocation, ...] = ()
    last_error: int = 0
    unread_launch_error: str = ""
    at_end: bool = False  # the program came to its own end


def read(report: bytes, program: Program) -> Story:
    """The events of a report. A program that writes there itself gets the fault of doing so."""
    try:
        return _Reader(program, list(_events(report))).story()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        broken = explain(Fault("report_broken", "error", ""), "")
        return Story(faults=(broken,))


def touches(raw: bytes) -> np.ndarray[Any, np.dtype[Any]]:
    """Rows of :data:`TOUCH`."""
    whole = len(raw) // TOUCH.itemsize * TOUCH.itemsize
    return np.frombuffer(raw[:whole], dtype=TOUCH)


def _events(report: bytes) -> Iterator[dict[str, Any]]:
    rows = report.split(b"\n")[:-1]  # the last is empty, or was cut off
    for row in filter(None, rows):
        event = json.loads(row)
        _check(event)
        yield event


_INTEGERS: tuple[str, ...] = ("id", "pc", "freed_pc", "call_pc", "line", "bytes", "offset")
_INTEGERS += ("size", "error", "stream", "dynamic", "static", "operation", "count")
_INTEGERS += ("last_error", "injected", "pinned")
_WORDS = ("event", "kind", "name", "kernel", "space", "access", "address", "file")
_TRIPLES = ("grid", "threads", "block", "thread")


def _check(event: dict[str, Any]) -> None:
    """The program may have written it. Raises TypeError where the runtime would not have."""
    for key, kind in (*((k, int) for k in _INTEGERS), *((k, str) for k in _WORDS)):
        if not isinstance(event.get(key, kind()), kind):
            raise TypeError(key)
    for key in _TRIPLES:
        value = event.get(key, [0, 0, 0])
        if not isinstance(value, int) and [type(n) for n in value] != [int] * 3:
            raise TypeError(key)
    for key in ("begin", "end"):
        if not isinstance(event.get(key, 0.0), float):
            raise TypeError(key)
    for inner in (event.get("memory"), event.get("other")):
        if inner is not None:
            _check(inner)


# ------------------------------------------------------------------ code addresses


def _all_pcs(events: Iterable[Event]) -> set[int]:
    found = set()
    for event in events:
        for holder in (event, event.get("memory") or {}, event.get("other") or {}):
            found |= {holder[key] for key in _PC_KEYS if isinstance(holder.get(key), int)}
    return found


@lru_cache(maxsize=64)
def _places(executable: str, parts: tuple[str, ...], pcs: tuple[int, ...]) -> dict[int, Place]:
    """Where code addresses come from. They are where calls return to: the call is before."""
    if not pcs:
        return {}
    command = ["addr2line", "-a", "-i", "-e", executable]
    wanted = "\n".join(hex(pc - 1) for pc in pcs)
    try:
        told = subprocess.run(
            command, input=wanted, capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    places: dict[int, Place] = {}
    pc = None
    for row in told.splitlines():
        if row.startswith("0x"):
            pc = int(row, 16) + 1
        elif pc is not None and pc not in places and (place := _place(row, parts)):
            places[pc] = place
    return places


def _place(row: str, parts: tuple[str, ...]) -> Place | None:
    file, _, rest = row.partition(" (")[0].rpartition(":")
    return _named(os.path.basename(file), rest, parts)


def _named(file: str, number: str, parts: tuple[str, ...]) -> Place | None:
    part = file.removesuffix(".cu")
    return Place(part, int(number)) if part in parts and number.isdigit() else None


# ------------------------------------------------------------------ events to data


class _Reader:
    def __init__(self, program: Program, events: list[dict[str, Any]]) -> None:
        self._program = program
        self._events = events
        self._parts = tuple(program.parts)
        pcs = tuple(sorted(_all_pcs(events)))
        self._places = _places(str(program.executable), self._parts, pcs)
        self._allocations = self._read_allocations()

    def story(self) -> Story:
        end = next((e for e in self._events if e["event"] == "end"), None)
        unread = next((e for e in self._events if e["event"] == "unread"), {})
        launches = list(self._launches())
        lost = tuple(map(self._lost, self._of_kind("leak")))
        return Story(
            faults=_by_cause(_merged([*self._faults(), *self._leaks(lost)])),
            launches=tuple(sorted(launches, key=lambda launch: launch.operation or 0)),
            operations=tuple(self._operations()),
            calls=tuple(self._calls()),
            allocations=tuple(self._allocations.values()),
            leaks=lost,
            last_error=end.get("last_error", 0) if end else 0,
            unread_launch_error=unread.get("kernel", ""),
            at_end=end is not None,
        )

    def _of_kind(self, *kinds: str) -> Iterator[dict[str, Any]]:
        return (event for event in self._events if event["event"] in kinds)

    def _at(self, holder: Event, key: str = "pc") -> Place:
        """By the code's address, else by the file and line that the event names itself."""
        if key in holder and (place := self._places.get(holder[key])):
            return place
        if key == "pc" and "line" in holder:
            file, number = str(holder.get("file", "cell.cu")), str(holder["line"])
            return _named(os.path.basename(file), number, self._parts) or Place()
        return Place()

    def _read_allocations(self) -> dict[int, Allocation]:
        freed = {e.get("id") for e in self._events if e["event"] == "freed"}
        found: dict[int, Allocation] = {}
        seen: Counter[Place] = Counter()
        for event in self._of_kind("allocation"):
            at = self._at(event)
            found[event["id"]] = Allocation(
                id=event["id"],
                space=event["space"],
                bytes=event["bytes"],
                line=at.line,
                name=self._pointer(at, seen[at]),
                freed=event["id"] in freed,
                part=at.part,
            )
            seen[at] += 1
        return found

    def _lost(self, event: Event) -> Allocation:
        """Of very many allocations not all are told when they are made, but each that is left."""
        at = self._at(event)
        made = Allocation(event["id"], event["space"], event["bytes"], at.line, part=at.part)
        return self._allocations.get(event["id"], made)

    def _pointer(self, at: Place, earlier: int) -> str:
        """What an allocation is called: of several in a line they take turns."""
        names = self._program.parts[at.part].pointers.get(at.line or 0, ())
        return names[earlier % len(names)] if names else ""

    def _launches(self) -> Iterator[Launch]:
        for event in self._of_kind("operation", "refused"):
            if event["event"] == "operation" and event["kind"] != "launch":
                continue
            ran = event["event"] == "operation"
            at = self._at({k: event[k] for k in ("file", "line") if k in event})
            yield Launch(
                kernel=event["kernel"],
                line=at.line,
                part=at.part,
                grid=tuple(event["grid"]),
                block=tuple(event["threads"]),
                dynamic_shared=event["dynamic"],
                static_shared=event.get("static") if ran else None,
                stream=event.get("stream", 0),
                error=event["error"],
                ran=ran,
                injected=bool(event.get("injected")),
                operation=event.get("id"),
                seconds=event["end"] - event["begin"] if ran else 0.0,
            )

    def _waiting_calls(self) -> dict[int, str]:
        """For each operation the call in which it ran: the next one that is reported."""
        found: dict[int, str] = {}
        begun: list[int] = []
        for event in self._of_kind("operation", "call"):
            if event["event"] == "operation":
                begun.append(event["id"])
            else:
                found |= dict.fromkeys(begun, event["name"])
                begun.clear()
        return found

    def _operations(self) -> Iterator[Operation]:
        ran_in = self._waiting_calls()
        first = next((e["begin"] for e in self._of_kind("operation")), 0.0)
        for event in self._of_kind("operation"):
            at = self._at(event)
            if event["kind"] == "launch":
                at = self._at({k: event[k] for k in ("file", "line") if k in event})
            direction = event.get("direction", -1)
            yield Operation(
                id=event["id"],
                kind=event["kind"],
                stream=event["stream"],
                line=at.line,
                part=at.part,
                begin=event["begin"] - first,
                end=event["end"] - first,
                after=tuple(event["after"]),
                ran_in=ran_in.get(event["id"], ""),
                bytes=event.get("bytes", 0),
                direction=_DIRECTIONS[direction] if direction in range(5) else "",
                pinned=bool(event.get("pinned")),
                kernel=event.get("kernel", ""),
                error=event["error"],
            )

    def _calls(self) -> Iterator[Call]:
        for event in self._of_kind("call"):
            at = self._at(event)
            yield Call(event["name"], at.line, event["error"], bool(event.get("injected")), at.part)

    def _leaks(self, lost: tuple[Allocation, ...]) -> Iterator[Fault]:
        """One for all of a pointer's."""
        groups: dict[object, list[Allocation]] = {}
        for allocation in lost:
            key = (allocation.part, allocation.line, allocation.name, allocation.bytes)
            groups.setdefault(key, []).append(allocation)
        for group in groups.values():
            yield dataclasses.replace(self._leak(group[0]), count=len(group))

    def _leak(self, lost: Allocation) -> Fault:
        where = Memory(
            space=lost.space,
            bytes=lost.bytes,
            offset=0,
            name=lost.name,
            id=lost.id,
            line=lost.line,
            part=lost.part,
        )
        fault = Fault("leak", "warning", "", memory=where, line=lost.line, part=lost.part)
        return explain(fault, self._program.line_text(lost.part, lost.line))

    def _faults(self) -> Iterator[Fault]:
        counts = {e.get("id"): e.get("count", 1) for e in self._of_kind("repeated")}
        for event in self._of_kind("fault"):
            yield self._fault(event, counts.get(event.get("id"), 1))

    def _fault(self, event: dict[str, Any], count: int) -> Fault:
        at = self._at(event)
        if at.line is None and "call_pc" in event:
            at = self._at(event, "call_pc")
        block, thread = event.get("block"), event.get("thread")
        fault = Fault(
            kind=event["kind"],
            severity="error",
            message="",
            line=at.line,
            part=at.part,
            kernel=event.get("kernel"),
            operation=event.get("operation"),
            block=tuple(block) if block else None,
            thread=tuple(thread) if thread else None,
            access=event.get("access", ""),
            size=event.get("size", 0),
            address=event.get("address", ""),
            memory=self._memory(event.get("memory")),
            other=self._other(event.get("other")),
            count=count,
            details={k: v for k, v in event.items() if k not in _SHOWN},
        )
        return explain(fault, self._program.line_text(at.part, at.line))

    def _memory(self, told: Event | None) -> Memory | None:
        if not told:
            return None
        at, freed = self._at(told), self._at(told, "freed_pc")
        known = self._allocations.get(told.get("id", -1))
        heap = told["space"] in ("global", "pinned", "managed")
        name = told.get("name") or (known.name if known and heap else "")
        return Memory(
            space=told["space"],
            bytes=told["bytes"],
            offset=told["offset"],
            name=name,
            id=told.get("id"),
            line=at.line,
            part=at.part,
            freed_line=freed.line,
            freed_part=freed.part,
        )

    def _other(self, told: Event | None) -> Other | None:
        if not told:
            return None
        at = self._at(told)
        thread = told.get("thread")
        return Other(
            access=told.get("access", ""),
            line=at.line,
            part=at.part,
            text=self._program.line_text(at.part, at.line),
            thread=tuple(thread) if thread else None,
            block=told.get("block"),
            operation=told.get("operation"),
        )


def _merged(faults: Iterable[Fault]) -> list[Fault]:
    """Races of the same two lines about the same memory are one, whoever reads or writes."""
    found: dict[object, Fault] = {}
    for fault in faults:
        key: object = len(found)
        if fault.other is not None and fault.kind.startswith("race"):
            lines = frozenset({(fault.part, fault.line), (fault.other.part, fault.other.line)})
            key = (fault.kind, fault.kernel, lines, fault.memory.id if fault.memory else None)
        first = found.get(key)
        if first is not None:
            fault = dataclasses.replace(first, count=first.count + fault.count)
        found[key] = fault
    return list(found.values())


def _by_cause(faults: list[Fault]) -> tuple[Fault, ...]:
    """In the order of time; but an uninitialised read may come of a race, which is told later."""
    late = {"uninitialised_read", "uninitialised_copy"} if _has_race(faults) else set()
    return tuple(sorted(faults, key=lambda fault: fault.kind in late))


def _has_race(faults: list[Fault]) -> bool:
    return any(fault.kind.startswith(("race", "barrier")) for fault in faults)


_SHOWN = frozenset(
    ("event", "kind", "id", "pc", "call_pc", "kernel", "operation", "block", "thread", "access")
) | frozenset(("size", "address", "memory", "other", "line", "file", "column"))
