"""Gradients are reduced while backward still computes others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.models import Parts
from autograder.exercises.ddp.shared import is_reduction, places_of, ranks_of, times
from autograder.exercises.ddp.training import (
    BACKWARD,
    FINISH,
    FORWARD,
    LAST,
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
from autograder.verdict import Finding, Place, Table
from course.ranks.outcome import Call, Run

NAME = "OverlappedDDP"
_TRAINS = "every rank trains like one process on the whole batch"
_EARLY = "reduction begins before backward has ended"
_ONCE = "one all-reduce for each gradient"


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, parts: Parts, early: bool = False, zeros: bool = False) -> Case:
        # In every step another rank comes late: who does not wait for it is seen.
        plans = [
            Plan(
                parts,
                generator.randrange(1 << 30),
                late=tuple(s for s in (1, 2) if s % world_size == r and world_size > 1),
                early_optimizer=early,
                zeros=zeros,
            )
            for r in range(world_size)
        ]
        inputs, training = plan_training(plans, 5, 4, generator.randrange(1 << 20))
        return Case(inputs, training, f"{ranks_of(world_size)}, {parts}")

    return [
        case(2, Parts(frozen=True), early=True),
        case(3, Parts(frozen=True, tied=True), zeros=True),
        case(4, Parts(tied=True, unused=True)),
        case(1, Parts(unused=True)),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    training: Training = case.expected
    found = list(wrapper_findings(run, _TRAINS, NAME))
    found = found or list(start_findings(training, run, _TRAINS))
    found = found or list(step_findings(training, run, _TRAINS))
    most = sum(p.requires_grad for p in training.models[0].parameters())
    found = blame_the_calls(run, most, found)
    found = found or list(begins_early(run, _EARLY))
    yield from found or _once(training, run)


def blame_the_calls(run: Run, most: int, found: list[Finding]) -> list[Finding]:
    """Wrong gradients, by what is wrong with the calls that made them."""
    for rank in range(len(run)) if found else ():
        for number, step in enumerate(steps_of(run, rank)):
            calls = reduced_in(step, *step)
            started = sum(call.asynchronous for call in calls)
            waited = sum(call.op == "wait" for part in step.values() for call in part)
            if len(calls) > most:
                return [_too_many(run, rank, number, most)]
            if waited < started:
                return [_not_waited(run, rank, started, waited, found[0])]
            if waited > started:
                return [_stale(run, rank, number, started, waited, found[0])]
    return _blame_the_tensors(run, found) if found else []


def _blame_the_tensors(run: Run, found: list[Finding]) -> list[Finding]:
    """Wrong gradients of as many calls as there should be."""
    for rank in range(len(run)):
        for number, step in enumerate(steps_of(run, rank)):
            if any(call.touched for part in step.values() for call in part):
                return [_touched(run, rank, number, found[0])]
    if found[0].code == "wrong_gradient" and any(c.asynchronous for o in run for c in o.calls):
        advice = (
            "Is each tensor left alone between the start of its all-reduce and wait()? What is "
            "read before is not the sum yet."
        )
        return [replace(found[0], advice=advice)]
    return found


def _stale(run: Run, rank: int, number: int, started: int, waited: int, found: Finding) -> Finding:
    return Finding(
        "stale_handles",
        f"In step {number + 1} rank {rank} starts {times(started, 'all-reduce')} and waits "
        f"{waited} times: handles of the step before are waited for again, and what follows the "
        "wait is done to the new gradients before they are ready.",
        property=found.property,
        table=found.table,
        places=places_of(run, is_reduction),
        advice="Empty the list at the end of finish().",
    )


def _touched(run: Run, rank: int, number: int, found: Finding) -> Finding:
    return Finding(
        "touched_before_wait",
        f"In step {number + 1} rank {rank} writes to the tensor of an all-reduce between its start "
        "and its wait(): until then the tensor belongs to the library, and what comes out depends "
        "on who is faster.",
        property=found.property,
        table=found.table,
        places=places_of(run, is_reduction),
        advice="Divide after wait(), or before the all-reduce is started.",
    )


def _not_waited(run: Run, rank: int, started: int, waited: int, found: Finding) -> Finding:
    return Finding(
        "not_waited",
        f"Rank {rank} starts {times(started, 'all-reduce')} in a step, and waits for "
        f"{waited or 'none'} of them before finish() returns: the optimizer takes gradients that "
        "are still being summed.",
        property=found.property,
        table=found.table,
        places=places_of(run, is_reduction),
        advice="Keep each handle that async_op=True returns, and call wait() on all of them in "
        "finish().",
    )


def begins_early(run: Run, property_: str) -> Iterator[Finding]:
    """Whether in each step an all-reduce is begun while gradients are still to be computed."""
    for rank in range(len(run)) if len(run) > 1 else ():
        for number, step in enumerate(steps_of(run, rank)):
            early = reduced_in(step, FORWARD, BACKWARD)
            if not early:
                yield _no_overlap(run, rank, number, property_)
                return
            waits = [call for call in step[BACKWARD] if call.op == "wait"]
            if len(waits) >= sum(call.asynchronous for call in early):  # none is left under way
                yield _blocking(run, rank, number, early, property_)
                return


def _no_overlap(run: Run, rank: int, number: int, property_: str) -> Finding:
    rows = []
    for r in range(len(run)):
        step = steps_of(run, r)[number]
        parts = ((FORWARD, BACKWARD), (LAST,), (FINISH,))
        rows.append((str(r), *(str(len(reduced_in(step, *names))) for names in parts)))
    if all(set(row[1:]) == {"0"} for row in rows):
        why = "The gradients are right, but no call of dist.all_reduce was seen."
    else:
        why = (
            f"The gradients are right, but in step {number + 1} rank {rank} starts its first "
            "all-reduce when all gradients are there: the network is idle while backward "
            "computes, and the processor while gradients are reduced."
        )
    columns = ("rank", "begun in backward", "with the last gradient", "in finish()")
    return Finding(
        "no_overlap",
        why,
        property=property_,
        table=Table(columns, tuple(rows)),
        places=places_of(run, is_reduction),
        advice="param.register_post_accumulate_grad_hook(hook) calls hook(param) inside backward, "
        "as soon as this gradient is complete. Start the all-reduce there.",
    )


def _blocking(run: Run, rank: int, number: int, inside: list[Call], property_: str) -> Finding:
    call = inside[0]
    return Finding(
        "blocking",
        f"Each all-reduce is begun inside backward, and backward stands still until it is done "
        f"(rank {rank}, step {number + 1}): nothing overlaps.",
        property=property_,
        places=tuple([Place(call.line, note=str(call), rank=rank)] if call.line else []),
        advice="dist.all_reduce(..., async_op=True) comes back at once with a handle. Keep it, and "
        "wait in finish().",
    )


def _once(training: Training, run: Run) -> Iterator[Finding]:
    model = training.models[0]
    most = sum(p.requires_grad for p in model.parameters())
    least = sum(p.requires_grad for n, p in model.named_parameters() if "unused" not in n)
    for rank in range(len(run)):
        for number, step in enumerate(steps_of(run, rank)):
            count = len(reduced_in(step, *step))
            if count > most:
                yield _too_many(run, rank, number, most)
                return
            if count < least and len(run) > 1:
                yield Finding(
                    "too_few_calls",
                    f"In step {number + 1} rank {rank} starts {times(count, 'all-reduce')} for "
                    f"{least} gradients.",
                    property=_ONCE,
                    table=_calls_table(run, number, least),
                    places=places_of(run, is_reduction),
                    advice="Here each gradient travels alone, as soon as it is ready; buckets are "
                    "the next exercise.",
                )
                return


def _too_many(run: Run, rank: int, number: int, most: int) -> Finding:
    step = steps_of(run, rank)[number]
    count = len(reduced_in(step, *step))
    return Finding(
        "too_many_calls",
        f"In step {number + 1} rank {rank} starts {times(count, 'collective')} for {most} "
        "parameters.",
        property=_ONCE,
        table=_calls_table(run, number, most),
        places=places_of(run, is_reduction),
        advice="One hook for each parameter that requires a gradient. A weight that two layers "
        "share is one parameter: parameters() gives it once.",
    )


def _calls_table(run: Run, number: int, wanted: int) -> Table:
    rows = []
    for rank in range(len(run)):
        steps = steps_of(run, rank)
        step = steps[number] if number < len(steps) else {}
        rows.append((str(rank), str(len(reduced_in(step, *step))), str(wanted)))
    return Table(("rank", "collectives in this step", "gradients"), tuple(rows))


OVERLAPPED_DDP = Exercise(
    name=NAME,
    title="Reduce while backward runs",
    properties=(Property(_TRAINS, 2), Property(_EARLY, 2), Property(_ONCE, 1)),
    cases=cases,
    examine=examine,
    hint="Three parts. In `__init__`: keep the module, send rank 0's parameters and buffers to "
    "all, and for each parameter that requires a gradient call "
    "`param.register_post_accumulate_grad_hook(self._reduce)`. In `_reduce(self, param)`: start "
    "`dist.all_reduce(param.grad, async_op=True)` and keep the handle in a list. In `finish`: "
    "`wait()` for each handle, divide what it summed by the number of ranks, and empty the list "
    "for the next step. Where do you divide a gradient? Only once its sum is there, or before it "
    "is sent.",
    difficulty=3,
    minutes=25,
    call=call_train,
)
