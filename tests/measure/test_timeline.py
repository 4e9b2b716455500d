"""Timelines: intervals, shares, and a recorded step on real ranks over a pretended link."""

from __future__ import annotations

import itertools
import time

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from course.measure.ddp_step import Setting, record_step
from course.measure.timeline import (
    COMMUNICATION,
    COMPUTE,
    Link,
    Span,
    exposed,
    merged,
    record,
    shares,
    timeline,
    watch,
    without,
)
from course.ranks import launch
from course.ranks.outcome import RETURNED, Outcome, Run

INTERVALS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda t: (t[0], t[0] + t[1])), max_size=6
)
SLOW = Link(latency=0.02, bytes_per_second=1e9)


def ticks(intervals) -> set[int]:
    return {tick for begin, end in intervals for tick in range(begin, end)}


@given(INTERVALS)
def test_merged_intervals_cover_the_same_and_do_not_touch(intervals):
    result = merged(intervals)
    assert ticks(result) == ticks(intervals)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(result))


@given(INTERVALS, INTERVALS)
def test_without_leaves_what_is_outside_of_the_holes(intervals, holes):
    for begin, end in intervals:
        assert ticks(without(begin, end, holes)) == set(range(begin, end)) - ticks(holes)


def span(kind: str, begin: float, end: float, rank: int = 0) -> Span:
    return Span(rank, kind, "0", begin, end, 8)


def test_what_computation_hides_is_not_exposed():
    spans = [
        span(COMPUTE, 1, 4),
        span(COMMUNICATION, 3, 6),
        span(COMMUNICATION, 5, 9),  # two at a time count once
        span(COMPUTE, 8, 11),
        span(COMMUNICATION, 0, 99, rank=1),
    ]
    assert exposed(spans, 0) == 4  # 4 to 8
    told = shares(spans, 0)
    assert (told.seconds, told.communication, told.exposed) == (10, 0.6, 0.4)
    assert shares(spans, 7).seconds == 0


def a_step(how: str, overlap: bool = True):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    with record(model, SLOW, overlap) as recording:
        F.mse_loss(model(torch.ones(4, 8)), torch.ones(4, 8)).backward()
        if how == "blocking":
            for p in model.parameters():
                dist.all_reduce(p.grad)
        else:
            works = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
            time.sleep(0.03)  # the rank does something else
            for work in works:
                work.wait()
    return recording.spans()


def communication(spans: list[Span], rank: int) -> list[Span]:
    return [s for s in spans if s.rank == rank and s.kind == COMMUNICATION]


def test_a_layers_forward_and_backward_and_the_collectives_are_seen_on_each_rank():
    spans = timeline(launch(a_step, 2, "blocking", backend="gloo"))
    assert {s.rank for s in spans} == {0, 1}
    assert min(s.begin for s in spans) == 0
    for rank in (0, 1):
        labels = [s.label for s in spans if s.rank == rank]
        assert labels[:2] == ["forward 0", "forward 1"]
        assert labels.index("backward 1") < labels.index("backward 0")
        assert [s.bytes for s in communication(spans, rank)] == [256, 32, 256, 32]


@pytest.mark.parametrize("how", ["blocking", "asynchronous"])
def test_the_pretended_link_takes_one_message_at_a_time_and_its_time_for_each(how):
    for rank in (0, 1):
        found = communication(timeline(launch(a_step, 2, how, backend="gloo")), rank)
        assert all(s.seconds == pytest.approx(SLOW.seconds(s.bytes)) for s in found)
        assert all(a.end <= b.begin + 1e-9 for a, b in itertools.pairwise(found))


def a_step_with_a_late_rank(overlap: bool):
    model = nn.Linear(8, 8)
    with record(model, SLOW, overlap) as recording:
        works = []
        for number in range(2):
            if dist.get_rank() == 1:
                time.sleep(0.05)
            works.append(dist.all_reduce(torch.ones(1 + number), async_op=True))
        for work in reversed(works):
            work.wait()
        dist.broadcast(torch.ones(3), 0)
        if dist.get_rank() == 0:
            time.sleep(0.05)
            dist.send(torch.ones(4), 1)
        else:
            dist.recv(torch.ones(4), 0)
    return recording.spans()


@pytest.mark.parametrize("overlap", [True, False])
def test_on_the_pretended_link_no_rank_ends_before_another_has_begun(overlap):
    spans = timeline(launch(a_step_with_a_late_rank, 2, overlap, backend="gloo"))
    first, second = (communication(spans, rank) for rank in (0, 1))
    assert [(s.begin, s.end, s.bytes) for s in first] == [(s.begin, s.end, s.bytes) for s in second]
    assert [s.label for s in second] == ["all_reduce", "all_reduce", "broadcast", "recv"]


def test_without_overlap_a_message_leaves_when_it_is_waited_for():
    def before_the_first(overlap: bool) -> float:
        run = launch(a_step, 2, "asynchronous", overlap, backend="gloo")
        spans = timeline(run)
        computed = max(s.end for s in spans if s.kind == COMPUTE and s.rank == 0)
        return communication(spans, 0)[0].begin - computed

    assert before_the_first(True) < 0.03 <= before_the_first(False)


def a_step_of_torchs():
    torch.manual_seed(0)
    ddp = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
    watch(ddp)
    with record(ddp) as recording:
        (ddp(torch.ones(3, 4)).sum() * (1 + dist.get_rank())).backward()
    return {"spans": recording.spans(), "gradient": ddp.module.weight.grad}


def test_torchs_own_ddp_is_seen_when_it_is_watched_and_computes_the_same():
    run = launch(a_step_of_torchs, 2, backend="gloo")
    for value in run.values:
        assert [s[2] for s in value["spans"] if s[1] == COMMUNICATION] == ["all_reduce"]
        assert torch.equal(value["gradient"], torch.full((2, 4), 4.5))  # 3 rows, (1 + 2) / 2


def test_what_is_no_recording_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="look at the run itself"):
        timeline(launch(divmod, 1, 1, 0))
    with pytest.raises(ValueError, match=r"must return recording.spans\(\)"):
        timeline(Run((Outcome(0, RETURNED, 5),), 1.0))


class AfterBackward(nn.Module):
    """The simplest thing with the interface of the exercise BucketedDDP."""

    def __init__(self, module, bucket_mb):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)

    def finish(self):
        for param in self.module.parameters():
            dist.all_reduce(param.grad)


def test_a_step_of_a_learners_ddp_is_recorded():
    setting = Setting(layers=2, width=16, rows=8, ranks=3, link=Link(1e-4, 1e9))
    spans = timeline(record_step(AfterBackward, setting))
    for rank in range(3):
        assert sum(s.bytes for s in communication(spans, rank)) == setting.model_mb * 2**20
        assert exposed(spans, rank) == pytest.approx(
            sum(s.seconds for s in communication(spans, rank))
        )
