"""Whether the ranks of a run share a data set among them as they should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from autograder.exercises.ddp.shared import names_text, ranks_text, times
from autograder.verdict import Finding, Table

Order = list[int]  # the samples of one rank in one epoch, in the order in which it took them


def orders_of(values: Sequence[Any], number: int) -> list[Order]:
    """Entry ``number`` of each rank's list of orders; empty where there is none."""
    found = []
    for value in values:
        order = value[number] if isinstance(value, list) and len(value) > number else []
        found.append([i for i in order if type(i) is int] if isinstance(order, list) else [])
    return found


def share_of(size: int, ranks: int, drop_last: bool = False) -> int:
    """How many of ``size`` samples each rank takes."""
    return size // ranks if drop_last else -(-size // ranks)


def partition_findings(
    orders: Sequence[Order],
    size: int,
    property_: str,
    drop_last: bool = False,
    shuffled_apart: bool = False,
) -> Iterator[Finding]:
    """Samples that nobody has, or too many have, in one epoch.

    ``shuffled_apart`` tells that the ranks drew from generators of their own.
    """
    ranks, share = len(orders), share_of(size, len(orders), drop_last)
    lengths = [len(order) for order in orders]
    counts = Counter(i for order in orders for i in order)
    missing = [i for i in range(size) if not counts[i]]
    table = Table(
        ("rank", "samples", "wanted", "its samples"),
        tuple((str(r), str(len(o)), str(share), order_text(o)) for r, o in enumerate(orders)),
    )

    def finding(code: str, why: str, advice: str) -> Finding:
        return Finding(code, why, property_, table, advice=advice)

    strange = [i for order in orders for i in order if not 0 <= i < size]
    most = -(-share * ranks // max(size, 1))  # times that a sample is used where some pad
    too_often = [i for i, count in counts.items() if count > (1 if drop_last else most)]
    if strange:
        yield finding(
            "out_of_range",
            f"There is no sample {strange[0]}: the data set has {size}, from 0 to {size - 1}.",
            "Indices run from 0 to len(dataset) - 1, also where padding is needed.",
        )
    elif share < size and all(sorted(set(order)) == list(range(size)) for order in orders):
        yield finding(
            "same_on_all_ranks",
            f"Every rank has all {size} samples: {ranks} ranks do the same work {ranks} times. "
            "The loss falls all the same, and nothing complains.",
            "Each rank takes its own part: every n-th sample, say, beginning with its rank.",
        )
    elif 0 < share < size and all(order == orders[0] for order in orders):
        yield finding(
            "same_on_all_ranks",
            f"All ranks have the same samples, and nobody has the other {len(missing)}.",
            "A rank's part must depend on its rank.",
        )
    elif len(set(lengths)) > 1:
        yield finding(
            "uneven_shards",
            f"The ranks have different numbers of samples ({names_text([str(n) for n in lengths])})"
            ". In training, the rank with a batch more waits for ever for the others' gradients.",
            "Pad the order to a multiple of the number of ranks, with samples from its beginning; "
            "or cut it to one, with drop_last.",
        )
    elif lengths[0] != share:
        yield finding(
            "wrong_length",
            f"Every rank has {times(lengths[0], 'sample')}; {size} samples over {ranks} "
            f"rank{'s' * (ranks > 1)} make {share}.",
            "Without drop_last the share is rounded up, with it down.",
        )
    elif shuffled_apart and ((missing and not drop_last) or too_often):
        yield finding(
            "ranks_shuffle_apart",
            f"The ranks' parts overlap, and nobody has {times(len(missing), 'sample')}: each rank "
            "has shuffled in an order of its own, and then taken its part of that.",
            "All ranks must make the same order. Give torch.randperm a generator whose seed is "
            "the same on all of them: seed + epoch.",
        )
    elif missing and not drop_last:
        yield finding(
            "not_covered",
            f"Nobody has {'samples' if len(missing) > 1 else 'sample'} "
            f"{names_text([str(i) for i in missing], 6)}.",
            "Together, the ranks' parts are the whole data set.",
        )
    elif too_often:
        i = too_often[0]
        holders = [r for r, order in enumerate(orders) if i in order]
        yield finding(
            "used_twice",
            f"Sample {i} is used {counts[i]} times, on {ranks_text(holders)}.",
            "Parts must not overlap; only padding repeats samples, as few as possible.",
        )


def order_text(order: Sequence[int], most: int = 8) -> str:
    return " ".join(map(str, order[:most])) + (" …" if len(order) > most else "")


def epoch_findings(
    first: Sequence[Order], second: Sequence[Order], property_: str
) -> Iterator[Finding]:
    """What does not change from one epoch to the next, where the data is to be shuffled."""
    long = [r for r in range(len(first)) if len(first[r]) > 3]
    if not long:
        return
    table = Table(
        ("rank", "first epoch", "second epoch"),
        tuple((str(r), order_text(first[r]), order_text(second[r])) for r in long),
    )
    if all(first[r] == second[r] for r in long):
        yield Finding(
            "epoch_ignored",
            "Every rank takes the same samples in the same order in both epochs: shuffled once, "
            "and never again.",
            property_,
            table,
            advice="The order depends on seed + epoch, and the sampler learns the epoch from "
            "set_epoch(epoch), called before each epoch.",
        )
    elif len(first) > 1 and all(set(first[r]) == set(second[r]) for r in long):
        yield Finding(
            "fixed_shards",
            "Every rank shuffles its own part, and has the same samples in every epoch.",
            property_,
            table,
            advice="Shuffle the whole data set first, the same on all ranks, and then take this "
            "rank's part.",
        )
