"""Gradients reduced in buckets: fewer, larger messages, and still while backward runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import Gradients, Parts
from autograder.exercises.ddp.overlapped import begins_early, blame_the_calls
from autograder.exercises.ddp.shared import (
    is_close,
    is_reduction,
    listed_text,
    names_text,
    places_of,
    ranks_of,
    shown,
    times,
)
from autograder.exercises.ddp.training import (
    BACKWARD,
    FORWARD,
    Plan,
    Training,
    call_train,
    plan_training,
    reduced_in,
    start_findings,
    step_findings,
    steps_of,
    wrapper_findings,
)
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

NAME = "BucketedDDP"
MB = 2**20
_TRAINS = "every rank trains like one process on the whole batch"
_BUCKETS = "as many buckets as needed, filled from the last layer on"
_EARLY = "a bucket leaves when its gradients, and all buckets before it, are there"


def cases(generator: random.Random) -> list[Case]:
    def case(
        world_size: int, parts: Parts, cap: float, branches: tuple[str | None, ...] = ()
    ) -> Case:
        plans = [
            Plan(
                parts,
                generator.randrange(1 << 30),
                branch=branches[r] if branches else None,
                late=tuple(s for s in (1, 2) if s % world_size == r and world_size > 1),
                arguments=(cap / MB,),
            )
            for r in range(world_size)
        ]
        inputs, training = plan_training(plans, 5, 4, generator.randrange(1 << 20))
        size = f"{cap / MB:g} MB" if cap >= MB / 10 else f"{cap:g} bytes"
        label = f"{ranks_of(world_size)}, {parts}, buckets of {size}"
        if branches:
            label += f" ({listed_text([f'{b} on rank {r}' for r, b in enumerate(branches)])})"
        return Case(inputs, (training, cap), label)

    # In these sizes, another unit or another order makes other buckets; in the second case, the
    # first bucket is full to the last byte. In the third, the branches' weights are a bucket each,
    # of one size: who starts buckets in the order in which they become complete adds up the two.
    return [
        case(2, Parts(frozen=True), 580),
        case(3, Parts(tied=True, unused=True), 296),
        case(2, Parts(branches=True), 512, ("a", "b")),
        case(4, Parts(frozen=True, tied=True), 25 * MB),
        case(1, Parts(unused=True), 285),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    training, cap = case.expected
    model = training.models[0]
    buckets = fill_buckets(model, cap)
    found = list(wrapper_findings(run, _TRAINS, NAME))
    found = found or list(start_findings(training, run, _TRAINS))
    found = found or _blame(training, buckets, run, list(step_findings(training, run, _TRAINS)))
    found = found or list(_counted(model, buckets, cap, run))
    # What a bucket waits for in vain, the buckets after it wait for too.
    if len(buckets) > 1 and not any("unused" in name for name in buckets[0]):
        found = found or _late(run)
    yield from found


def _late(run: Run) -> list[Finding]:
    """Steps in which no bucket leaves inside backward."""
    found = list(begins_early(run, _EARLY))
    early = [
        [bool(reduced_in(step, FORWARD, BACKWARD)) for step in steps_of(run, rank)]
        for rank in range(len(run))
    ]
    if not found or found[0].code != "no_overlap" or not all(steps[0] for steps in early):
        return found
    rank, number = next((r, s.index(False)) for r, s in enumerate(early) if False in s)
    return [
        replace(
            found[0],
            code="not_reset",
            message=f"Step 1 starts buckets inside backward, and step {number + 1} none on rank "
            f"{rank}: the gradients are right, for finish() sends what is left, but no bucket "
            "is found complete any more.",
            advice="What counts the gradients of a bucket must be set back for the next step, as "
            "the list of handles is.",
        )
    ]


def fill_buckets(
    model: nn.Module,
    cap: float,
    first_to_last: bool = False,
) -> list[list[str]]:
    """The names in each bucket: from the last parameter on, none above cap unless it is alone."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    buckets: list[list[str]] = []
    filled = 0.0
    for name, parameter in trained if first_to_last else reversed(trained):
        if not buckets or filled + parameter.nbytes > cap:
            buckets.append([])
            filled = 0.0
        buckets[-1].append(name)
        filled += parameter.nbytes
    return buckets


def sizes_of(model: nn.Module, buckets: Sequence[Sequence[str]]) -> list[int]:
    """Bytes of each bucket."""
    of = {n: p.nbytes for n, p in model.named_parameters()}
    return [sum(of[name] for name in bucket) for bucket in buckets]


