"""A sum goes once round the ring, and the ranks print in order."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    a_or_an,
    collectives_used,
    place_values,
    round_the_ring,
    short_text,
    unequal_ends,
    unwaited,
)
from autograder.verdict import Finding, Place, Table
from course.measure.messages import receives, sends
from course.ranks.outcome import Outcome, Run

_SUM = "the sum comes round the ring"
_ORDER = "the ranks print in order"
_LINE = re.compile(r"\s*rank\s+(\d{1,9})\s*:\s*(-?\d{1,30})\s*")


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, large: int, label: str) -> Case:
        numbers = [large + place_values(generator, r, 1)[0] for r in range(world_size)]
        return Case(tuple((torch.tensor([n]),) for n in numbers), numbers, label)

    return [
        case(3, 0, "3 ranks"),
        case(4, 2**40, "4 ranks, large numbers"),
        case(2, 0, "2 ranks"),
        case(1, 0, "1 rank"),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    numbers: list[int] = case.expected
    found = list(unwaited(run, _SUM))
    found = found or unequal_ends(run, list(_values(numbers, run)))
    found += collectives_used(
        run, _ORDER, "Let the order of the messages be the order of the prints: dist.recv, then "
        "print, then dist.send."
    )  # fmt: skip
    found = found or list(_printed(numbers, run))
    found = found or list(round_the_ring(run, case.world_size, _SUM))
    yield from found or _order(run)


def _values(numbers: list[int], run: Run) -> Iterator[Finding]:
    sums = list(itertools.accumulate(numbers))
    wanted = [sums[-1], *sums[1:]]
    values = run.values
    wrong = [r for r in range(len(run)) if type(values[r]) is not int or values[r] != wanted[r]]
    if not wrong:
        return
    rank = wrong[0]
    value = values[rank]
    own, before = numbers[rank], sums[rank - 1] if rank else sums[-1] - numbers[0]
    table = Table(
        ("rank", "its number", "returned", "wanted"),
        tuple(
            (str(r), str(n), short_text(v), str(w))
            for r, (n, v, w) in enumerate(zip(numbers, values, wanted, strict=True))
        ),
    )
    code = "wrong_value"
    advice = "On paper: what is in the message when it reaches this rank, and when it leaves?"
    if value is None:
        code, why = "returned_nothing", f"Rank {rank} returns None."
        advice = "End the function with a return statement, on every rank."
    elif type(value) is not int:
        code, why = "wrong_type", f"Rank {rank} returns {_article(value)}, not an int."
        advice = "A one-element tensor becomes an int with .item()."
        if isinstance(value, float):
            advice = "Keep to int64, as number is; a float32 rounds whole numbers above 2**24."
    elif rank == 0 and value == own and len(numbers) > 1:
        why = "Rank 0 returns its own number, not the total that comes back from the last rank."
        advice = "After sending, rank 0 has one more message to receive."
    elif value == wanted[rank] + own:
        code = "counted_twice"
        why = f"Rank {rank}'s own number is in its result twice."
        advice = "Rank 0's number is in the sum from the start, and still is when it comes back."
    elif value == own:
        why = f"Rank {rank} returns its own number alone, without what arrived."
    elif value == before:
        why = f"Rank {rank}'s own number is missing from its result."
        advice = "Add this rank's number to what arrived, before you pass it on."
    elif value == sums[-1]:
        why = f"Rank {rank} returns the whole total; when the sum left it, only part was in it."
    elif abs(value - wanted[rank]) <= abs(wanted[rank]) / 2**22 and wanted[rank] > 2**24:
        code = "rounded"
        why = (
            f"Rank {rank}'s result is off by {abs(value - wanted[rank])} in {wanted[rank]}: a "
            "float32 has 24 bits for the digits, and this number needs more."
        )
        advice = "Send int64, as number is; .float() and torch.zeros(1) are float32."
    else:
        why = f"Rank {rank} returns {value} instead of {wanted[rank]}."
        if not 0 <= value <= 10 * max(wanted):
            code = "garbage"
            why += " No sum of these numbers is near it."
            advice = (
                "Bytes of one dtype, read as another, look like this. The tensor that receives "
                "must have the dtype of the tensor that was sent: torch.empty_like(number)."
            )
    yield Finding(code, why, property=_SUM, table=table, advice=advice)


def _article(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"{a_or_an(type(value).__name__)} ({short_text(value, 30)})"


@dataclass(frozen=True)
class _Line:
    """A line of a rank's output, and when it was begun."""

    rank: int
    time: float
    text: str


