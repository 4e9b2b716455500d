"""The exercises of lesson 03: DistributedDataParallel from the inside."""

from __future__ import annotations

from autograder.exercise import Lesson
from autograder.exercises.ddp.average_gradients import AVERAGE_GRADIENTS, AVERAGE_GRADIENTS_FLAT
from autograder.exercises.ddp.broadcast_model import BROADCAST_MODEL
from autograder.exercises.ddp.bucketed import BUCKETED_DDP
from autograder.exercises.ddp.bug_epoch import EPOCH_BATCHES
from autograder.exercises.ddp.bug_forward import TRAINING_STEP
from autograder.exercises.ddp.bug_head import REPLACE_HEAD
from autograder.exercises.ddp.bug_validation import VALIDATION_LOSS
from autograder.exercises.ddp.metric import GLOBAL_METRIC
from autograder.exercises.ddp.no_sync import NO_SYNC
from autograder.exercises.ddp.overlapped import OVERLAPPED_DDP
from autograder.exercises.ddp.sampler import DISTRIBUTED_SAMPLER
from autograder.exercises.ddp.sharded import SHARDED_OPTIMIZER
from autograder.exercises.ddp.train import TRAIN_DDP
from autograder.exercises.ddp.unused import UNUSED_PARAMETERS

PRELUDE = '''\
import contextlib
import math
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset


def device():
    """Where a rank's model lives: on its GPU where NCCL runs, else on the CPU."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
'''

LESSON = Lesson(
    name="03_ddp",
    title="DistributedDataParallel from the inside",
    prelude=PRELUDE,
    exercises=(
        BROADCAST_MODEL,
        AVERAGE_GRADIENTS,
        AVERAGE_GRADIENTS_FLAT,
        OVERLAPPED_DDP,
        BUCKETED_DDP,
        TRAINING_STEP,
        REPLACE_HEAD,
        NO_SYNC,
        UNUSED_PARAMETERS,
        DISTRIBUTED_SAMPLER,
        EPOCH_BATCHES,
        GLOBAL_METRIC,
        VALIDATION_LOSS,
        TRAIN_DDP,
        SHARDED_OPTIMIZER,
    ),
)
