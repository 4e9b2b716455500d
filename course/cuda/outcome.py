"""What a run of a CUDA program leaves behind, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Diagnostic:
    """What a compiler says about a line of the cell. ``line`` and ``column`` count from 1."""

    severity: str  # "error" or "warning"
    message: str
    line: int | None
    column: int | None = None
    text: str = ""  # the line itself
    part: str = "cell"  # whose line it is: "prelude", "cell" or "harness"
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The memory that a fault is about.

    ``offset`` is that of the access, in bytes from its beginning: negative before it, ``bytes``
    or more past its end. ``name`` is the pointer that it was allocated to, or the variable's.
    """

    space: str  # global, shared, pinned, managed, symbol
    bytes: int
    offset: int
    name: str = ""
    id: int | None = None
    line: int | None = None
    part: str = "cell"
    freed_line: int | None = None
    freed_part: str = "cell"


@dataclass(frozen=True)
class Other:
    """The other side of a race, or of a barrier that not all reach."""

    access: str = ""
    line: int | None = None
    thread: Triple | None = None
    block: int | None = None  # counted linearly
    operation: int | None = None
    part: str = "cell"
    text: str = ""  # the line itself


@dataclass(frozen=True)
class Fault:
    """One thing that went wrong, at one place of the source.

    ``kind`` is a stable name (see :mod:`course.cuda.explain`). ``severity`` is ``"error"``, or
    ``"warning"`` for what happens to work. ``count`` is how often it happened. ``block`` and
    ``thread`` are those of its first time, None in host code. ``details`` are further numbers.
    """

    kind: str
    severity: str
    message: str
    advice: str = ""
    line: int | None = None
    part: str = "cell"
    text: str = ""
    kernel: str | None = None
    operation: int | None = None
    block: Triple | None = None
    thread: Triple | None = None
    access: str = ""
    size: int = 0
    address: str = ""
    memory: Memory | None = None
    other: Other | None = None
    count: int = 1
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def index(self) -> int | None:
        """The array's element that was accessed, where that is a whole number of them."""
        if self.memory is None or not self.size or self.memory.offset % self.size:
            return None
        return self.memory.offset // self.size


@dataclass(frozen=True)
class Launch:
    """One launch. ``error`` is CUDA's code, 0 for none; ``ran`` whether a thread began.

    ``static_shared`` is known from running; ``registers`` from ptxas, if it was asked.
    """

    kernel: str
    line: int | None
    grid: Triple
    block: Triple
    dynamic_shared: int = 0
    static_shared: int | None = None
    registers: int | None = None
    stream: int = 0
    error: int = 0
    ran: bool = True
    injected: bool = False
    operation: int | None = None
    seconds: float = 0.0
    part: str = "cell"

    @property
    def threads(self) -> int:
        """Of the whole grid."""
        x, y, z = self.grid
        return x * y * z * self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class Operation:
    """Work of a stream: a launch, copy, memset, event. Stream 0 is the default one.

    ``after`` are the operations that it must wait for. ``ran_in`` is the API call that made it
    run: what is queued runs when something waits. ``begin`` and ``end`` are seconds since
    the program's first operation: the times of this CPU, not a GPU's.
    """

    id: int
    kind: str
    stream: int
    line: int | None
    begin: float
    end: float
    after: tuple[int, ...] = ()
    ran_in: str = ""
    bytes: int = 0
    direction: str = ""
    pinned: bool = False
    kernel: str = ""
    error: int = 0
    part: str = "cell"


@dataclass(frozen=True)
class Call:
    """A call of the runtime API, in order. Launches are not calls."""

    name: str
    line: int | None
    error: int = 0
    injected: bool = False
    part: str = "cell"


@dataclass(frozen=True)
class Allocation:
    id: int
    space: str
    bytes: int
    line: int | None
    name: str = ""
    freed: bool = False
    part: str = "cell"


EXITED = "exited"  # main returned, or the program called exit
SIGNALLED = "signalled"  # a signal ended it: −11 is a segmentation fault
TIMEOUT = "timeout"
OUTPUT_LIMIT = "output_limit"  # it printed more than is kept, and was ended
MEMORY_LIMIT = "memory_limit"  # it used more memory than it may, and was ended
NOT_COMPILED = "not_compiled"


@dataclass(frozen=True)
class CudaRun:
    """How a program ended and what it did.

    ``exit_code`` is negative for a signal. ``seed`` is that of the order of threads and blocks.
    ``touches`` is a NumPy structured array with one row per access that was recorded (see
    :data:`course.cuda.events.TOUCH`), or None.
    """

    state: str
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    faults: tuple[Fault, ...] = ()
    launches: tuple[Launch, ...] = ()
    operations: tuple[Operation, ...] = ()
    calls: tuple[Call, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    leaks: tuple[Allocation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    touches: Any = None
    seconds: float = 0.0
    build_seconds: float = 0.0
    seed: int = 0
    backend: str = "cpu"
    dropped_output_bytes: int = 0
    last_error: int = 0  # what cudaGetLastError would have said at the end
    unread_launch_error: str = ""  # a kernel whose launch failed without anybody looking
    files: Mapping[str, bytes] = field(default_factory=dict)
    left_processes: int = 0  # that it had started, and that were ended with it
    failure: str = ""  # why it did not end well, in one sentence

    @property
    def ok(self) -> bool:
        """It ended by itself with code 0, without a fault that is an error."""
        return self.state == EXITED and self.exit_code == 0 and not self.errors

    @property
    def errors(self) -> tuple[Fault, ...]:
        return tuple(fault for fault in self.faults if fault.severity == "error")

    def fault(self, *kinds: str) -> Fault | None:
        """The first fault of one of these kinds."""
        return next((fault for fault in self.faults if fault.kind in kinds), None)

    def __repr__(self) -> str:
        from course.cuda.show import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from course.cuda.show import as_html

        return as_html(self)
