"""One recorded training step of a learner's own DDP, over a pretended link."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from course.measure.timeline import Link, record
from course.ranks import launch
from course.ranks.outcome import Run

LINK = Link(latency=1e-3, bytes_per_second=200e6)


@dataclass(frozen=True)
class Setting:
    """What is trained, and over what.

    The model is ``layers`` linear layers of ``width`` × ``width`` float32, one after the other;
    each rank has ``rows`` rows.
    """

    bucket_mb: float = 25.0
    overlap: bool = True
    link: Link = LINK
    ranks: int = 2
    layers: int = 5
    width: int = 384
    rows: int = 256

    @property
    def model_mb(self) -> float:
        """Of 1024 × 1024 bytes, as ``bucket_mb``."""
        return 4 * self.layers * self.width * (self.width + 1) / 2**20


def record_step(ddp: Callable[..., Any], setting: Setting) -> Run:
    """Train on real ranks: a step to warm up, and six of which the fastest is told.

    Args:
        ddp: ``ddp(model, bucket_mb)`` is a module with a method ``finish``, as the exercise
            ``BucketedDDP`` asks for.

    Returns:
        The run, of which :func:`course.measure.timeline.timeline` makes spans if it is ok.
    """
    return launch(functools.partial(_train, ddp, setting), setting.ranks, backend="gloo")


def _train(ddp: Callable[..., Any], setting: Setting) -> list[tuple[Any, ...]]:
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(*(nn.Linear(setting.width, setting.width) for _ in range(setting.layers)))
    x, y = torch.randn(2, setting.rows, setting.width)
    wrapped = ddp(model, setting.bucket_mb)

    def step() -> None:
        F.mse_loss(wrapped(x), y).backward()
        wrapped.finish()
        model.zero_grad()

    def recorded() -> tuple[float, list[tuple[Any, ...]]]:
        dist.barrier()
        begin = time.monotonic()
        with record(model, setting.link, setting.overlap) as recording:
            step()
        return time.monotonic() - begin, recording.spans()

    step()
    steps = [recorded() for _ in range(6)]
    seconds = torch.tensor([taken for taken, _ in steps])
    dist.all_reduce(seconds, dist.ReduceOp.MAX)  # the slowest rank's, the same on all
    return steps[int(seconds.argmin())][1]
