"""Find the bug: two streams, asynchronous copies, and a result that is read before it is there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.cuda_answer import CELL, Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    SENTINEL,
    comparison,
    is_close,
    missing_result,
    not_written,
    quarters,
    trouble,
)
from autograder.verdict import Finding, Place, Table

_READY = "everything is in out when the function returns"
_RIGHT = "out[i] is 2 · in[i] + 1"
_STREAMS = "two streams have work that need not wait for the other's"
_HOST = "the host waits once, at the end"
_FREED = "memory and streams are given back"
_WAITS = (
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy",
)  # fmt: skip

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> numbers = check::input<float>(argv[1]);
    int n = (int)numbers.size();
    float *in, *out;
    cudaMallocHost(&in, n * sizeof(float));
    cudaMallocHost(&out, n * sizeof(float));
    for (int i = 0; i < n; ++i) { in[i] = numbers[i]; out[i] = SENTINEL; }
    overlap(in, out, n);
    std::vector<float> found(n);
    for (int i = 0; i < n; ++i) found[i] = out[i];
    cudaDeviceSynchronize();
    check::result(found.data(), n);
    cudaFreeHost(in);
    cudaFreeHost(out);
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    out: np.ndarray


def cases(generator: random.Random) -> list[Case]:
    found = []
    for n, seed in ((4096, 0), (4096, 1), (1003, 2), (8, 3)):
        x = quarters(generator, n)
        order = f", streams in the order of --seed {seed}" if seed else ""
        expected = _Expected(2 * x + 1)
        found.append(Case(((x,),), expected, f"{n:,} elements{order}", {"seed": seed}))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    early = ran.run.fault("read_before_ready", "changed_before_copied")
    if early is not None:
        yield _too_early(ran, early.message)
        return
    found = list(trouble(ran, _RIGHT))
    got = ran.array(0)
    if found or got is None:
        yield from found or [missing_result(_RIGHT)]
        return
    wrong = list(not_written(got, _RIGHT, block=256))
    if not wrong and not is_close(got, expected.out):
        table = comparison(got, expected.out)
        wrong = [Finding("wrong_values", f"{_RIGHT}: it is not.", property=_RIGHT, table=table)]
    yield from wrong or [*_waited(ran), *_streams(ran), *_host(ran), *_left(ran)]


def _too_early(ran: Ran, message: str) -> Finding:
    copies = [o for o in ran.run.operations if o.kind == "copy"]
    last = copies[-1] if copies else None
    place = (Place(last.line, note="queued here"),) if last is not None and last.line else ()
    return Finding(
        "read_before_ready",
        f"overlap returned, its caller read out, and the copies to it had not run yet. {message}",
        property=_READY,
        places=place,
        advice="An asynchronous copy is a promise. Before you return, wait for *every* stream "
        "that has one to keep: cudaStreamSynchronize, or cudaDeviceSynchronize for all.",
    )


def _waited(ran: Ran) -> Iterator[Finding]:
    """A copy that had not run when cudaFree was called, and ran there."""
    late = next(
        (o for o in ran.run.operations if o.kind == "copy" and o.ran_in.startswith("cudaFree")),
        None,
    )
    calls = [c.name for c in ran.run.calls if c.part == CELL]
    if late is None or any(name in _WAITS for name in calls[calls.index(late.ran_in) :]):
        return
    yield Finding(
        "free_waits",
        f"Nobody waits for a copy before {late.ran_in} is called: it ran in there. Drivers do wait "
        "before they free, but a function that keeps its buffers would hand out unfinished data.",
        property=_READY,
        places=(Place(late.line, note="queued here"),) if late.line else (),
        advice="First wait for every stream, cudaStreamSynchronize(stream), or for all, "
        "cudaDeviceSynchronize(); then free.",
    )


def _streams(ran: Ran) -> Iterator[Finding]:
    if ran.run.backend != "cpu":
        return
    launches = [o for o in ran.run.operations if o.kind == "launch"]
    used = {o.stream for o in launches}
    table = Table(
        ("stream", "kernels", "copies"),
        tuple(
            (str(s) if s else "0 (default)", _count(ran, s, "launch"), _count(ran, s, "copy"))
            for s in sorted({o.stream for o in ran.run.operations if o.kind in ("launch", "copy")})
        ),
    )
    if not launches:
        yield Finding("not_on_device", "No kernel was launched.", property=_STREAMS)
    elif 0 in used or (len(used) < 2 and len(launches) > 1):  # one piece needs one stream
        where = "the default stream" if 0 in used else "one stream"
        yield Finding(
            "one_stream",
            f"Kernels run in {where}: there, each waits for what came before it, and nothing "
            "overlaps.",
            property=_STREAMS,
            table=table,
            places=tuple(Place(o.line) for o in launches[:1] if o.line),
            advice="process<<<grid, block, 0, stream>>>(…), with another stream for every second "
            "piece; the copies of a piece go to the same stream.",
        )
    elif any(o.kind == "copy" and not o.pinned for o in ran.run.operations):
        yield Finding(
            "pageable",
            "A copy goes through memory that is not pinned: the driver copies it aside first, and "
            "the call comes back when that is done.",
            property=_STREAMS,
            table=table,
            advice="in and out are pinned already: copy from and to them.",
        )


def _count(ran: Ran, stream: int, kind: str) -> str:
    return str(sum(o.stream == stream and o.kind == kind for o in ran.run.operations))


def _host(ran: Ran) -> Iterator[Finding]:
    """Nothing may be waited for before the last piece is queued."""
    calls = [c for c in ran.run.calls if c.part == CELL]
    queued = [i for i, c in enumerate(calls) if c.name in ("cudaMemcpyAsync", "cudaMemcpy")]
    waits = [c for c in calls[: queued[-1]] if c.name in _WAITS] if queued else []
    if waits:
        yield Finding(
            "waits_between",
            f"{waits[0].name} makes the host wait before all pieces are queued: meanwhile the "
            "other stream has nothing to do.",
            property=_HOST,
            places=tuple(Place(c.line, note=c.name) for c in waits[:1] if c.line),
            advice="First queue everything, with cudaMemcpyAsync and launches; then wait.",
        )


def _left(ran: Ran) -> Iterator[Finding]:
    if ran.run.leaks:
        names = ", ".join(f"{a.name or 'memory'} ({a.bytes:,} bytes)" for a in ran.run.leaks)
        yield Finding(
            "leak",
            f"Never freed: {names}.",
            property=_FREED,
            places=tuple(Place(a.line, note="allocated") for a in ran.run.leaks if a.line),
            advice="cudaFree for each cudaMalloc, after the last wait.",
        )
    calls = [c.name for c in ran.run.calls if c.part == CELL]
    made = sum(name in ("cudaStreamCreate", "cudaStreamCreateWithFlags") for name in calls)
    if made > calls.count("cudaStreamDestroy"):
        yield Finding(
            "stream_left",
            f"{made} streams are made, and {calls.count('cudaStreamDestroy')} destroyed.",
            property=_FREED,
            advice="cudaStreamDestroy for each.",
        )


OVERLAP = Exercise(
    name="overlap",
    title="Two streams, and a promise not kept",
    properties=(
        Property(_READY, 2),
        Property(_RIGHT, 1),
        Property(_STREAMS, 1),
        Property(_HOST, 1),
        Property(_FREED, 1),
    ),
    cases=cases,
    examine=examine,
    hint="The order in one stream is kept: copy in, kernel, copy out of a piece need no waiting "
    "between them. Pieces in different streams need memory of their own on the device. The program "
    "that was found ends when everything is queued: it lacks the wait, one line for each stream, "
    "and after it all that gives back what it has taken.",
    difficulty=4,
    minutes=20,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS.replace("SENTINEL", f"{SENTINEL:.1f}f"),
)
