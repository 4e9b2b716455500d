"""When each rank computed and when it communicated, in one training step or several.

In a rank:

    with record(model) as recording:
        ...  # forward, backward, exchange of gradients
    return recording.spans()

and where it was launched, ``timeline(run)``. Times are those of the host: on a GPU, which works
behind the host's back, they say when work was issued.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from course.ranks.outcome import Run

COMPUTE, COMMUNICATION = "compute", "communication"
_TOUCHING = 5e-5  # seconds between two spans that nothing lies between
_RECORDED = ("all_reduce", "broadcast", "all_gather", "reduce", "send", "recv")


@dataclass(frozen=True)
class Span:
    """A stretch of one rank's time. ``label`` is a layer's name, or a collective's.

    Times are in seconds and from one clock for all ranks; in a timeline, the first span begins
    at 0. ``bytes`` is what a collective was given.
    """

    rank: int
    kind: str  # COMPUTE or COMMUNICATION
    label: str
    begin: float
    end: float
    bytes: int = 0

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True)
class Link:
    """A pretended network: one collective at a time, each so long, whatever the machine can do.

    A collective takes the link when the last rank has called it, and on all ranks at once. A
    message takes it when both its sides have called.

    The real exchange is made as well. Ranks of one machine are joined by its memory, and what
    they exchange costs them the very cores that compute; a network costs time.
    """

    latency: float  # seconds for any collective
    bytes_per_second: float

    def seconds(self, size: int) -> float:
        return self.latency + size / self.bytes_per_second


class Recording:
    """The spans of this rank. Made by :func:`record`."""

    def __init__(
        self, link: Link | None, overlap: bool = True, clock: dist.ProcessGroup | None = None
    ) -> None:
        self._link = link
        self._overlap = overlap
        self._clock = clock  # over it the ranks tell each other when they called
        self._link_free = 0.0
        self._queue: list[_Delayed] = []  # called, and not yet known when it takes the link
        self._spans: list[Span] = []
        self._blocked: list[tuple[float, float]] = []  # the rank stood still in a collective
        self._at = time.monotonic()
        self._in_forward = False
        self._pending = 0
        self._done = threading.Condition()
        self._turn = threading.Lock()

    def spans(self) -> list[tuple[Any, ...]]:
        """What was recorded, as plain data that a rank can return. Waits for what is under way."""
        if self._queue:
            self.settle(self._queue[-1])
        with self._done:
            self._done.wait_for(lambda: self._pending == 0, timeout=10)
        return [dataclasses.astuple(span) for span in self._spans]

    # computation

    def begin(self) -> None:
        """What was done since the last span is nobody's."""
        self._at = time.monotonic()

    def forward(self, label: str) -> None:
        self.computed(label)
        self._in_forward = True

    def backward(self) -> None:
        """Backward reaches a layer: the first one is where it begins."""
        if self._in_forward:
            self.begin()
        self._in_forward = False

    def computed(self, label: str) -> None:
        """All time since the last span was spent on this, but for that inside collectives."""
        now = time.monotonic()
        for begin, end in without(self._at, now, self._blocked):
            self._add(COMPUTE, label, begin, end)
        self._blocked.clear()
        self._at = now

    def _add(self, kind: str, label: str, begin: float, end: float, size: int = 0) -> None:
        self._spans.append(Span(dist.get_rank(), kind, label, begin, end, size))

    # communication

    def communicate(self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Make the collective's call, and record it from here to its end."""
        size = _bytes(args[0] if args else None)
        if self._link is not None and kwargs.get("group") not in (None, dist.group.WORLD):
            raise ValueError("The pretended link joins all ranks: it knows no smaller group.")
        begin = time.monotonic()
        result = call(*args, **kwargs)
        if self._link is not None:
            handle = _Delayed(result, self, self._link.seconds(size), name, size)
            if name in ("send", "recv"):
                handle.leave_with(_peer_of(name, args, kwargs))
            elif self._overlap:
                handle.leave(begin)
            if isinstance(result, dist.Work):
                return handle
            handle.wait()
        elif isinstance(result, dist.Work):
            with self._done:
                self._pending += 1
            result.get_future().add_done_callback(lambda _: self._finished(name, begin, size))
            return result
        else:
            self._add(COMMUNICATION, name, begin, time.monotonic(), size)
        self.blocked(begin)
        return result

    def _finished(self, name: str, begin: float, size: int) -> None:
        self._add(COMMUNICATION, name, begin, time.monotonic(), size)
        with self._done:
            self._pending -= 1
            self._done.notify_all()

    def tell(self, called: float) -> Callable[[], float]:
        """Tell the others when this rank called, and come back at once.

        What is returned waits for all, and says when the last of them called.
        """
        assert self._clock is not None
        last = torch.tensor([called], dtype=torch.float64)
        options = dist.AllreduceOptions()
        options.reduceOp = dist.ReduceOp.MAX  # type: ignore[assignment]
        work = self._clock.allreduce([last], options)
        return lambda: (work.wait(), float(last))[1]

    def tell_peer(self, called: float, peer: int, first: bool) -> float:
        """When the later side of a message called it; each of the two tells the other."""
        assert self._clock is not None
        own, other = (
            torch.tensor([called], dtype=torch.float64),
            torch.zeros(1, dtype=torch.float64),
        )
        if first:
            self._clock.send([own], peer, 0).wait()
            self._clock.recv([other], peer, 0).wait()
        else:
            self._clock.recv([other], peer, 0).wait()
            self._clock.send([own], peer, 0).wait()
        return max(called, float(other))

    def enqueue(self, handle: _Delayed) -> None:
        self._queue.append(handle)

    def settle(self, handle: _Delayed) -> None:
        """Give the link to all that were called before this one, and to this one."""
        with self._turn:
            while handle in self._queue:
                self._queue.pop(0).take()

    def occupy(self, begin: float, seconds: float, name: str, size: int) -> float:
        """A message waits until the link is free, and takes it for so long; when is it over?"""
        begin = max(begin, self._link_free)
        self._link_free = begin + seconds
        self._add(COMMUNICATION, name, begin, self._link_free, size)
        return self._link_free

    def blocked(self, begin: float) -> None:
        """The rank stood still from then until now."""
        self._blocked.append((begin, time.monotonic()))


class _Delayed:
    """A work handle that is done when the pretended link says so."""

    def __init__(
        self, work: Any, recording: Recording, seconds: float, name: str, size: int
    ) -> None:
        self._work, self._recording = work, recording
        self._seconds, self._name, self._size = seconds, name, size
        self._called: Callable[[], float] | None = None  # when the last rank did; none: not left
        self._until: float | None = None  # it has not had the link yet

    def leave(self, called: float) -> None:
        """The message stands in line for the link, if it does not already."""
        if self._called is None:
            self._called = self._recording.tell(called)
            self._recording.enqueue(self)

    def leave_with(self, peer: int) -> None:
        """The same for a send or a receive, which concerns two ranks."""
        last = self._recording.tell_peer(time.monotonic(), peer, first=self._name == "send")
        self._called = lambda: last
        self._recording.enqueue(self)

    def take(self) -> None:
        """The message has its turn on the link, when all ranks have called it."""
        assert self._called is not None
        self._until = self._recording.occupy(self._called(), self._seconds, self._name, self._size)

    def wait(self) -> bool:
        begin = time.monotonic()
        self.leave(begin)
        self._finish()
        self._recording.blocked(begin)
        return True

    def is_completed(self) -> bool:
        if self._called is None or not self._work.is_completed():
            return False
        self._recording.settle(self)  # all ranks have called: this is soon known
        return self._until is not None and time.monotonic() >= self._until

    def get_future(self) -> torch.futures.Future[Any]:
        self.leave(time.monotonic())
        future: torch.futures.Future[Any] = torch.futures.Future()

        def finish() -> None:
            self._finish()
            future.set_result(self._work.get_future().value())

        threading.Thread(target=finish, daemon=True).start()
        return future

    def _finish(self) -> None:
        if isinstance(self._work, dist.Work):
            self._work.wait()
        self._recording.settle(self)
        time.sleep(max(0.0, (self._until or 0.0) - time.monotonic()))


@contextlib.contextmanager
def record(model: nn.Module, link: Link | None = None, overlap: bool = True) -> Iterator[Recording]:
    """Record this rank's forward and backward of each layer, and its collectives.

    A layer's backward ends when a gradient of its parameters is complete. Collectives are seen
    that are called through ``torch.distributed``'s module (``dist.all_reduce(...)``); those that
    DDP makes by itself are not, unless it was told to by :func:`watch`.

    Without ``overlap``, what is started asynchronously takes the pretended link only when it is
    waited for: the same messages, and nothing is hidden.
    """
    recording = Recording(link, overlap, None if link is None else _clock())
    hooks = [hook for name, module in _layers(model) for hook in _hook(recording, name, module)]
    originals = {name: getattr(dist, name) for name in _RECORDED}
    for name, original in originals.items():
        call = functools.partial(recording.communicate, name, original)
        setattr(dist, name, functools.wraps(original)(call))
    try:
        if link is not None:
            _clock().barrier().wait()  # all ranks begin together
        recording.begin()
        yield recording
    finally:
        for name, original in originals.items():
            setattr(dist, name, original)
        for hook in hooks:
            hook.remove()


@functools.cache
def _clock() -> dist.ProcessGroup:
    """A group of its own for all ranks, so that no collective of the code meets one of ours."""
    group = dist.new_group(backend="gloo")
    assert isinstance(group, dist.ProcessGroup)
    return group


def _peer_of(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
    peer = args[1] if len(args) > 1 else kwargs.get("dst" if name == "send" else "src")
    if not isinstance(peer, int):
        raise ValueError(f"Over a pretended link, a {name} must say with which rank: a number.")
    return peer


def watch(ddp: nn.parallel.DistributedDataParallel) -> None:
    """Have DDP exchange gradients by ``dist.all_reduce``, which recordings see.

    Its own calls are made in C++. This comm hook does what DDP does without one.
    """

    def exchange(bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buffer = bucket.buffer().div_(dist.get_world_size())
        work = dist.all_reduce(buffer, async_op=True)
        assert work is not None
        return work.get_future().then(lambda future: future.value()[0])

    ddp.register_comm_hook(None, lambda _, bucket: exchange(bucket))


def _layers(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The modules that have parameters of their own."""
    return [(n, m) for n, m in model.named_modules() if any(True for _ in m.parameters(False))]


def _hook(recording: Recording, name: str, module: nn.Module) -> Iterator[Any]:
    yield module.register_forward_pre_hook(lambda *_: recording.begin())
    yield module.register_forward_hook(lambda *_: recording.forward(f"forward {name}"))
    yield module.register_full_backward_pre_hook(lambda *_: recording.backward())
    for parameter in module.parameters(False):
        if parameter.requires_grad:
            yield parameter.register_post_accumulate_grad_hook(
                lambda _: recording.computed(f"backward {name}")
            )


def _bytes(value: Any) -> int:
    tensors = value if isinstance(value, (list, tuple)) else [value]
    return sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))


# where the ranks were launched


def timeline(run: Run) -> list[Span]:
    """The spans of all ranks, by the time at which they begin, which is 0 for the first.

    Raises:
        ValueError: the ranks did not return ``recording.spans()``, or the run failed.
    """
    if not run.ok:
        raise ValueError("The run failed, so there is nothing to draw: look at the run itself.")
    try:
        spans = [Span(*fields) for value in run.values for fields in value]
    except TypeError:
        raise ValueError("Each rank must return recording.spans() of its own recording.") from None
    start = min((span.begin for span in spans), default=0.0)
    moved = [dataclasses.replace(s, begin=s.begin - start, end=s.end - start) for s in spans]
    return sorted(moved, key=lambda span: span.begin)


def joined(spans: Sequence[Span]) -> list[Span]:
    """Stretches of one rank's computation that follow each other and have one label, as one."""
    result: list[Span] = []
    last: dict[int, int] = {}  # rank: index of its last stretch of computation
    for span in sorted(spans, key=lambda span: span.begin):
        before = result[last[span.rank]] if span.rank in last else None
        if span.kind != COMPUTE:
            result.append(span)
        elif before and before.label == span.label and span.begin - before.end < _TOUCHING:
            result[last[span.rank]] = dataclasses.replace(before, end=span.end)
        else:
            last[span.rank] = len(result)
            result.append(span)
    return result


def exposed(spans: Sequence[Span], rank: int) -> float:
    """Seconds in which this rank communicated and did not compute: what the exchange costs."""
    own = [span for span in spans if span.rank == rank]
    busy = [(s.begin, s.end) for s in own if s.kind == COMPUTE]
    waits = merged([(s.begin, s.end) for s in own if s.kind == COMMUNICATION])
    return sum(end - begin for w in waits for begin, end in without(*w, busy))


@dataclass(frozen=True)
class Shares:
    """Of one rank's step: its seconds, and the parts of it, from 0 to 1."""

    seconds: float
    communication: float  # some collective is under way
    exposed: float  # one is, and the rank does not compute


def shares(spans: Sequence[Span], rank: int) -> Shares:
    """How much of this rank's time, from its first span to its last, is communication."""
    own = [span for span in spans if span.rank == rank]
    if not own:
        return Shares(0.0, 0.0, 0.0)
    seconds = max(span.end for span in own) - min(span.begin for span in own)
    under_way = merged([(s.begin, s.end) for s in own if s.kind == COMMUNICATION])
    busy = sum(end - begin for begin, end in under_way)
    return Shares(seconds, busy / seconds, exposed(spans, rank) / seconds)


def merged(intervals: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Overlapping intervals made one."""
    result: list[tuple[float, float]] = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def without(
    begin: float, end: float, holes: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """What is left of an interval outside of all holes."""
    result = []
    for hole_begin, hole_end in merged(holes):
        if hole_end <= begin or hole_begin >= end:
            continue
        if hole_begin > begin:
            result.append((begin, hole_begin))
        begin = max(begin, hole_end)
    if begin < end:
        result.append((begin, end))
    return result
