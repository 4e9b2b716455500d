"""Gradients accumulated over micro-batches, and exchanged once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import (
    Batch,
    Gradients,
    Net,
    Parts,
    build,
    data,
    device,
    gradients,
    local_gradients,
    mean_gradients,
    mean_squared,
)
from autograder.exercises.ddp.shared import (
    collectives,
    gradient_findings,
    listed_text,
    ranks_of,
    shown,
    split_at,
    tensors,
    times,
)
from autograder.exercises.ddp.watch import Watch
from autograder.verdict import Finding, Place, Table
from course.ranks.calls import mark
from course.ranks.outcome import Run

_GRADIENT = "the gradient is that of the whole batch"
_ONCE = "gradients are exchanged once"
_MEMORY = "one micro-batch is in memory at a time"
_STEP = "accumulation"


def call_accumulate(
    answer: Callable[..., Any],
    parts: Parts,
    seed: int,
    lengths: Sequence[int],
    xs: torch.Tensor,
    ys: torch.Tensor,
) -> dict[str, Any]:
    """Two accumulated backward passes: xs[k] and ys[k] are this rank's rows of pass k."""
    model = build(parts, seed)
    ddp = DistributedDataParallel(model, device_ids=[0] if device() == "cuda" else None)
    watch = Watch(ddp)
    evidence: dict[str, Any] = {"gradients": [], "seen": []}
    for x, y in zip(xs, ys, strict=True):
        model.zero_grad()
        watch.begin()
        mark(_STEP)
        answer(ddp, list(zip(x.split(lengths), y.split(lengths), strict=True)), mean_squared)
        evidence["gradients"].append(gradients(model))
        evidence["seen"].append(watch.seen())
    return evidence


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, lengths: tuple[int, ...], parts: Parts) -> Case:
        seed = generator.randrange(1 << 30)
        batches = [
            [data(generator.randrange(1 << 30), sum(lengths)) for _ in range(2)]
            for _ in range(world_size)
        ]
        inputs = tuple(
            (parts, seed, lengths, torch.stack([x for x, _ in of]), torch.stack([y for _, y in of]))
            for of in batches
        )
        label = f"{ranks_of(world_size)}, micro-batches of {', '.join(map(str, lengths))} rows"
        return Case(inputs, (build(parts, seed), batches, lengths), label)

    return [
        case(2, (4, 4, 4), Parts()),
        case(3, (4, 4, 1), Parts(frozen=True, tied=True)),
        case(4, (3,), Parts()),
        case(1, (2, 5), Parts()),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    model, batches, lengths = case.expected
    for number in range(2):
        shards = [of[number] for of in batches]
        got = [tensors(_at(value, number), list(dict(model.named_parameters())))
               for value in shown(run, "gradients")]  # fmt: skip
        found = list(_exchanges(len(lengths), number, run))
        wrong = list(_values(model, shards, lengths, got))
        # An exchange too many leaves the gradient right; one too few is why it is wrong.
        found = found if not wrong or any(f.property == _GRADIENT for f in found) else wrong
        found = found or wrong or list(_in_memory(lengths, number, run))
        if found:
            yield from found
            return


def _in_memory(lengths: Sequence[int], number: int, run: Run) -> Iterator[Finding]:
    """Micro-batches that were joined, or whose graphs were all kept for one backward."""
    seen = [_at(value, number) for value in shown(run, "seen")]
    rows = [max(rank["rows"], default=0) for rank in seen]
    together = [rank["together"] for rank in seen]
    table = Table(
        ("rank", "rows of each forward", "forwards at once"),
        tuple(
            (str(r), listed_text(rank["rows"]) if rank["rows"] else "–", str(together[r]))
            for r, rank in enumerate(seen)
        ),
    )
    advice = "For each micro-batch a forward and then its backward: backward frees the activations."
    if max(rows) > max(lengths):
        yield Finding(
            "joined",
            f"The gradient is right, but a forward takes {max(rows)} rows, and the largest "
            f"micro-batch has {max(lengths)}: together their activations do not fit into memory.",
            _MEMORY,
            table,
            advice=advice,
        )
    elif max(together) > 1:
        yield Finding(
            "graphs_kept",
            f"The gradient is right, but {max(together)} forwards run before the first of their "
            "backwards: the activations of all of them are in memory together.",
            _MEMORY,
            table,
            advice=advice + " A sum of losses keeps what each of them was computed from.",
        )


def _at(value: Any, number: int) -> Any:
    return value[number] if isinstance(value, list) and len(value) > number else None


def _values(
    model: Net, shards: Sequence[Batch], lengths: Sequence[int], got: Sequence[Gradients]
) -> Iterator[Finding]:
    local = [local_gradients(model, x, y) for x, y in shards]
    for finding in gradient_findings(got, local, _GRADIENT):
        for code, mistaken, why, advice in _mistakes(model, shards, lengths):
            if not list(gradient_findings(got, mistaken, _GRADIENT)):
                yield Finding(code, why, _GRADIENT, finding.table, advice=advice)
                return
        if finding.code == "divided_twice":
            advice = "DDP divides by the number of ranks already. What else here does?"
            finding = replace(finding, advice=advice)
        yield finding


def _mistakes(
    model: Net, shards: Sequence[Batch], lengths: Sequence[int]
) -> Iterator[tuple[str, list[Gradients], str, str]]:
    """Known ways to weight micro-batches wrongly: code, each rank's gradients, why, advice."""
    k = len(lengths)
    parts = [
        [local_gradients(model, a, b) for a, b in zip(x.split(lengths), y.split(lengths))]
        for x, y in shards
    ]
    yield (
        "not_divided",
        [_scaled(mean_gradients(of), k) for of in parts],
        f"The gradient is the sum over the {k} micro-batches, not the mean: every backward adds to "
        "what is there.",
        "Weight each loss with its share of the rows, len(x) / total, before backward.",
    )
    yield (
        "mean_of_means",
        [mean_gradients(of) for of in parts],
        f"The micro-batches have {listed_text(lengths)} rows, and each counts the same: a row of a "
        "small micro-batch weighs more than one of a large one.",
        "Weight each loss with len(x) / total rows, not with 1 / k.",
    )
    for weight in (1, 1 / k, lengths[-1] / sum(lengths)):
        yield (
            "last_only",
            [_scaled(of[-1], weight) for of in parts],
            "Only the last micro-batch is in the gradient.",
            "Do not call zero_grad() between the micro-batches: backward adds them up.",
        )


def _scaled(of: Gradients, factor: float) -> Gradients:
    return {name: None if g is None else g * factor for name, g in of.items()}


def _exchanges(k: int, number: int, run: Run) -> Iterator[Finding]:
    seen = [_at(value, number) for value in shown(run, "seen")]
    by_ddp = [sum(e["first"] for e in rank["exchanges"]) for rank in seen]
    own = [len(_own_collectives(run, r, number)) for r in range(len(run))]
    if all(a + b == 1 for a, b in zip(by_ddp, own)) and not _too_early(seen, own):
        return
    table = Table(
        ("rank", "micro-batches", "through DDP", "exchanges by DDP", "your own collectives"),
        tuple(
            (str(r), str(k), str(seen[r]["wrapper"]), str(by_ddp[r]), str(own[r]))
            for r in range(len(run))
        ),
    )
    places = tuple(
        Place(e["line"], note="DDP exchanges gradients", rank=r)
        for r, rank in enumerate(seen)
        for e in rank["exchanges"][:1]
        if e["line"]
    )

    def finding(code: str, why: str, property_: str, advice: str) -> Finding:
        return Finding(code, why, property_, table, places, advice)

    if not any(rank["rows"] for rank in seen):
        yield finding(
            "not_called",
            "The model was never called.",
            _GRADIENT,
            "For each micro-batch a forward, ddp(x), and a backward.",
        )
    elif max(by_ddp) == 0 and max(own) == 0 and min(r["wrapper"] for r in seen) == 0:
        yield finding(
            "around_the_wrapper",
            "No forward went through DDP: it prepares the exchange in its forward, so backward "
            "exchanged nothing, and every rank keeps its own gradients.",
            _GRADIENT,
            "Call ddp(x), not ddp.module(x).",
        )
    elif max(by_ddp) == 0 and max(own) == 0:
        yield finding(
            "never_synchronised",
            "DDP never exchanged gradients: the last micro-batch, too, was inside no_sync(), and "
            "every rank keeps its own.",
            _GRADIENT,
            "Leave no_sync() before the last micro-batch: the backward outside of it exchanges "
            "the whole sum.",
        )
    elif max(by_ddp) > 1:
        yield finding(
            "synchronised_each_time",
            f"DDP exchanged gradients {times(max(by_ddp), 'time')} for {times(k, 'micro-batch')}. "
            "It decides in forward whether the backward that follows will exchange: no_sync() "
            "around backward alone changes nothing.",
            _ONCE,
            "Put forward and backward of all micro-batches but the last inside no_sync().",
        )
    elif _too_early(seen, own):
        yield finding(
            "synchronised_too_early",
            "DDP exchanged gradients before the last micro-batch; what was added afterwards is "
            "each rank's own.",
            _GRADIENT,
            "It is the last micro-batch that belongs outside no_sync().",
        )
    else:
        yield finding(
            "too_many_calls",
            f"Gradients were exchanged {times(max(a + b for a, b in zip(by_ddp, own)), 'time')}.",
            _ONCE,
            "One exchange is enough: the one that DDP makes in the last backward.",
        )


def _too_early(seen: Sequence[Any], own: Sequence[int]) -> bool:
    return not any(own) and any(
        e["after"] < max(rank["wrapper"], rank["module"])
        for rank in seen
        for e in rank["exchanges"]
    )


def _own_collectives(run: Run, rank: int, number: int) -> list[Any]:
    steps = split_at(run[rank].calls, (_STEP,))
    return collectives(steps[number][_STEP]) if number < len(steps) else []


NO_SYNC = Exercise(
    name="no_sync",
    title="Accumulate first, exchange once",
    properties=(Property(_GRADIENT, 2), Property(_ONCE, 1), Property(_MEMORY, 1)),
    cases=cases,
    examine=examine,
    hint="`with ddp.no_sync():` around a forward *and* its backward keeps the gradients on this "
    "rank, where they add up. That is for all micro-batches but the last; the last one, outside, "
    "exchanges the sum. `contextlib.nullcontext()` is a `with` that does nothing, for the last "
    "turn of a loop. And the loss: the mean over 12 rows is not the sum of three means over 4. "
    "What must each be multiplied with?",
    difficulty=2,
    minutes=15,
    call=call_accumulate,
)