def _blame(
    training: Training, buckets: list[list[str]], run: Run, found: list[Finding]
) -> list[Finding]:
    """Wrong gradients, by the bucket that was never sent, or the handle nobody waited for."""
    if not found:
        return []
    mixed = list(_in_order_of_completion(training, buckets, run))
    if mixed:
        return mixed
    most = sum(p.requires_grad for p in training.models[0].parameters())
    found = blame_the_calls(run, most, found)
    if found[0].code != "not_averaged":
        return found
    counts = [len(reduced_in(step, *step)) for step in steps_of(run, 0)]
    right = found[0].message.startswith("In step") and counts and counts[0] == len(buckets)
    code, why, advice = found[0].code, "", found[0].advice
    if right and any(count < len(buckets) for count in counts[1:]):
        code = "not_reset"
        why = f" Step 1 reduced {times(counts[0], 'bucket')}, a later one {min(counts)}: something "
        why += "that is counted in one step is not set back for the next."
        advice = "finish() must leave everything as it was before the first backward."
    elif counts and 0 < counts[0] < len(buckets) and any("unused" in n for b in buckets for n in b):
        code = "bucket_not_flushed"
        why = f" Only {counts[0]} of {len(buckets)} buckets were reduced: a bucket that holds a "
        why += "parameter without a gradient never becomes complete."
        advice = (
            "In finish(), start what has not been started yet, in the order of the buckets, with "
            "zeros where a gradient is None."
        )
    return [
        Finding(
            code, found[0].message + why, _TRAINS, found[0].table, places_of(run, is_reduction),
            advice,
        )
    ]  # fmt: skip


def _counted(model: nn.Module, buckets: list[list[str]], cap: float, run: Run) -> Iterator[Finding]:
    for rank in range(len(run)):
        for number, step in enumerate(steps_of(run, rank)):
            sent = [call.bytes for call in reduced_in(step, *step)]
            if _fits(model, buckets, sent) or (len(run) == 1 and not sent):
                continue
            code, why, advice = _cause(model, buckets, cap, sent)
            yield Finding(
                code,
                f"The gradients are right, but in step {number + 1} rank {rank} sends {why}.",
                property=_BUCKETS,
                table=_buckets_table(model, buckets, sent),
                places=places_of(run, is_reduction),
                advice=advice,
            )
            return


def _in_order_of_completion(
    training: Training, buckets: list[list[str]], run: Run
) -> Iterator[Finding]:
    """Ranks that use other branches, and start their buckets in the order in which they fill."""
    local, _ = next(training.steps())
    orders = [_order_of_completion(buckets, gradients) for gradients in local]
    k = next((k for k, of in enumerate(zip(*orders, strict=True)) if len(set(of)) > 1), None)
    first = [_entry(value) for value in shown(run, "gradients")]
    if k is None or not all(isinstance(of, dict) for of in first):
        return
    wanted = [_mixed(buckets, orders, local, rank) for rank in range(len(run))]
    names = [name for bucket in buckets for name in bucket]
    if not all(is_close(first[r].get(n), wanted[r][n]) for r in range(len(run)) for n in names):
        return
    each = [f"rank {r}'s was bucket {order[k]}" for r, order in enumerate(orders)]
    yield Finding(
        "order_of_completion",
        f"The ranks start their buckets in different orders. They use different branches, so that "
        f"different buckets are complete first: of the all-reduces number {k + 1}, "
        f"{listed_text(each)}, and the numbers of two buckets were added.",
        _TRAINS,
        Table(
            ("rank", "buckets started"),
            tuple((str(r), ", ".join(map(str, order))) for r, order in enumerate(orders)),
        ),
        places_of(run, is_reduction),
        "Start a bucket only when all buckets before it have been started, and in finish() those "
        "that are left, in order: then the order is the same on every rank.",
    )


def _entry(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _order_of_completion(buckets: list[list[str]], gradients: Gradients) -> list[int]:
    full = [all(gradients[name] is not None for name in bucket) for bucket in buckets]
    numbers = range(len(buckets))
    return [i for i in numbers if full[i]] + [i for i in numbers if not full[i]]


def _mixed(
    buckets: list[list[str]], orders: list[list[int]], local: list[Gradients], rank: int
) -> dict[str, torch.Tensor]:
    """What this rank gets if the k-th message of each rank meets the k-th of the others."""
    shapes = {name: g.shape for of in local for name, g in of.items() if g is not None}
    mixed: dict[str, torch.Tensor] = {}
    for numbers in zip(*orders, strict=True):
        flats = [
            torch.cat([_or_zeros(local[r][n], shapes[n]).flatten() for n in buckets[i]])
            for r, i in enumerate(numbers)
        ]
        if len({len(flat) for flat in flats}) > 1:
            return dict.fromkeys(shapes, torch.zeros(0))
        mean = torch.stack(flats).mean(0)
        names = buckets[numbers[rank]]
        for name, piece in zip(names, mean.split([shapes[n].numel() for n in names]), strict=True):
            mixed[name] = piece.view(shapes[name])
    return mixed


def _or_zeros(gradient: torch.Tensor | None, shape: torch.Size) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.float64) if gradient is None else gradient


def _fits(model: nn.Module, buckets: list[list[str]], sent: list[int]) -> bool:
    """Whether these messages are the buckets, with or without what no rank has a gradient of."""
    used = [[name for name in bucket if "unused" not in name] for bucket in buckets]
    wanted = (buckets, used, [bucket for bucket in used if bucket])
    return any(sorted(sizes_of(model, names)) == sorted(sent) for names in wanted)


