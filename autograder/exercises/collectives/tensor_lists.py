"""What the exercises on lists of tensors share: all_gather, reduce_scatter and all_to_all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.exercises.collectives.shared import (
    is_same,
    kind_text,
    listed_text,
    places_of,
    ranks_text,
    short_text,
    what_is_shown,
)
from autograder.verdict import Finding, Table
from course.measure.messages import SENDS, sends
from course.ranks.outcome import Run

Tensors = list[torch.Tensor]


def call_and_show_lists(answer: Callable[..., Any], given: Any) -> dict[str, Any]:
    """What the answer returned, where its tensors lie in memory, and its input afterwards."""
    returned = answer(given)
    return {"returned": returned, "x": given, "addresses": _addresses(returned)}


def _addresses(returned: Any) -> list[int]:
    tensors = returned if isinstance(returned, (list, tuple)) else []
    return [t.data_ptr() if isinstance(t, torch.Tensor) else -1 - i for i, t in enumerate(tensors)]


def not_a_list(
    values: Sequence[Any], wanted: Sequence[Tensors], property_: str
) -> Iterator[Finding]:
    """Results that cannot be compared: no lists, or not n tensors of the wanted kind each."""
    if all(value is None for value in values):
        yield Finding(
            "returned_nothing",
            "The function returns None on every rank.",
            property=property_,
            advice="End the function with a return statement.",
        )
        return
    for rank, (value, want) in enumerate(zip(values, wanted, strict=True)):
        size = len(want)
        if not isinstance(value, (list, tuple)):
            code, why = "wrong_type", f"Rank {rank} returns {kind_text(value)}, not a list."
            advice = f"Return a list of {size} tensors; a stacked tensor becomes one by list(...)."
        elif len(value) != size:
            code, why = "wrong_length", f"Rank {rank} returns {len(value)} tensors, not {size}."
            advice = "One for each rank, this one included."
        elif bad := [i for i in range(size) if kind_text(value[i]) != kind_text(want[i])]:
            i = bad[0]
            code = "wrong_kind"
            why = (
                f"On rank {rank}, entry {i} of the result is {kind_text(value[i])}; wanted is "
                f"{kind_text(want[i])}."
            )
            advice = "Make every buffer with torch.empty_like, from a tensor of the right kind."
        else:
            continue
        yield Finding(code, why, property=property_, advice=advice)
        return


def aliased(run: Run, property_: str) -> Iterator[Finding]:
    """Entries of the result that are one tensor under several names (C27)."""
    for rank, addresses in enumerate(what_is_shown(run, "addresses")):
        seen = addresses if isinstance(addresses, list) else []
        same = [i for i, a in enumerate(seen) if seen.count(a) > 1]
        if same:
            yield Finding(
                "aliased",
                f"On rank {rank}, entries {listed_text(same)} of the result are one and the same "
                "tensor: [t] * n puts t into the list n times and copies nothing. Whatever "
                "arrives last is seen in all of them.",
                property=property_,
                table=Table(
                    ("rank", "entry", "lies at address"),
                    tuple((str(rank), str(i), f"{a:#x}") for i, a in enumerate(seen)),
                ),
                advice="Make n tensors: [torch.empty_like(x) for _ in range(n)].",
            )
            return


def lists_table(values: Sequence[Any], wanted: Sequence[Tensors]) -> Table:
    def text(tensors: Any) -> str:
        return " | ".join(short_text(t, 20) for t in tensors)

    pairs = enumerate(zip(values, wanted, strict=True))
    return Table(
        ("rank", "got", "wanted"), tuple((str(r), text(v), text(w)) for r, (v, w) in pairs)
    )


def all_same(values: Sequence[Any], wanted: Sequence[torch.Tensor]) -> bool:
    return all(is_same(v, w) for v, w in zip(values, wanted, strict=True))


def list_changed(given: Sequence[Tensors], run: Run, property_: str) -> Iterator[Finding]:
    """The answer wrote into the list of tensors that it was given."""
    after = what_is_shown(run, "x")
    changed = [
        r
        for r, chunks in enumerate(given)
        if not isinstance(after[r], (list, tuple))
        or len(after[r]) != len(chunks)
        or not all_same(after[r], chunks)
    ]
    if changed:
        yield Finding(
            "input_changed",
            f"The answer writes into the chunks that it was given on {ranks_text(changed)}. They "
            "are the caller's.",
            property=property_,
            advice="Receive into tensors of your own (torch.empty_like), and add up in a copy "
            "(.clone()).",
        )


def count_bytes(
    run: Run, wanted: int, property_: str, *, what: str, too_many: str
) -> Iterator[Finding]:
    """Each rank sends ``wanted`` bytes: less is impossible, and more is not needed.

    ``what`` is what these bytes are, and ``too_many`` what to try when a rank sends more.
    """
    size = len(run)
    sent = [sum(t.call.bytes for t in sends(run, rank)) for rank in range(size)]
    table = Table(
        ("rank", "messages", "bytes sent", "needed"),
        tuple((str(r), str(len(sends(run, r))), str(sent[r]), str(wanted)) for r in range(size)),
    )
    if sum(sent) < size * wanted:
        code = "too_few_bytes"
        why = (
            f"The result is right, but all ranks together sent {sum(sent)} bytes, and it cannot be "
            f"done with less than {size * wanted}: the numbers went another way."
        )
        advice = "Send them with dist.send and dist.recv (or isend, irecv)."
    elif max(sent) > wanted:
        code, advice = "too_many_bytes", too_many
        rank = sent.index(max(sent))
        if sent[rank] * (size - 1) == wanted * size:
            advice = (
                f"{size - 1} messages from each rank are enough for {size} ranks: one more brings "
                "each rank what it had to begin with."
            )
        why = (
            f"The result is right, but rank {rank} sent {sent[rank]} bytes; {wanted} are enough: "
            f"{what}."
        )
    else:
        return
    yield Finding(
        code,
        why,
        property=property_,
        table=table,
        places=places_of(run, lambda c: c.op in SENDS),
        advice=advice,
    )
