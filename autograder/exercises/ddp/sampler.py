"""Each rank's part of the data, another one in each epoch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
import torch.utils.data

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.ddp.partition import (
    epoch_findings,
    order_text,
    orders_of,
    partition_findings,
    share_of,
)
from autograder.exercises.ddp.shared import is_collective, places_of, ranks_of, ranks_text, shown
from autograder.verdict import Finding, Table
from course.ranks.outcome import Run

NAME = "DistributedSampler"
_PARTS = "the ranks' parts are equally long, and make up the data set"
_EPOCHS = "each epoch has its own order, which can be had again"
EPOCHS = (0, 1, 0)


@dataclass(frozen=True)
class Setting:
    size: int
    seed: int
    shuffle: bool = True
    drop_last: bool = False


def call_sampler(answer: Callable[..., Any], setting: Setting) -> dict[str, Any]:
    # Each rank's own generator is in a state of its own, as in a real program.
    torch.manual_seed(1000 + dist.get_rank())
    dataset = range(setting.size)
    how = {"shuffle": setting.shuffle, "drop_last": setting.drop_last}
    sampler = answer(dataset, seed=setting.seed, **how)
    before = torch.get_rng_state()
    orders = []
    for epoch in EPOCHS:
        sampler.set_epoch(epoch)
        orders.append(_taken(sampler, setting.size))
    changed = not torch.equal(before, torch.get_rng_state())
    other = answer(dataset, seed=setting.seed + 7, **how)
    plain = answer(dataset, seed=setting.seed, shuffle=False, drop_last=setting.drop_last)
    return {
        "unshuffled": [_taken(plain, setting.size)],
        "orders": [*orders, _taken(other, setting.size)],
        "length": len(sampler),
        "torch": isinstance(sampler, torch.utils.data.distributed.DistributedSampler),
        "changed": changed,
    }


def _taken(sampler: Any, size: int) -> list[int]:
    return [int(i) for i in itertools.islice(iter(sampler), 3 * size + 20)]


def cases(generator: random.Random) -> list[Case]:
    def case(world_size: int, size: int, **how: bool) -> Case:
        setting = Setting(size, generator.randrange(1000), **how)
        extras = [name for name in ("drop_last",) if how.get(name)]
        extras += ["shuffle=False"] if how.get("shuffle") is False else []
        label = f"{ranks_of(world_size)}, {', '.join([f'{size} samples', *extras])}"
        return Case(((setting,),) * world_size, setting, label)

    return [
        case(3, 23),
        case(2, 21, shuffle=False),
        case(4, 23, drop_last=True),
        case(5, 2),
        case(3, 10, shuffle=False, drop_last=True),
        case(1, 12),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    setting: Setting = case.expected
    if any(shown(run, "torch")):
        yield Finding(
            "torch_sampler",
            "This is torch's DistributedSampler; you are here to write it yourself.",
            property=_PARTS,
            advice="class DistributedSampler(Sampler): __init__, __iter__, __len__ and set_epoch.",
        )
        return
    values = shown(run, "orders")
    first, second, again, other = (orders_of(values, i) for i in range(len(EPOCHS) + 1))
    found = list(_partition(setting, first, run)) or list(_partition(setting, second, run))
    found = found or list(_length(setting, first, run))
    if setting.shuffle:
        found = found or list(_shuffled(first, second, again, other, run))
    else:
        found = found or list(_in_order(first, second))
    yield from found


def _partition(setting: Setting, orders: list[list[int]], run: Run) -> Iterator[Finding]:
    plain = orders_of(shown(run, "unshuffled"), 0)
    # Parts that are right as long as nothing is shuffled overlap because of the shuffling.
    apart = setting.shuffle and not list(
        partition_findings(plain, setting.size, _PARTS, setting.drop_last)
    )
    yield from partition_findings(
        orders, setting.size, _PARTS, setting.drop_last, shuffled_apart=apart
    )


def _length(setting: Setting, orders: list[list[int]], run: Run) -> Iterator[Finding]:
    lengths, share = shown(run, "length"), share_of(setting.size, len(orders), setting.drop_last)
    wrong = [r for r, length in enumerate(lengths) if length != share]
    advice = "__len__ is the number of samples of this rank: as many as __iter__ gives."
    if lengths and all(length == setting.size for length in lengths):
        advice = "__len__ is the number of samples of this rank, not of the data set."
    elif lengths and all(length == setting.size // len(orders) + 1 for length in lengths):
        advice = "Where the number of ranks divides the data set nothing is to be rounded up, and "
        advice += "size // ranks + 1 is one too many: math.ceil(size / ranks)."
    if wrong:
        yield Finding(
            "wrong_len",
            f"len(sampler) is {lengths[wrong[0]]} on rank {wrong[0]}, and it gives {share} "
            "samples. A DataLoader counts its batches by it.",
            property=_PARTS,
            table=Table(
                ("rank", "len(sampler)", "samples"),
                tuple((str(r), str(lengths[r]), str(len(o))) for r, o in enumerate(orders)),
            ),
            advice=advice,
        )


def _shuffled(
    first: list[list[int]],
    second: list[list[int]],
    again: list[list[int]],
    other: list[list[int]],
    run: Run,
) -> Iterator[Finding]:
    if len(first[0]) > 3 and all(_is_in_order(order) for order in first):
        yield _orders("not_shuffled", "shuffle is true, and the samples come in order.", first)
        return
    yield from epoch_findings(first, second, _EPOCHS)
    if first == second:
        return
    if first != again:
        why = "Epoch 0, asked for again after epoch 1, is another order: it cannot be had again."
        yield _orders("not_repeatable", why, first, again)
    elif first == other and len(first[0]) > 3:
        why = "Another seed makes the same order."
        yield _orders("seed_ignored", why, first, other)
    elif any(shown(run, "changed")):
        yield Finding(
            "global_rng",
            "Iterating changes torch's own random state. What draws from it afterwards, dropout "
            "for one, draws the same numbers on all ranks, and the same again in another run of "
            "this epoch.",
            property=_EPOCHS,
            places=places_of(run, is_collective),
            advice="Make a generator of your own, torch.Generator().manual_seed(...), and hand it "
            "to torch.randperm(n, generator=...).",
        )


def _in_order(first: list[list[int]], second: list[list[int]]) -> Iterator[Finding]:
    if first != second:
        why = "shuffle is false, and the second epoch has another order than the first."
        yield _orders("shuffled_anyway", why, first, second)
    elif not all(_is_in_order(order) for order in first):
        ranks = [r for r, order in enumerate(first) if not _is_in_order(order)]
        why = f"shuffle is false, and {ranks_text(ranks)} takes its samples out of order."
        yield _orders("shuffled_anyway", why, first)


def _is_in_order(order: list[int]) -> bool:
    return order[:-1] == sorted(order[:-1])  # the last one may be padding


def _orders(
    code: str, why: str, first: list[list[int]], second: list[list[int]] | None = None
) -> Finding:
    columns = ("rank", "first") + (("then",) if second else ())
    rows = tuple(
        (str(r), order_text(order), *([order_text(second[r])] if second else []))
        for r, order in enumerate(first)
    )
    return Finding(
        code,
        why,
        _EPOCHS,
        Table(columns, rows),
        advice="The order is a function of seed and epoch, and of nothing else: "
        "torch.Generator().manual_seed(self.seed + self.epoch).",
    )


DISTRIBUTED_SAMPLER = Exercise(
    name=NAME,
    title="Everybody's own part of the data",
    properties=(Property(_PARTS, 2), Property(_EPOCHS, 2)),
    cases=cases,
    examine=examine,
    hint="Four lines in `__iter__`: make the order of the whole data set, the same on all ranks "
    "(`torch.randperm(n, generator=g).tolist()`, where g is seeded with seed + epoch, or "
    "`list(range(n))`); pad it, or cut it, to a multiple of the number of ranks; take "
    "`order[rank::ranks]`; return an iterator over that. Padding repeats the order from its "
    "beginning. If the data set is smaller than the number of ranks, once round is not enough: "
    "`itertools.cycle`, or `(order * ranks)[:total]`.",
    difficulty=2,
    minutes=20,
    call=call_sampler,
)
