"""The exercises of lesson 05: processes that talk to each other."""

from __future__ import annotations

from autograder.exercise import Lesson
from autograder.exercises.collectives.all_gather import ALL_GATHER
from autograder.exercises.collectives.all_to_all import ALL_TO_ALL
from autograder.exercises.collectives.broadcast_tree import BROADCAST_TREE
from autograder.exercises.collectives.comm_share import COMM_SHARE
from autograder.exercises.collectives.crossover import CROSSOVER
from autograder.exercises.collectives.exchange import EXCHANGE
from autograder.exercises.collectives.exchange_async import EXCHANGE_ASYNC
from autograder.exercises.collectives.fit_alpha_beta import FIT_ALPHA_BETA
from autograder.exercises.collectives.gather_predictions import GATHER_PREDICTIONS
from autograder.exercises.collectives.global_mean import GLOBAL_MEAN
from autograder.exercises.collectives.hierarchical_all_reduce import HIERARCHICAL_ALL_REDUCE
from autograder.exercises.collectives.pass_along import PASS_ALONG
from autograder.exercises.collectives.reduce_scatter import REDUCE_SCATTER
from autograder.exercises.collectives.ring_all_reduce import RING_ALL_REDUCE
from autograder.exercises.collectives.top_k_compress import TOP_K_COMPRESS
from autograder.exercises.collectives.train_and_report import TRAIN_AND_REPORT

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
    exercises=(
        PASS_ALONG,
        EXCHANGE,
        EXCHANGE_ASYNC,
        BROADCAST_TREE,
        ALL_GATHER,
        REDUCE_SCATTER,
        ALL_TO_ALL,
        RING_ALL_REDUCE,
        TRAIN_AND_REPORT,
        GATHER_PREDICTIONS,
        GLOBAL_MEAN,
        FIT_ALPHA_BETA,
        CROSSOVER,
        COMM_SHARE,
        HIERARCHICAL_ALL_REDUCE,
        TOP_K_COMPRESS,
    ),
)