def _lines(outcome: Outcome) -> list[_Line]:
    found: list[_Line] = []
    text, began = "", 0.0
    for printed in outcome.prints:
        if printed.stream != "stdout":
            continue
        for part in printed.text.splitlines(keepends=True):
            began = began if text else printed.time
            text += part
            if part.endswith("\n"):
                found.append(_Line(outcome.rank, began, text.rstrip("\n")))
                text = ""
    return [*found, _Line(outcome.rank, began, text)] if text else found


def _printed(numbers: list[int], run: Run) -> Iterator[Finding]:
    """Each rank prints its line, once; lines of any other form are the learner's own affair."""
    sums = list(itertools.accumulate(numbers))
    rows, wrong = [], []
    for outcome, total in zip(run, sums, strict=True):
        lines = [line.text for line in _lines(outcome)]
        ours = [text for text in lines if _LINE.fullmatch(text)]
        wanted = f"rank {outcome.rank}: {total}"
        match = _LINE.fullmatch(ours[0]) if len(ours) == 1 else None
        if match is None or (int(match[1]), int(match[2])) != (outcome.rank, total):
            wrong.append((outcome.rank, ours, lines))
        rows.append((str(outcome.rank), short_text(" ⏎ ".join(ours or lines)) or "nothing", wanted))
    if not wrong:
        return
    rank, ours, lines = wrong[0]
    code = "wrong_print"
    advice = "print(f'rank {rank}: {total}'), where total is what this rank passes on."
    if not lines:
        code, why = "no_print", f"Rank {rank} prints nothing."
    elif not ours:
        why = f"Rank {rank} prints no line of the form 'rank {rank}: {sums[rank]}'."
        if "tensor(" in "".join(lines):
            advice = "Print total.item(): a tensor prints as tensor([...])."
    elif len(ours) > 1:
        why = f"Rank {rank} prints {len(ours)} such lines; each rank prints one."
    elif ours[0].split(":")[1].strip() == str(numbers[rank]):
        why = (
            f"Rank {rank} prints its own number, which it knew from the start. The sum up to it "
            "is what it must print, and that has to arrive first."
        )
    else:
        why = f"Rank {rank} prints '{ours[0].strip()}', not 'rank {rank}: {sums[rank]}'."
    yield Finding(
        code,
        why,
        property=_ORDER,
        table=Table(("rank", "printed", "wanted"), tuple(rows)),
        advice=advice,
    )


def _order(run: Run) -> Iterator[Finding]:
    """The order must follow from the messages: received, printed, passed on."""
    for outcome in run if len(run) > 1 else ():
        rank = outcome.rank
        printed = next(line for line in _lines(outcome) if _LINE.fullmatch(line.text))
        sent, received = sends(run, rank)[0], receives(run, rank)[0]
        if printed.time > sent.call.begin:
            right = (rank + 1) % len(run)
            note = f"{sent.call}, before the print"
            why = (
                f"Rank {rank} passes the sum on before it prints, so nothing keeps rank {right} "
                "from printing first. When the order was right, that was luck."
            )
        elif rank > 0 and printed.time < received.done:
            note = f"{received.call}, after the print"
            why = f"Rank {rank} prints before the sum has reached it."
        else:
            continue
        line = sent.call.line if printed.time > sent.call.begin else received.call.line
        places = (Place(line, note=note, rank=rank),) if line is not None else ()
        yield Finding(
            "print_order",
            why,
            property=_ORDER,
            table=_as_printed(run),
            places=places,
            advice="On every rank: receive, print, then send. The message is the permission to go "
            "on.",
        )
        return


def _as_printed(run: Run) -> Table:
    lines = sorted((line for outcome in run for line in _lines(outcome)), key=lambda li: li.time)
    return Table(
        ("printed as", "rank", "line"),
        tuple((str(i), str(li.rank), short_text(li.text)) for i, li in enumerate(lines, start=1)),
    )


PASS_ALONG = Exercise(
    name="pass_along",
    title="A sum goes round",
    properties=(Property(_SUM, 1), Property(_ORDER, 1)),
    cases=cases,
    examine=examine,
    hint="Every rank but 0 does the same three things, in the same order: receive, print, send. "
    "Rank 0 has nobody to wait for at first, so it prints and sends before it receives: if all "
    "received first, all would wait. `dist.recv(buffer, src=...)` fills a tensor that you made; "
    "`torch.empty_like(number)` makes one that fits, and `torch.zeros(1)` does not: it is float32.",
    difficulty=1,
    minutes=10,
    backend="gloo",
)
