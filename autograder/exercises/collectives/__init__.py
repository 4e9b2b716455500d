"""The exercises of lesson 05: processes that talk to each other."""

from __future__ import annotations

from autograder.exercise import Lesson
from autograder.exercises.collectives.broadcast_tree import BROADCAST_TREE
from autograder.exercises.collectives.exchange import EXCHANGE
from autograder.exercises.collectives.pass_along import PASS_ALONG
from autograder.exercises.collectives.ring_all_reduce import RING_ALL_REDUCE

PRELUDE = '''\
import os
import time

import torch
import torch.distributed as dist


def device():
    """Where a message's tensors live: NCCL moves the memory of GPUs, gloo that of the CPU."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
'''

LESSON = Lesson(
    name="05_collectives",
    title="Talking between processes",
    prelude=PRELUDE,
    exercises=(PASS_ALONG, EXCHANGE, BROADCAST_TREE, RING_ALL_REDUCE),
)