def _cause(
    model: nn.Module, buckets: list[list[str]], cap: float, sent: list[int]
) -> tuple[str, str, str]:
    wanted = times(len(buckets), "bucket")
    single = [p for p in model.parameters() if p.requires_grad]
    if not sent:
        return "no_reduction", "nothing by dist.all_reduce", "Reduce each bucket by one call."
    if len(sent) == 1:
        return (
            "one_bucket",
            f"everything at once, where a limit of {cap:g} bytes makes {wanted}",
            "Begin a new bucket when the next parameter would bring this one above the limit, in "
            "bytes: an element of these parameters has 8.",
        )
    if len(buckets) < len(sent) and len(single) - 2 <= len(sent) <= len(single):
        return (
            "one_per_parameter",
            f"{times(len(sent), 'message')}, one for each parameter, where {wanted} would do",
            "Collect the gradients of a bucket in one flat tensor, and reduce that.",
        )
    for code, other, why, advice in _mistakes(model, cap):
        if Counter(sizes_of(model, other)) == Counter(sent):
            return code, f"{times(len(sent), 'bucket')} of {listed_text(sent)} bytes: {why}", advice
    if max(sent) > cap and max(sent) > max(p.nbytes for p in single):
        return (
            "bucket_too_large",
            f"a bucket of {max(sent)} bytes, above the limit of {cap:g}",
            "Before a parameter goes into a bucket, ask whether it still fits. Only a parameter "
            "that is larger than the limit by itself makes a larger bucket, alone.",
        )
    return (
        "wrong_buckets",
        f"{times(len(sent), 'bucket')} of {listed_text(sent)} bytes",
        "Take the trained parameters in reverse order; a bucket ends when the next one would not "
        "fit.",
    )


def _mistakes(model: nn.Module, cap: float) -> Iterator[tuple[str, list[list[str]], str, str]]:
    """Known ways to fill buckets wrongly: code, the buckets that result, why, and what to try."""
    yield (
        "first_to_last",
        fill_buckets(model, cap, first_to_last=True),
        "filled from the first layer on, though backward ends there",
        "Gradients come in the reverse order of the layers: reversed(list(module.parameters())).",
    )
    yield (
        "full_too_early",
        fill_buckets(model, cap - 1e-6),
        "a parameter that fills a bucket exactly begins a new one",
        "Only a parameter that would bring the bucket above the limit begins the next: >, not >=.",
    )
    yield (
        "wrong_unit",
        fill_buckets(model, cap / MB * 1e6),
        "the limit was taken as millions of bytes",
        "bucket_mb counts in units of 1024 × 1024 bytes, as torch's bucket_cap_mb does.",
    )
    yield (
        "wrong_element_size",
        fill_buckets(model, cap * 2),
        "an element was counted as 4 bytes; these have 8",
        "A parameter has param.numel() * param.element_size() bytes.",
    )
    yield (
        "bucket_too_large",
        _close_when_full(model, cap),
        "a bucket ends only when it has passed the limit",
        "Ask before a parameter goes in, not afterwards.",
    )


def _close_when_full(model: nn.Module, cap: float) -> list[list[str]]:
    """Buckets that end with the parameter that reached the limit."""
    buckets: list[list[str]] = [[]]
    filled = 0
    for name, p in reversed([(n, p) for n, p in model.named_parameters() if p.requires_grad]):
        if filled >= cap:
            buckets.append([])
            filled = 0
        buckets[-1].append(name)
        filled += p.nbytes
    return buckets


def _buckets_table(model: nn.Module, buckets: list[list[str]], sent: list[int]) -> Table:
    wanted = sizes_of(model, buckets)
    rows = []
    for i in range(max(len(sent), len(buckets))):
        rows.append(
            (
                str(i),
                str(sent[i]) if i < len(sent) else "–",
                str(wanted[i]) if i < len(buckets) else "–",
                names_text(buckets[i]) if i < len(buckets) else "",
            )
        )
    return Table(("bucket", "bytes sent", "wanted", "holds"), tuple(rows))


BUCKETED_DDP = Exercise(
    name=NAME,
    title="Buckets",
    properties=(Property(_TRAINS, 2), Property(_BUCKETS, 2), Property(_EARLY, 1)),
    cases=cases,
    examine=examine,
    hint="In `__init__`, make the buckets (lists of parameters) and remember for each parameter "
    "which bucket it is in. A hook counts how many gradients its bucket still waits for. Then, as "
    "long as the next bucket in order waits for none, it builds that one's flat tensor and starts "
    "its all-reduce: never a later bucket before an earlier one. In `finish`: start the buckets "
    "that are left, in order, since some parameter had no gradient (zeros take its place); wait "
    "for all; divide; give every parameter its piece; and set the counters back for the next "
    "step.\n"
    "`self.bucket_of[param]` works: parameters can be keys of a dictionary.",
    difficulty=4,
    minutes=35,
    call=call_train,
)
