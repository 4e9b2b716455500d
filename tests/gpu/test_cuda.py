"""The CUDA programs on a GPU: same results as on the CPU, and how much of the peak they reach.

Needs torch, numpy, pytest and nvcc alone: no notebook, no parser of CUDA C++.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from course import cuda
from course.cuda import toolchain

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(toolchain.nvcc() is None, reason="needs nvcc"),
]

PROGRAMS = sorted((Path(__file__).parents[1] / "cuda" / "programs").glob("*.cu"))

BANDWIDTH = r"""
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t status = (call);                                             \
        if (status != cudaSuccess) {                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status)); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

__global__ void vec_add(const float4* a, const float4* b, float4* c, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

int main() {
    const size_t n = (size_t)1 << 25, bytes = n * sizeof(float4);  // 512 MiB an array
    int clock_khz = 0, bus_bits = 0;
    CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, 0));
    CHECK(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, 0));
    float4 *a, *b, *c;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMemset(a, 0, bytes));
    CHECK(cudaMemset(b, 0, bytes));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    float best = 1e30f;
    for (int turn = 0; turn < 20; ++turn) {
        float ms = 0;
        CHECK(cudaEventRecord(begin));
        vec_add<<<(unsigned)((n + 255) / 256), 256>>>(a, b, c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (turn > 2 && ms < best) best = ms;
    }
    // Two transfers a clock: double data rate.
    double peak = 2.0 * 1e3 * clock_khz * bus_bits / 8, reached = 3.0 * bytes / (1e-3 * best);
    printf("%.1f %.1f\n", reached / 1e9, peak / 1e9);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}
"""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_same_text_is_right_on_the_gpu(path: Path) -> None:
    run = cuda.run(cuda.build(path.read_text(), backend="gpu"), time_limit=60)
    assert run.ok and run.stdout == "ok\n" and run.backend == "gpu", run


def test_vec_add_reaches_most_of_the_peak_bandwidth(capsys: pytest.CaptureFixture[str]) -> None:
    run = cuda.run(cuda.build(BANDWIDTH, backend="gpu"), time_limit=60)
    assert run.ok, run
    reached, peak = map(float, run.stdout.split())
    with capsys.disabled():
        name = torch.cuda.get_device_name()
        print(f"\nvec_add on {name}: {reached:,.0f} GB/s of {peak:,.0f} GB/s, {reached / peak:.0%}")
    assert 0.5 < reached / peak <= 1.0


def test_an_access_out_of_bounds_is_cudas_own_error() -> None:
    text = """#include <cstdio>
__global__ void far(int* a) { a[(size_t)1 << 40] = 1; }
int main() { int* d; cudaMalloc(&d, 4); far<<<1, 1>>>(d);
printf("%s", cudaGetErrorName(cudaDeviceSynchronize())); }"""
    run = cuda.run(cuda.build(text, backend="gpu"))
    assert run.stdout == "cudaErrorIllegalAddress"


def test_occupancy_is_what_the_cpu_says_from_the_same_figures() -> None:
    """The card's own answers about a kernel, against those of the CPU in its place."""
    text = """#include <cstdio>
__global__ void use(float* d) { __shared__ float s[1000]; s[threadIdx.x] = d[threadIdx.x];
__syncthreads(); d[threadIdx.x] = s[999 - threadIdx.x]; }
int main() { cudaFuncAttributes a; cudaDeviceProp p; cudaFuncGetAttributes(&a, use);
cudaGetDeviceProperties(&p, 0);
printf("%d %zu %d %zu %d %d", a.numRegs, a.sharedSizeBytes, p.multiProcessorCount,
       p.sharedMemPerMultiprocessor, p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor);
for (int threads = 32; threads <= 1024; threads += 96) { int blocks;
cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use, threads, 64 * (threads % 7));
printf(" %d", blocks); } }"""
    pytest.importorskip("tree_sitter_cuda", reason="the CPU path needs the parser")
    on_gpu = cuda.run(cuda.build(text, backend="gpu"))
    registers, shared, sms, shared_sm, threads_sm, blocks_sm = map(int, on_gpu.stdout.split()[:6])
    figures = [{"name": "use", "registers": registers, "shared": shared}]
    card = cuda.Card(
        "GPU", 90, 1 << 34, sms, shared_sm - 1024, shared_sm, threads_sm, blocks_sm, 0, 0, 0, 0
    )
    on_cpu = cuda.run(text, backend="cpu", resources=figures, card=card)
    assert re.split(r"\s+", on_cpu.stdout) == re.split(r"\s+", on_gpu.stdout)
