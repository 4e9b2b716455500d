"""The exercises of lesson 01: the CUDA programming model."""

from __future__ import annotations

from autograder.exercise import Lesson
from autograder.exercises.cuda.bandwidth import BANDWIDTH
from autograder.exercises.cuda.block_sum import BLOCK_SUM
from autograder.exercises.cuda.brighten import BRIGHTEN
from autograder.exercises.cuda.cuda_check import CUDA_CHECK
from autograder.exercises.cuda.grid_size import GRID_SIZE
from autograder.exercises.cuda.grid_stride import GRID_STRIDE
from autograder.exercises.cuda.matmul_tiled import MATMUL_TILED
from autograder.exercises.cuda.occupancy import BEST_BLOCK, OCCUPANCY
from autograder.exercises.cuda.overlap import OVERLAP
from autograder.exercises.cuda.vec_add import VEC_ADD
from autograder.exercises.cuda.vec_add_host import VEC_ADD_HOST

PRELUDE = """\
import math
import time

import torch
"""

LESSON = Lesson(
    name="01_cuda",
    title="The CUDA programming model",
    prelude=PRELUDE,
    exercises=(
        GRID_SIZE,
        VEC_ADD,
        VEC_ADD_HOST,
        CUDA_CHECK,
        BRIGHTEN,
        GRID_STRIDE,
        OVERLAP,
        BLOCK_SUM,
        MATMUL_TILED,
        OCCUPANCY,
        BEST_BLOCK,
        BANDWIDTH,
    ),
)
