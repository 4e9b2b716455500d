"""The oracles of lesson 05, on runs written by hand: no process is started here."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.exercise import Case, Exercise
from autograder.exercises import collectives as c
from autograder.exercises.collectives import exchange, pass_along, ring_all_reduce
from autograder.exercises.collectives.shared import place_values
from autograder.exercises.collectives.sums import contributions
from autograder.verdict import Finding
from course.ranks.outcome import RETURNED, Call, Outcome, Print, Run

SIZES = st.integers(2, 4)


def a_case(exercise: Exercise, number: int, seed: int = 5) -> Case:
    return exercise.cases(random.Random(seed))[number]


def a_run(
    values: list[Any],
    calls: list[list[Call]] | None = None,
    prints: list[list[Print]] | None = None,
) -> Run:
    calls = calls or [[] for _ in values]
    prints = prints or [[] for _ in values]
    outcomes = tuple(
        Outcome(rank, RETURNED, value, prints=tuple(p), calls=tuple(k))
        for rank, (value, k, p) in enumerate(zip(values, calls, prints, strict=True))
    )
    return Run(outcomes, 1.0)


def shown(returned: list[Any], x: list[Any]) -> list[dict[str, Any]]:
    return [{"returned": r, "x": tensor} for r, tensor in zip(returned, x, strict=True)]


def codes(findings: Any) -> list[str]:
    return [finding.code for finding in findings]


def only(findings: Any) -> Finding:
    (finding,) = findings
    return finding


# --- inputs ---------------------------------------------------------------------------------


def test_the_ring_meets_sizes_that_n_does_not_divide_and_fewer_elements_than_ranks():
    xs = [case.expected for case in c.RING_ALL_REDUCE.cases(random.Random(0))]
    assert any(x[0].numel() % len(x) for x in xs)
    assert any(x[0].numel() < len(x) for x in xs)
    assert any(not x[0].is_contiguous() for x in xs)
    # torch.chunk gives fewer chunks than ranks for one of them
    assert any(len(torch.chunk(x[0].flatten(), len(x))) < len(x) <= x[0].numel() for x in xs)


def test_the_tree_meets_a_world_size_for_which_two_levels_are_not_enough():
    sizes = [case.world_size for case in c.BROADCAST_TREE.cases(random.Random(0))]
    assert any(size & (size - 1) and size > 6 for size in sizes)
    assert all(case.expected[1] or case.world_size == 1
               for case in c.BROADCAST_TREE.cases(random.Random(0)))  # fmt: skip


# --- pass_along -----------------------------------------------------------------------------


def passing_along(numbers: list[int], sent_first: int | None = None) -> Run:
    """A right run; with ``sent_first``, that rank passes the sum on before it prints."""
    size, now = len(numbers), itertools.count(1)
    calls: list[list[Call]] = [[] for _ in numbers]
    prints: list[list[Print]] = [[] for _ in numbers]
    sums = list(itertools.accumulate(numbers))

    def say(rank: int) -> None:
        at = float(next(now))  # print writes the text and the end of the line separately
        prints[rank] += [Print(at, f"rank {rank}: {sums[rank]}"), Print(at, "\n")]

    for rank in range(size):
        right = (rank + 1) % size
        if rank != sent_first:
            say(rank)
        if size > 1:
            begin, end = float(next(now)), float(next(now))
            calls[rank].append(Call("send", begin, end, (1,), "int64", 8, peer=right))
            calls[right].append(Call("recv", begin, end, (1,), "int64", 8, peer=rank))
        if rank == sent_first:
            say(rank)
    return a_run([sums[-1], *sums[1:]], calls, prints)


@pytest.mark.parametrize("number", range(4))
def test_a_sum_passed_along_is_right(number):
    case = a_case(c.PASS_ALONG, number)
    assert not list(pass_along.examine(case, passing_along(case.expected)))


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_print_after_the_send_is_wrong_even_when_the_lines_came_in_order(rank):
    case = a_case(c.PASS_ALONG, 0)
    run = passing_along(case.expected, sent_first=rank)
    lines = [line.text for _, line in run.transcript() if line.text != "\n"]
    assert lines == sorted(lines)
    finding = only(pass_along.examine(case, run))
    assert (finding.code, finding.property) == ("print_order", pass_along._ORDER)
    assert f"Rank {rank} passes the sum on" in finding.message


@pytest.mark.parametrize(
    ("rank", "value", "code"),
    [
        (0, lambda numbers: numbers[0], "wrong_value"),
        (0, lambda numbers: sum(numbers) + numbers[0], "counted_twice"),
        (1, lambda numbers: numbers[0], "wrong_value"),
        (1, lambda numbers: None, "returned_nothing"),
        (1, lambda numbers: float(numbers[0] + numbers[1]), "wrong_type"),
        (2, lambda numbers: torch.tensor([sum(numbers)]), "wrong_type"),
        (2, lambda numbers: True, "wrong_type"),
        (2, lambda numbers: 4593671619917905920, "garbage"),
    ],
)
def test_the_mistake_is_read_off_the_returned_value(rank, value, code):
    case = a_case(c.PASS_ALONG, 0)
    right = passing_along(case.expected)
    values = right.values
    values[rank] = value(case.expected)
    wrong = a_run(values, [list(o.calls) for o in right], [list(o.prints) for o in right])
    assert only(pass_along.examine(case, wrong)).code == code


def test_other_lines_may_be_printed_but_ours_once():
    case = a_case(c.PASS_ALONG, 0)
    run = passing_along(case.expected)
    calls = [list(o.calls) for o in run]
    chatty = [[Print(0.1, "hello\nmy number is 3\n"), *o.prints] for o in run]
    assert not list(pass_along.examine(case, a_run(run.values, calls, chatty)))
    twice = [[*o.prints, Print(9.0, f"rank {o.rank}: 1\n")] for o in run]
    assert codes(pass_along.examine(case, a_run(run.values, calls, twice))) == ["wrong_print"]


# --- ring_all_reduce ------------------------------------------------------------------------


@given(st.data(), SIZES)
def test_who_is_in_a_sum_can_be_read_off_it(data, size):
    """Whatever was added up, and however often, the digits tell it."""
    length = data.draw(st.integers(1, 5))
    seed = data.draw(st.integers(0, 10**6))
    generator = random.Random(seed)
    parts = [place_values(generator, rank, length) for rank in range(size)]
    added = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    sums = [sum(n * part[i] for n, part in zip(added, parts)) for i in range(length)]
    assert contributions(sums, parts) == [tuple(added)] * length


def chunked(sizes: list[int], item: int) -> list[list[Call]]:
    """The sends of a ring all-reduce whose chunks have these numbers of elements."""
    n = len(sizes)
    return [
        [
            Call("isend", 0.0, 0.1, (k,), "float32", k * item, peer=(rank + 1) % n)
            for step in range(2 * (n - 1))
            for k in [sizes[(rank - step) % n]]
        ]
        for rank in range(n)
    ]


@given(st.integers(2, 9), st.integers(0, 40))
def test_the_bound_on_bytes_lets_every_way_of_cutting_pass(n, length):
    """tensor_split, torch.chunk filled up with empty chunks, and padding to a multiple of n."""
    x = torch.zeros(length)
    longest = -(-length // n)
    cuts = {
        "tensor_split": [len(part) for part in x.tensor_split(n)],
        "chunk": [max(0, min(longest, length - i * longest)) for i in range(n)],
        "padded": [longest] * n,
    }
    for sizes in cuts.values():
        run = a_run([None] * n, chunked(sizes, 4))
        assert not list(ring_all_reduce._bytes(x, run))


@given(st.integers(3, 9), st.integers(1, 40))
def test_the_whole_tensor_in_each_step_is_too_much(n, length):
    run = a_run([None] * n, [calls[: n - 1] for calls in chunked([length] * n, 4)])
    if (n - 1) * length > 2 * (n - 1) * -(-length // n):
        assert codes(ring_all_reduce._bytes(torch.zeros(length), run)) == ["too_many_bytes"]


def test_a_sum_that_no_message_carried_is_no_ring():
    case = a_case(c.RING_ALL_REDUCE, 0)
    total = torch.stack(case.expected).sum(0)
    run = a_run(shown([total] * 3, case.expected))
    assert codes(ring_all_reduce.examine(case, run)) == ["too_few_bytes"]


Mistake = Callable[[list[torch.Tensor], int], Any]
MISTAKES: list[tuple[str, Mistake]] = [
    ("averaged", lambda xs, r: sum(xs) / len(xs)),
    ("own_tensor", lambda xs, r: xs[r]),
    ("counted_twice", lambda xs, r: sum(xs) + xs[r]),
    ("partial_sums", lambda xs, r: sum(xs) - xs[1]),
    ("remainder", lambda xs, r: torch.cat([sum(xs)[:9], xs[r][9:]])),
    ("chunks_swapped", lambda xs, r: sum(xs).roll(3)),
    ("aliased", lambda xs, r: torch.tensor([8.0, 9, 7, 5] * 2 + [8, 9])),
    ("wrong_value", lambda xs, r: torch.arange(10.0) + 0.5),
    ("wrong_shape", lambda xs, r: torch.cat([sum(xs), torch.zeros(2)])),
    ("wrong_dtype", lambda xs, r: sum(xs).double()),
    ("wrong_type", lambda xs, r: sum(xs).tolist()),
    ("returned_nothing", lambda xs, r: None),
]


@pytest.mark.parametrize(("code", "mistake"), MISTAKES, ids=[code for code, _ in MISTAKES])
@pytest.mark.parametrize("seed", range(20))
def test_a_wrong_sum_is_named_whatever_the_inputs(seed, code, mistake):
    case = a_case(c.RING_ALL_REDUCE, 0, seed)
    returned = [mistake(case.expected, rank) for rank in range(3)]
    run = a_run(shown(returned, case.expected))
    assert only(ring_all_reduce.examine(case, run)).code == code


def test_the_table_says_whose_numbers_are_missing_and_where():
    case = a_case(c.RING_ALL_REDUCE, 0)
    xs = case.expected
    holed = sum(xs)
    holed[4:7] -= xs[1][4:7]
    run = a_run(shown([sum(xs), sum(xs), holed], xs))
    finding = only(ring_all_reduce.examine(case, run))
    assert finding.code == "partial_sums"
    assert [row[:2] + row[3:4] for row in finding.table.rows] == [
        ("0", "0 to 9", "0 + 1 + 2"),
        ("1", "0 to 9", "0 + 1 + 2"),
        ("2", "0 to 3", "0 + 1 + 2"),
        ("2", "4 to 6", "0 + 2"),
        ("2", "7 to 9", "0 + 1 + 2"),
    ]


# --- what all share -------------------------------------------------------------------------


def test_a_wrong_value_is_blamed_on_the_dtypes_when_these_differ():
    case = a_case(c.EXCHANGE, 0)
    calls: list[list[Call]] = [[], [], []]
    for rank in range(3):
        right = (rank + 1) % 3
        calls[rank].append(Call("send", 1.0, 2.0, (5,), "int32", 20, peer=right, line=7))
        calls[right].append(Call("recv", 1.0, 2.0, (5,), "float32", 20, peer=rank, line=8))
    garbage = [torch.zeros(5, dtype=torch.int32)] * 3
    finding = only(exchange.examine(case, a_run(shown(garbage, case.expected), calls)))
    assert finding.code == "dtypes_differ"
    assert {place.line for place in finding.places} == {7, 8}
    right_values = [case.expected[(r - 1) % 3] for r in range(3)]
    assert not list(exchange.examine(case, a_run(shown(right_values, case.expected), calls)))


JUNK: list[Any] = [
    None,
    True,
    -1,
    float("nan"),
    "sum",
    b"x",
    [],
    {"returned": 3},
    {"x": None, "returned": [torch.zeros(2)]},
    torch.tensor(float("nan")),
    torch.zeros(10, dtype=torch.complex64),
    torch.full((10,), float("inf")),
    torch.zeros(0),
    torch.zeros(2, 3, dtype=torch.bool),
]


@pytest.mark.parametrize("exercise", c.LESSON.exercises, ids=lambda e: e.name)
@pytest.mark.parametrize("junk", JUNK, ids=[str(i) for i in range(len(JUNK))])
def test_whatever_a_rank_makes_up_is_a_finding_and_no_crash(exercise, junk):
    """A rank's value, prints and log come from the answer's process, and may be anything."""
    case = a_case(exercise, 0)
    size = case.world_size
    odd = [
        Call("isend", 0.0, None),
        Call("isend", 0.0, 0.0, peer=99, bytes=-5, dtype="?", shape=()),
        Call("send", 0.1, 0.1, peer=0),
        Call("send", 0.1, None, peer=-1),
        Call("recv", 0.1, 0.2),
        Call("wait", 0.3, 0.4, waits_for="irecv"),
        Call("no such operation", 0.5, 0.6),
    ]
    prints = [Print(0.0, "rank 7: "), Print(0.0, "\n\n"), Print(0.1, "rank 0: 1", "stderr")]
    for value in (junk, {"returned": junk, "x": junk}):
        for calls in ([], odd):
            run = a_run([value] * size, [calls] * size, [prints] * size)
            assert list(exercise.examine(case, run))
