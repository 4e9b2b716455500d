"""The exercises of lesson 02: DataParallel, and why it stops scaling."""

from __future__ import annotations

from autograder.exercise import Lesson
from autograder.exercises.dp.bug_attribute import PENALISED_STEP
from autograder.exercises.dp.bug_prefix import LOAD_CHECKPOINT
from autograder.exercises.dp.data_parallel import DATA_PARALLEL
from autograder.exercises.dp.gather import GATHER
from autograder.exercises.dp.largest import LARGEST_BATCH
from autograder.exercises.dp.memory import MEMORY_PER_DEVICE
from autograder.exercises.dp.parallel_apply import PARALLEL_APPLY
from autograder.exercises.dp.replicate import REPLICATE
from autograder.exercises.dp.scatter import SCATTER
from autograder.exercises.dp.traffic import TRAFFIC

PRELUDE = """\
import copy
import math
import os
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

from course.virtual import gpus, ledger, memory_by_kind, transfers
"""

LESSON = Lesson(
    name="02_dp",
    title="DataParallel, and why it stops scaling",
    prelude=PRELUDE,
    exercises=(
        SCATTER,
        REPLICATE,
        PARALLEL_APPLY,
        GATHER,
        DATA_PARALLEL,
        PENALISED_STEP,
        LOAD_CHECKPOINT,
        MEMORY_PER_DEVICE,
        TRAFFIC,
        LARGEST_BATCH,
    ),
)
