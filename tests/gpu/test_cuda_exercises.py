"""Right answers to lesson 01, compiled by nvcc and run on a GPU: the checks find nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from autograder import cuda_answer
from autograder.exercise import CUDA
from autograder.exercises import cuda as lesson
from course.cuda import toolchain
from course.cuda.occupancy import CARDS, Limits, occupancy
from course.measure.bandwidth import measure

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(toolchain.nvcc() is None, reason="needs nvcc"),
]
ANSWERS = Path(__file__).resolve().parents[1] / "answers"
RIGHT = [
    (exercise, path)
    for exercise in lesson.LESSON.exercises
    if exercise.language == CUDA
    for path in sorted((ANSWERS / exercise.name).glob("right_*.cu"))
]


@pytest.mark.parametrize(("exercise", "path"), RIGHT, ids=lambda x: getattr(x, "stem", x.name))
def test_a_right_answer_is_right_on_the_gpu(exercise, path):
    program = cuda_answer.build(path.read_text(encoding="utf-8"), exercise.harness, "gpu")
    for case in exercise.cases(random.Random(0)):
        if "inject" in case.options:  # a GPU does not fail on request
            continue
        ran = cuda_answer.run(program, case.inputs[0], {}, seconds=20.0)
        assert list(exercise.examine(case, ran)) == []


ASK = r"""
#include <cstdio>
#include <cstdlib>
__global__ void nothing(float* x) { extern __shared__ float s[]; if (x) x[0] = s[threadIdx.x]; }
int main() {
    int optin = 0;
    cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, optin);
    cudaFuncAttributes of;
    cudaFuncGetAttributes(&of, nothing);
    for (int block = 32; block <= 1024; block += 32)
        for (int shared = 0; shared <= optin; shared += 4096) {
            int blocks = 0;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, block, shared);
            printf("%d %d %d %d\n", of.numRegs, shared, block, blocks);
        }
}
"""


def this_card() -> Limits:
    major, minor = torch.cuda.get_device_capability()
    known = CARDS.get(f"sm_{major}{minor}")
    if known is None:
        pytest.skip(f"no rules are written down for compute capability {major}.{minor}")
    return known


def test_occupancy_is_what_the_driver_says():
    from course import cuda

    limits = this_card()
    run = cuda.run(ASK, backend="gpu", time_limit=60)
    rows = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert len(rows) > 300
    for registers, shared, block, blocks in rows:
        found = occupancy(registers, shared, block, limits)
        assert found.blocks == blocks, (registers, shared, block)


def test_the_gpus_memory_is_slower_than_its_cache():
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    cached, large = measure((l2 // 4, 16 * l2), device="cuda")
    assert large.bytes_per_second < cached.bytes_per_second
