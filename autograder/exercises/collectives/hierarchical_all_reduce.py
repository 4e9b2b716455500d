"""An all-reduce in two levels: within each node, and between the nodes."""

from __future__ import annotations

import functools
import inspect
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from autograder.exercise import Case, Exercise, Property
from autograder.exercises.collectives.shared import (
    comparison,
    input_changed,
    is_same,
    kind_text,
    not_a_tensor,
    place_values,
    places_of,
    ranks_of,
    ranks_text,
    short_text,
    unwaited,
    what_is_shown,
)
from autograder.exercises.collectives.sums import contributions, who_text
from autograder.verdict import Finding, Table
from course.measure.messages import SENDS
from course.ranks.calls import COLLECTIVES
from course.ranks.outcome import Call, Run

_TOTAL = "every rank has the sum over all ranks, and x is as it was"
_BETWEEN = "each node's tensor crosses between the nodes once"


class _GroupsDiffer(Exception):
    """The ranks are about to create different groups, and would hang or mix their numbers."""


def call_and_show_groups(
    answer: Callable[..., Any], x: torch.Tensor, ranks_per_node: int
) -> dict[str, Any]:
    """What the answer returned, and the groups that this rank created or took part in creating.

    When the ranks disagree about a group, the call ends there: what they would do next depends
    on who is faster.
    """
    groups: list[list[Any]] = []
    # Below the recorded new_group, so that its line in the log stays the answer's own.
    original = distributed_c10d._new_group_with_tag
    signature = inspect.signature(original)

    @functools.wraps(original)
    def noted(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        wanted = given.get("ranks")
        ranks = sorted(map(int, range(dist.get_world_size()) if wanted is None else wanted))
        members_only = bool(given.get("use_local_synchronization"))
        groups.append([members_only, ranks])
        if not members_only and not _all_create(len(groups), ranks):
            raise _GroupsDiffer
        return original(*args, **kwargs)

    distributed_c10d._new_group_with_tag = noted
    try:
        returned = answer(x, ranks_per_node)
    except _GroupsDiffer:
        returned = None
    return {"returned": returned, "x": x, "groups": groups}


def _all_create(number: int, ranks: list[int]) -> bool:
    """Whether all ranks give this as their group of this number; waits until all are there."""
    store = distributed_c10d._get_default_store()
    store.set(f"groups/{number}/{dist.get_rank()}", str(ranks))
    everybody = [store.get(f"groups/{number}/{r}").decode() for r in range(dist.get_world_size())]
    return len(set(everybody)) == 1


def cases(generator: random.Random) -> list[Case]:
    def case(nodes: int, ranks_per_node: int, shape: tuple[int, ...], dtype: torch.dtype) -> Case:
        count, size = math.prod(shape), nodes * ranks_per_node
        xs = [
            torch.tensor(place_values(generator, r, count)).to(dtype).view(shape)
            for r in range(size)
        ]
        label = f"{ranks_of(size)}, {ranks_per_node} on each node, {kind_text(xs[0])}"
        return Case(tuple((x, ranks_per_node) for x in xs), (xs, ranks_per_node), label)

    return [
        case(2, 3, (4,), torch.float32),
        case(2, 2, (1, 3), torch.int64),
        case(1, 3, (5,), torch.float64),
        case(2, 1, (2,), torch.float32),
        case(1, 1, (3,), torch.int64),
    ]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    xs, ranks_per_node = case.expected
    found = list(unwaited(run, _TOTAL)) or list(input_changed(xs, run, _TOTAL))
    found = found or list(_values(xs, ranks_per_node, run))
    yield from found or _between(xs[0], ranks_per_node, run)


# --- values -----------------------------------------------------------------------------------


def _values(xs: list[torch.Tensor], ranks_per_node: int, run: Run) -> Iterator[Finding]:
    values, size = what_is_shown(run, "returned"), len(xs)
    total = torch.stack(xs).sum(0)
    found = list(_unequal_groups(run)) if not _all_are(values, total) else []
    found = found or list(not_a_tensor(values, [total] * size, _TOTAL))
    yield from found
    wrong = [] if found else [r for r in range(size) if not is_same(values[r], total)]
    if not wrong:
        return
    code, why, advice = _why_not(xs, ranks_per_node, total, wrong, values)
    table = comparison(values, [total] * size)
    if code in ("partial_sums", "counted_twice", "node_sum", "not_handed_on"):
        table = _who_table(xs, values, total)
    yield Finding(code, why, property=_TOTAL, table=table, advice=advice)


def _all_are(values: list[Any], total: torch.Tensor) -> bool:
    return all(is_same(value, total) for value in values)


def _groups_of(run: Run) -> list[list[tuple[bool, tuple[int, ...]]]]:
    """By rank, the groups that it made, and whether only their members were to make them."""
    found = []
    for shown in what_is_shown(run, "groups"):
        groups = shown if isinstance(shown, list) else []
        found.append(
            [
                (bool(g[0]), tuple(g[1]))
                for g in groups
                if isinstance(g, list) and len(g) == 2 and isinstance(g[1], list)
            ]
        )
    return found


def _unequal_groups(run: Run) -> Iterator[Finding]:
    """Ranks that have not all created the same groups, where all have to."""
    groups = [[ranks for alone, ranks in made if not alone] for made in _groups_of(run)]
    if all(made == groups[0] for made in groups):
        return
    table = Table(
        ("rank", "created the groups"),
        tuple((str(r), " ".join(str(list(g)) for g in made)) for r, made in enumerate(groups)),
    )
    yield Finding(
        "groups_differ",
        "The ranks have created different groups. new_group is a collective of *all* ranks: it "
        "counts the groups, and the first one of every rank is taken to be the same, whatever "
        "its members. What follows is luck: a deadlock, or numbers of the wrong ranks.",
        property=_TOTAL,
        table=table,
        places=places_of(run, lambda c: c.op == "new_group"),
        advice="On every rank, loop over all nodes and create every group, in the same order; "
        "then use the one that this rank is in.",
    )


def _who_table(xs: list[torch.Tensor], values: list[Any], total: torch.Tensor) -> Table:
    parts = [x.reshape(-1).tolist()[:1] for x in xs]  # the first element tells enough

    def row(rank: int) -> tuple[str, ...]:
        (who,) = contributions(values[rank].reshape(-1).tolist()[:1], parts)
        return str(rank), short_text(values[rank]), who_text(who), short_text(total)

    return Table(
        ("rank", "returned", "the sum of ranks", "wanted"), tuple(row(r) for r in range(len(xs)))
    )


def _why_not(
    xs: list[torch.Tensor],
    ranks_per_node: int,
    total: torch.Tensor,
    wrong: list[int],
    values: list[Any],
) -> tuple[str, str, str]:
    size = len(xs)
    node_sums = [
        torch.stack(xs[first : first + ranks_per_node]).sum(0)
        for first in range(0, size, ranks_per_node)
    ]
    mine = [node_sums[r // ranks_per_node] for r in range(size)]
    if len(node_sums) > 1 and all(is_same(values[r], mine[r]) for r in range(size)):
        return (
            "node_sum",
            "Every rank has the sum over its own node, and nothing of the other nodes.",
            "One rank of each node has to meet one rank of every other node.",
        )
    if len(wrong) < size and all(is_same(values[r], total) for r in range(0, size, ranks_per_node)):
        return (
            "not_handed_on",
            f"The first rank of each node has the sum, and {ranks_text(wrong)} never got it.",
            "The last step: within each node, broadcast from the rank that has the sum. src is "
            "that rank's number in the whole world, not in the group.",
        )
    if all(torch.allclose(v.double() * size, total.double(), rtol=1e-5) for v in values):
        return (
            "averaged",
            f"Every result is 1/{size} of the sum: this is the mean over the ranks.",
            "Leave the division to the caller.",
        )
    first = [x.reshape(-1).tolist()[:1] for x in xs]
    (who,) = contributions(values[wrong[0]].reshape(-1).tolist()[:1], first)
    if who is not None and max(who) > 1:
        return (
            "counted_twice",
            "Some ranks' numbers are in the result more than once. The table says whose.",
            "A sum that is already complete must be copied (broadcast), not added again.",
        )
    return (
        "partial_sums",
        "The result is not the sum over all ranks. The table says whose numbers are there.",
        "Three steps: a sum in each node, a sum of these sums, and back to all. Which groups "
        "does each of them need, and who takes part?",
    )


# --- what crosses between the nodes -----------------------------------------------------------


def _between(x: torch.Tensor, ranks_per_node: int, run: Run) -> Iterator[Finding]:
    size, one = len(run), x.numel() * x.element_size()
    nodes = size // ranks_per_node
    spans = _crossing(run, ranks_per_node)
    if spans is None:
        return  # groups of one size both within and between: the log cannot tell them apart

    def crosses(rank: int, call: Call) -> bool:
        if call.op in SENDS and call.peer is not None:
            return call.peer // ranks_per_node != rank // ranks_per_node
        return call.op in COLLECTIVES and bool(spans.get(call.group_size or 0))

    between = [sum(c.bytes for c in run[r].calls if crosses(r, c)) for r in range(size)]
    # Each node's sum goes out once; twice, when it is collected and then handed back.
    if nodes < 2 or nodes * one <= sum(between) <= 2 * nodes * one:
        return
    table = Table(
        ("rank", "node", "bytes across"),
        tuple((str(r), str(r // ranks_per_node), str(between[r])) for r in range(size)),
    )
    code, why, advice = _why_so_many(run, ranks_per_node, sum(between), nodes * one)
    yield Finding(
        code,
        why,
        property=_BETWEEN,
        table=table,
        places=places_of(run, lambda c: any(crosses(r, c) for r in range(size))),
        advice=advice,
    )


def _crossing(run: Run, ranks_per_node: int) -> dict[int, bool] | None:
    """By group size, whether groups of that size span nodes; None where it depends."""
    groups = {ranks for made in _groups_of(run) for _, ranks in made} | {tuple(range(len(run)))}
    spans: dict[int, bool] = {}
    for ranks in groups:
        if not all(isinstance(r, int) for r in ranks):
            continue
        nodes = {r // ranks_per_node for r in ranks}
        if spans.setdefault(len(ranks), len(nodes) > 1) != (len(nodes) > 1):
            return None
    return spans


def _why_so_many(run: Run, ranks_per_node: int, given: int, enough: int) -> tuple[str, str, str]:
    if given < enough:
        return (
            "no_messages",
            f"The sum is right, but only {given} bytes crossed between the nodes, where each "
            "node's sum has to: the numbers went another way.",
            "Use the collectives of torch.distributed with group=..., or send and recv.",
        )
    within = [
        ranks
        for made in _groups_of(run)
        for _, ranks in made
        if len(ranks) == ranks_per_node and len({r // ranks_per_node for r in ranks}) == 1
    ]
    if not within and any(_groups_of(run)):
        return (
            "nodes_mixed",
            "No group lies within a node: the groups that are meant as nodes are spread over "
            f"several. Node k has the ranks {ranks_per_node}·k to {ranks_per_node}·k + "
            f"{ranks_per_node - 1}.",
            "The node of a rank is rank // ranks_per_node.",
        )
    flat = any(
        c.op in COLLECTIVES and c.group_size == len(run) and c.bytes for o in run for c in o.calls
    )
    if flat:
        return (
            "flat",
            f"The sum is right, but all ranks take part in a collective over all nodes: {given} "
            f"bytes cross, and {enough} are enough.",
            "Only one rank of each node needs to take part there: make a group of these.",
        )
    return (
        "too_many_bytes",
        f"The sum is right, but {given} bytes are given to what spans nodes, and {enough} are "
        "enough: every rank sends its node's whole sum across.",
        "Let one rank of each node do it, or let each rank do its own part of the tensor.",
    )


HIERARCHICAL_ALL_REDUCE = Exercise(
    name="hierarchical_all_reduce",
    title="First within the node, then between the nodes",
    properties=(Property(_TOTAL, 2), Property(_BETWEEN, 2)),
    cases=cases,
    examine=examine,
    hint="Make the groups first, all of them on every rank: for each node the group of its ranks, "
    "and one group of the first rank of each node (its leaders).\n"
    "Then: `dist.reduce` (or all_reduce) to the leader within the node; `dist.all_reduce` among "
    "the leaders, by the leaders only; `dist.broadcast` from the leader within the node. dst and "
    "src are numbers of the whole world: the leader of this rank is "
    "`rank // ranks_per_node * ranks_per_node`.",
    difficulty=4,
    minutes=25,
    call=call_and_show_groups,
)
