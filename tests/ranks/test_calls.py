"""The log of a rank's calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from course.ranks import launch
from tests.ranks import jobs


def test_each_call_has_its_operation_peer_shape_line_and_times():
    run = launch(jobs.log_of_calls, 3)
    assert run.ok, run.failure
    calls = run[2].calls
    assert [c.op for c in calls] == ["isend", "recv", "wait", "all_gather_object", "broadcast"]
    isend, recv, wait, gathered, broadcast = calls
    assert (isend.peer, isend.shape, isend.dtype, isend.bytes) == (0, (3,), "float32", 12)
    assert (recv.peer, recv.bytes) == (1, 12)
    assert (wait.waits_for, wait.peer) == ("isend", 0)
    assert (broadcast.peer, broadcast.dtype, broadcast.bytes) == (1, "int64", 16)
    assert {c.group_size for c in calls} == {3}
    assert all(c.begin <= c.end for c in calls)
    assert gathered.end <= broadcast.begin
    source = Path(jobs.__file__).read_text().splitlines()
    assert "work = dist.isend" in source[isend.line - 1]
    assert "work.wait()" in source[wait.line - 1]
    assert str(recv) == "recv from rank 1"
    assert wait.doing == "waits for its isend to rank 0"


def test_a_batch_is_recorded_transfer_by_transfer():
    calls = launch(jobs.batched_ring, 2)[0].calls
    assert [(c.op, c.peer, c.bytes) for c in calls if c.op != "wait"] == [
        ("isend", 1, 20),
        ("irecv", 1, 20),
    ]
    assert [c.waits_for for c in calls if c.op == "wait"] == ["isend", "irecv"]
    source = Path(jobs.__file__).read_text().splitlines()
    assert "batch_isend_irecv" in source[calls[0].line - 1]


@pytest.mark.parametrize("how", ["not at all", "before", "after"])
def test_a_write_between_start_and_wait_is_seen(how):
    run = launch(jobs.touch_while_under_way, 2, how, backend="gloo")
    for rank in run:
        assert [c.touched for c in rank.calls] == [False, how == "before"]


def test_a_call_that_never_came_back_stays_open():
    run = launch(jobs.one_in_barrier, 2)
    assert run[0].blocked_in.op == "barrier"
    assert run[0].blocked_in.end is None
    assert run[1].blocked_in is None
