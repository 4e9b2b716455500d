"""What the exercises of this lesson share: inputs that tell, and findings they have in common."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.verdict import Finding, Place, Table
from course.measure.messages import SENDS, Transfer, messages, receives, sends
from course.ranks.calls import COLLECTIVES
from course.ranks.outcome import Call, Run


def place_values(generator: random.Random, rank: int, count: int) -> list[int]:
    """Numbers of one rank: a digit from 1 to 4 in the rank's own decimal place.

    A sum then shows, digit by digit, who is in it: 2031 has everybody but rank 2. A digit
    counted twice stays below ten, so that it is seen and not carried.
    """
    return [generator.randint(1, 4) * 10**rank for _ in range(count)]


def named_numbers(
    generator: random.Random, rank: int, shape: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    """A tensor whose tens say whose it is: 10 to 19 are rank 0's numbers, 20 to 29 rank 1's."""
    numbers = [10 * (rank + 1) + generator.randint(0, 9) for _ in range(math.prod(shape))]
    return torch.tensor(numbers).to(dtype).view(shape)


def call_and_show_input(answer: Callable[..., Any], x: torch.Tensor) -> dict[str, Any]:
    """What the answer returned, and what its input looks like afterwards."""
    returned = answer(x)
    return {"returned": returned, "x": x}


def places_of(run: Run, wanted: Callable[[Call], bool]) -> tuple[Place, ...]:
    """The first call of each rank that is wanted, as a place in the cell."""
    found = []
    for outcome in run:
        call = next((c for c in outcome.calls if wanted(c)), None)
        if call is not None and call.line is not None:
            found.append(Place(call.line, note=str(call), rank=outcome.rank))
    return tuple(found)


def collectives_used(run: Run, property_: str, instead: str) -> Iterator[Finding]:
    """A collective (or a barrier) where the exercise is to do without."""
    used = sorted({c.op for outcome in run for c in outcome.calls if c.op in COLLECTIVES})
    if used:
        yield Finding(
            "used_collective",
            f"This answer calls {listed_text(['dist.' + name for name in used])}; here, messages "
            "from one rank to one other are to do the work.",
            property=property_,
            places=places_of(run, lambda c: c.op in COLLECTIVES),
            advice=instead,
        )


def unwaited(run: Run, property_: str) -> Iterator[Finding]:
    """An isend or irecv whose handle nobody waited on."""
    pending = [t for t in transfers(run) if t.call.op.startswith("i") and math.isinf(t.done)]
    if pending:
        yield Finding(
            "not_waited",
            f"Rank {pending[0].rank} starts {a_or_an(pending[0].call.op)} and never calls wait() "
            "on its handle, so nothing says that the data has left its buffer, or arrived in it: "
            "when this works, it is luck.",
            property=property_,
            places=places_of(run, lambda c: any(c is t.call for t in pending)),
            advice="Keep the handle, work = dist.isend(...), and call work.wait() before you read "
            "what arrives, change what is sent, or return.",
        )


def unequal_ends(run: Run, found: list[Finding]) -> list[Finding]:
    """Wrong values whose cause is that sender and receiver disagree about dtype or size."""
    unequal = [m for m in messages(run) if _form(m.sent) != _form(m.received)] if found else []
    if not unequal:
        return found
    m = unequal[0]
    same_size = m.sent.call.bytes == m.received.call.bytes
    why = (
        "The size is the same, so nothing complains; the bytes are read as what they are not."
        if same_size
        else "The room is larger than the message, so nothing complains; the rest is not filled."
    )
    return [
        Finding(
            "dtypes_differ" if m.sent.call.dtype != m.received.call.dtype else "sizes_differ",
            f"Rank {m.source} sends {_form(m.sent)} and rank {m.target} receives it into "
            f"{_form(m.received)}. {why}",
            property=found[0].property,
            table=found[0].table,
            places=tuple(
                Place(t.call.line, note=f"{t.call}: {_form(t)}", rank=t.rank)
                for t in (m.sent, m.received)
                if t.call.line is not None
            ),
            advice="recv copies bytes and converts nothing. Make the buffer with "
            "torch.empty_like(x), or give it the dtype and shape of what is sent.",
        )
    ]


def _form(transfer: Transfer) -> str:
    return f"{transfer.call.dtype} {transfer.call.shape}"


def transfers(run: Run) -> list[Transfer]:
    return [t for rank in range(len(run)) for t in (*sends(run, rank), *receives(run, rank))]


def not_a_tensor(
    values: Sequence[Any], wanted: Sequence[torch.Tensor], property_: str
) -> Iterator[Finding]:
    """Values that cannot be compared: not tensors, or of another shape or dtype."""
    if all(value is None for value in values):
        yield Finding(
            "returned_nothing",
            "The function returns None on every rank.",
            property=property_,
            advice="End the function with a return statement.",
        )
        return
    got = [kind_text(value) for value in values]
    want = [kind_text(tensor) for tensor in wanted]
    if got == want:
        return
    table = Table(
        ("rank", "returned", "wanted"),
        tuple((str(r), g, w) for r, (g, w) in enumerate(zip(got, want, strict=True))),
    )
    rank = next(r for r in range(len(got)) if got[r] != want[r])
    value = values[rank]
    if not isinstance(value, torch.Tensor):
        code, why = "wrong_type", "which is not a tensor"
        advice = "Return the tensor itself on every rank."
    elif value.dtype != wanted[rank].dtype:
        code, why = "wrong_dtype", "another dtype than the one that was sent"
        advice = (
            "recv copies bytes and converts nothing: bytes of one dtype read as another are "
            "garbage. Make every buffer with torch.empty_like, or pass dtype=x.dtype."
        )
    else:
        code, why = "wrong_shape", "another shape than its input"
        advice = "Give the result the shape of x: .view(x.shape) or .reshape(x.shape)."
        if value.numel() > wanted[rank].numel():
            advice += " If you padded the input, cut the padding off first."
    yield Finding(
        code,
        f"Rank {rank} returns {got[rank]}, {why}.",
        property=property_,
        table=table,
        advice=advice,
    )


def kind_text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return "None" if value is None else f"{type(value).__name__} {short_text(value)}"


def what_is_shown(run: Run, what: str) -> list[Any]:
    """``returned`` or ``x`` of each rank, where :func:`call_and_show_input` made its value.

    None where it is missing: a rank's value is what the answer's process made of it.
    """
    return [value.get(what) if isinstance(value, dict) else None for value in run.values]


def is_same(one: Any, other: torch.Tensor) -> bool:
    return (
        isinstance(one, torch.Tensor)
        and one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(one, other)
    )


def short_text(value: Any, limit: int = 60) -> str:
    """The value on one line, for a table or a sentence."""
    if isinstance(value, torch.Tensor):
        return numbers_text(value.reshape(-1).tolist())
    text = " ".join(str(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def numbers_text(values: Sequence[float], most: int = 5) -> str:
    """``3 1 4 1 5 9 …``: whole numbers as such, others to four digits."""
    texts = [f"{v:.4g}" if isinstance(v, float) and v % 1 else f"{v:.0f}" for v in values[:most]]
    return " ".join(texts + ["…"] * (len(values) > most)) or "(no elements)"


def comparison(values: Sequence[Any], wanted: Sequence[Any]) -> Table:
    pairs = zip(values, wanted, strict=True)
    rows = tuple((str(r), short_text(v), short_text(w)) for r, (v, w) in enumerate(pairs))
    return Table(("rank", "got", "wanted"), rows)


def listed_text(words: Sequence[Any]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    texts = [str(word) for word in words]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def ranks_text(ranks: Sequence[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {listed_text(ranks)}"


def ranks_of(world_size: int) -> str:
    return "1 rank" if world_size == 1 else f"{world_size} ranks"


def a_or_an(op: str) -> str:
    return f"an {op}" if op[0] in "aeiou" else f"a {op}"


def round_the_ring(run: Run, size: int, property_: str) -> Iterator[Finding]:
    """Exactly one message from every rank to its right neighbour (none if it is alone)."""
    rows, wrong = [], []
    for rank in range(size):
        out = [t.call.peer for t in sends(run, rank)]
        into = [t.call.peer for t in receives(run, rank)]
        right, left = [(rank + 1) % size], [(rank - 1) % size]
        if size == 1:
            right, left = [], []
        if out != right or into not in (left, [None] * len(left)):
            wrong.append(rank)
        rows.append((str(rank), *(peers_text(p) for p in (out, right, into, left))))
    if not wrong:
        return
    counted = sum(len(sends(run, rank)) for rank in range(size))
    expected = size if size > 1 else 0
    if counted == 0:
        why = "The values are right, but no message went from rank to rank by send and recv."
    elif counted > expected:
        why = f"{counted} messages were sent where {expected} are enough."
    else:
        why = "The messages do not go round the ring: each rank sends to the next one only."
    yield Finding(
        "not_a_ring",
        why,
        property=property_,
        table=Table(("rank", "sent to", "wanted", "received from", "wanted"), tuple(rows)),
        places=places_of(run, lambda c: c.op in SENDS),
        advice="Rank r sends once, to (r + 1) % n, and receives once, from (r - 1) % n.",
    )


def peers_text(peers: Sequence[int | None]) -> str:
    return ", ".join("anyone" if peer is None else str(peer) for peer in peers) or "nobody"


def input_changed(xs: Sequence[torch.Tensor], run: Run, property_: str) -> Iterator[Finding]:
    after = what_is_shown(run, "x")
    changed = [r for r in range(len(xs)) if not is_same(after[r], xs[r])]
    if changed:
        rows = tuple((str(r), short_text(xs[r]), short_text(after[r])) for r in range(len(xs)))
        yield Finding(
            "input_changed",
            f"The answer writes into its input x on {ranks_text(changed)}. What arrives there, or "
            "is added there, replaces what x still had to give.",
            property=property_,
            table=Table(("rank", "x before", "x afterwards"), rows),
            advice="Receive into a tensor of your own (torch.empty_like), and work on a copy "
            "(x.clone()): view, flatten, chunk and slices share their memory with x.",
        )
