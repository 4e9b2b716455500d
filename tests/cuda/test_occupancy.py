"""Occupancy against NVIDIA's own calculator (a header of the toolkit), and counted out by hand."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from course.cuda import toolchain
from course.cuda.occupancy import (
    A100,
    CARDS,
    H100,
    WARP,
    Limits,
    best_block,
    local_memory,
    occupancy,
)

GRID = list(
    itertools.product(
        (1, 16, 24, 32, 33, 40, 64, 65, 96, 128, 168, 255),
        (0, 1, 1024, 10_160, 12_288, 49_152, 102_400),
        (1, 32, 33, 96, 100, 128, 256, 288, 512, 640, 768, 1000, 1024),
    )
)


def by_allocating(registers: int, shared: int, block: int, limits: Limits) -> int:
    """Blocks put on an SM one after the other, until one finds no room.

    Warps are dealt to the four parts in turn, and each takes its registers from its part.
    """
    if block > 1024 or shared > limits.shared_block:
        return 0
    warps = -(-block // WARP)
    of_warp = -(-registers * WARP // 256) * 256
    of_block = -(-shared // 128) * 128 + 1024
    room = [limits.registers // 4 // of_warp] * 4
    if -(-warps // 4) > room[0]:
        return 0
    free_warps, free_shared, blocks, slots = limits.warps, limits.shared, 0, sum(room)
    while (
        blocks < limits.blocks
        and warps <= free_warps
        and of_block <= free_shared
        and warps <= slots
    ):
        blocks, slots = blocks + 1, slots - warps
        free_warps, free_shared = free_warps - warps, free_shared - of_block
    return blocks


@pytest.mark.parametrize("limits", CARDS.values(), ids=CARDS)
def test_blocks_are_those_that_fit_when_put_one_after_the_other(limits):
    for registers, shared, block in GRID:
        found = occupancy(registers, shared, block, limits)
        assert found.blocks == by_allocating(registers, shared, block, limits), (
            registers, shared, block,
        )  # fmt: skip
        assert found.warps == found.blocks * -(-block // WARP)


PROGRAM = r"""
#include <cstddef>
#include <cstdio>
#include <algorithm>
using std::min;
#include "cuda_occupancy.h"
int main() {
    int major, minor, threads, blocks, registers, shared, block;
    long sm_shared, block_shared;
    while (scanf("%d %d %d %d %ld %ld %d %d %d", &major, &minor, &threads, &blocks, &sm_shared,
                 &block_shared, &registers, &shared, &block) == 9) {
        cudaOccDeviceProp card;
        card.computeMajor = major;
        card.computeMinor = minor;
        card.maxThreadsPerBlock = 1024;
        card.maxThreadsPerMultiprocessor = threads;
        card.regsPerBlock = card.regsPerMultiprocessor = 65536;
        card.warpSize = 32;
        card.sharedMemPerBlock = 48 * 1024;
        card.sharedMemPerBlockOptin = block_shared;
        card.sharedMemPerMultiprocessor = sm_shared;
        card.numSms = 1;
        card.reservedSharedMemPerBlock = 1024;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = 0;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = block_shared;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &card, &kernel, &state, block, shared);
        int found = result.activeBlocksPerMultiprocessor;
        printf("%d\n", error == CUDA_OCC_SUCCESS ? found : -(int)error);
    }
}
"""


def header() -> Path | None:
    nvcc = toolchain.nvcc()
    homes = [os.environ.get("CUDA_HOME", "/usr/local/cuda")]
    homes += [str(p) for p in sorted(Path("/usr/local").glob("cuda-*"), reverse=True)]
    homes += [str(Path(nvcc).resolve().parents[1])] if nvcc else []
    found = (Path(home, "include", "cuda_occupancy.h") for home in homes)
    return next((path for path in found if path.is_file()), None)


def test_blocks_are_those_of_nvidias_own_calculator(tmp_path):
    path = header()
    if path is None or shutil.which("g++") is None:
        pytest.skip("needs cuda_occupancy.h of the CUDA toolkit and a C++ compiler")
    (tmp_path / "calculator.cpp").write_text(PROGRAM)
    command = ["g++", "-w", f"-I{path.parent}", "calculator.cpp", "-o", "calculator"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    asked, wanted = [], []
    for arch, limits in CARDS.items():
        for registers, shared, block in GRID:
            numbers = (arch[-2], arch[-1], limits.threads, limits.blocks, limits.shared)
            asked.append((*numbers, limits.shared_block, registers, shared, block))
            wanted.append(occupancy(registers, shared, block, limits).blocks)
    text = "\n".join(" ".join(map(str, row)) for row in asked)
    told = subprocess.run(
        [tmp_path / "calculator"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    got = [int(line) for line in told.stdout.split()]
    differing = [(row, g, w) for row, g, w in zip(asked, got, wanted) if g != w]
    assert len(got) == len(wanted)
    assert differing == []


def test_what_limits_is_named():
    assert occupancy(128, 0, 256, A100).limited_by == ("registers",)
    assert occupancy(16, 0, 32, A100).limited_by == ("blocks",)
    assert occupancy(32, 0, 256, A100).limited_by == ("threads", "registers")
    assert occupancy(16, 100 * 1024, 64, H100).limited_by == ("shared memory",)


@pytest.mark.parametrize("limits", CARDS.values(), ids=CARDS)
@pytest.mark.parametrize(("registers", "each"), [(32, 0), (96, 0), (128, 4), (24, 48), (255, 0)])
def test_the_best_block_is_beaten_by_none_and_no_smaller_one_is_as_good(limits, registers, each):
    best = best_block(registers, each, limits)
    warps = {b: occupancy(registers, b * each, b, limits).warps for b in range(32, 1025, 32)}
    assert warps[best] == max(warps.values())
    assert all(warps[b] < warps[best] for b in range(32, best, 32))


def test_local_memory_is_kept_for_every_thread_that_could_be_there():
    assert local_memory(536, A100, 108) == 536 * 2048 * 108
