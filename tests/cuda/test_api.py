"""The runtime API on the CPU: asynchrony, CUDA's codes and strings, sticky errors, properties."""
# ruff: noqa: E501 - programs in C++ keep their lines

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from course import cuda
from course.cuda import errors

KERNELS = """
#include <cstdio>
__global__ void fill(int* a, int value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = value;
}
__global__ void beyond(int* a) { a[1000000] = 1; }
static const char* text(cudaError_t e) { return cudaGetErrorName(e); }
"""


def run(body: str, before: str = "", **how: Any) -> cuda.CudaRun:
    done = cuda.run(f"{KERNELS}{before}int main() {{\n{body}\n}}\n", backend="cpu", **how)
    assert done.state == "exited", (done, done.diagnostics)
    return done


def lines(body: str, before: str = "", **how: Any) -> list[str]:
    done = run(body, before, **how)
    return done.stdout.splitlines()


# ------------------------------------------------------------------ asynchrony


def test_a_kernel_runs_when_somebody_waits_and_not_before() -> None:
    said = lines("""
        int *d, *h; cudaMalloc(&d, 4); cudaMallocHost(&h, 4); *h = 5;
        cudaStream_t s; cudaStreamCreate(&s);
        fill<<<1, 1, 0, s>>>(d, 7, 1);
        cudaMemcpyAsync(h, d, 4, cudaMemcpyDeviceToHost, s);
        printf("%d\\n", *(volatile int*)h);
        cudaStreamSynchronize(s);
        printf("%d\\n", *(volatile int*)h);
        cudaStreamDestroy(s); cudaFree(d); cudaFreeHost(h);""")
    assert said == ["5", "7"]


@pytest.mark.parametrize(
    "wait",
    [
        "cudaDeviceSynchronize();",
        "cudaStreamSynchronize(0);",
        "cudaEventSynchronize(e);",
        "int x; cudaMemcpy(&x, d, 4, cudaMemcpyDeviceToHost);",
        "while (cudaEventQuery(e) == cudaErrorNotReady) { }",
        "while (cudaStreamQuery(0) == cudaErrorNotReady) { }",
    ],
)
def test_each_way_to_wait(wait: str) -> None:
    done = run(f"""
        int* d; cudaMalloc(&d, 4); cudaEvent_t e; cudaEventCreate(&e);
        fill<<<1, 1>>>(d, 1, 1); cudaEventRecord(e);
        {wait}
        return 0;""")
    assert [launch.ran for launch in done.launches] == [True]
    assert not done.fault("never_synchronised")


def test_a_launch_nobody_waits_for_never_runs() -> None:
    done = run("int* d; cudaMalloc(&d, 4); fill<<<1, 1>>>(d, 1, 1);")
    assert done.launches == () and done.fault("never_synchronised") is not None


def test_streams_wait_for_events_and_the_default_stream_for_all() -> None:
    done = run(
        """
        int* d; cudaMalloc(&d, 4000); cudaStream_t a, b; cudaEvent_t e;
        cudaStreamCreate(&a); cudaStreamCreate(&b); cudaEventCreate(&e);
        fill<<<4, 256, 0, a>>>(d, 1, 1000); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e);
        fill<<<4, 256, 0, b>>>(d, 2, 1000);
        int h[1000]; cudaMemcpy(h, d, 4000, cudaMemcpyDeviceToHost); printf("%d\\n", h[999]);
        cudaFree(d);""",
        seed=5,
    )
    assert done.ok and done.stdout == "2\n", done
    kinds = {o.id: o.kind for o in done.operations}
    first, second = [o for o in done.operations if o.kind == "launch"]
    assert (first.stream, second.stream) == (1, 2) and second.begin >= first.end
    assert [kinds[i] for i in second.after] == ["wait"]


def test_streams_run_in_any_order_by_the_seed() -> None:
    body = """
        int *d; cudaMalloc(&d, 8); cudaStream_t a, b;
        cudaStreamCreate(&a); cudaStreamCreate(&b);
        fill<<<1, 1, 0, a>>>(d, 1, 1); fill<<<1, 1, 0, b>>>(d + 1, 1, 1);
        cudaDeviceSynchronize(); cudaFree(d);"""
    orders = {tuple(launch.stream for launch in run(body, seed=s).launches) for s in range(8)}
    ran = {tuple(o.stream for o in run(body, seed=s).operations) for s in range(8)}
    assert orders == {(1, 2)} and ran == {(1, 2), (2, 1)}


def test_copies_from_pageable_memory_are_taken_at_once() -> None:
    said = lines("""
        int *d, h = 1, back = 0; cudaMalloc(&d, 4);
        cudaMemcpyAsync(d, &h, 4, cudaMemcpyHostToDevice); h = 2;
        cudaMemcpy(&back, d, 4, cudaMemcpyDeviceToHost); printf("%d\\n", back); cudaFree(d);""")
    assert said == ["1"]


# ------------------------------------------------------------------ errors


def test_an_execution_error_comes_at_the_synchronisation_and_stays() -> None:
    done = run("""
        int* d; cudaMalloc(&d, 4);
        beyond<<<1, 1>>>(d); printf("%s\\n", text(cudaGetLastError()));
        printf("%s\\n", text(cudaDeviceSynchronize()));
        for (int i = 0; i < 2; ++i) printf("%s\\n", text(cudaGetLastError()));
        printf("%s %s\\n", text(cudaMalloc(&d, 4)), text(cudaFree(nullptr)));
        fill<<<1, 1>>>(d, 1, 1); printf("%s\\n", text(cudaPeekAtLastError()));""")
    bad = "cudaErrorIllegalAddress"
    assert done.stdout.splitlines() == ["cudaSuccess", bad, bad, bad, f"{bad} {bad}", bad]
    assert done.leaks == ()  # nothing can be freed any more


def test_a_refused_launch_is_told_once_and_is_not_sticky() -> None:
    done = run("""
        int* d; cudaMalloc(&d, 4);
        fill<<<1, 2000>>>(d, 1, 1);
        printf("%s\\n", text(cudaPeekAtLastError())); printf("%s\\n", text(cudaGetLastError()));
        printf("%s\\n", text(cudaGetLastError())); printf("%s\\n", text(cudaDeviceSynchronize()));
        cudaFree(d);""")
    bad = "cudaErrorInvalidConfiguration"
    assert done.stdout.splitlines() == [bad, bad, "cudaSuccess", "cudaSuccess"]
    (launch,) = done.launches
    assert (launch.error, launch.ran, launch.block) == (9, False, (2000, 1, 1))
    assert done.unread_launch_error == ""
    unread = run("fill<<<1, 2000>>>(nullptr, 1, 1);")
    assert unread.unread_launch_error == "fill" and unread.last_error == 9


def test_codes_and_strings_are_those_of_cuda() -> None:
    """Against the values that NVIDIA's documentation of the runtime API lists."""
    known = {
        0: ("cudaSuccess", "no error"),
        1: ("cudaErrorInvalidValue", "invalid argument"),
        2: ("cudaErrorMemoryAllocation", "out of memory"),
        9: ("cudaErrorInvalidConfiguration", "invalid configuration argument"),
        98: ("cudaErrorInvalidDeviceFunction", "invalid device function"),
        400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
        600: ("cudaErrorNotReady", "device not ready"),
        700: ("cudaErrorIllegalAddress", "an illegal memory access was encountered"),
        701: ("cudaErrorLaunchOutOfResources", "too many resources requested for launch"),
        719: ("cudaErrorLaunchFailure", "unspecified launch failure"),
        999: ("cudaErrorUnknown", "unknown error"),
    }
    assert {code: errors.table()[code] for code in known} == known
    body = "".join(
        f'printf("%s|%s\\n", text((cudaError_t){c}), cudaGetErrorString((cudaError_t){c}));'
        for c in known
    )
    assert lines(body) == [f"{name}|{said}" for name, said in known.values()]
    assert lines('printf("%s", text((cudaError_t)12345));') == ["unrecognized error code"]


def test_wrong_arguments_get_cudas_codes() -> None:
    said = lines("""
        int *d, h = 0; cudaMalloc(&d, 16);
        printf("%d\\n", cudaMalloc((void**)nullptr, 4));
        printf("%d\\n", cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice));
        printf("%d\\n", cudaMemcpy(d, &h, 4, (cudaMemcpyKind)9));
        printf("%d\\n", cudaSetDevice(1));
        printf("%d\\n", cudaStreamSynchronize((cudaStream_t)77));
        printf("%d\\n", cudaEventSynchronize((cudaEvent_t)77));
        cudaDeviceProp p; printf("%d\\n", cudaGetDeviceProperties(&p, 3));
        printf("%d\\n", cudaMemcpy(d, &h, 0, cudaMemcpyHostToDevice));
        printf("%d\\n", cudaFree(nullptr)); cudaFree(d);""")
    assert said == ["1", "1", "21", "101", "400", "400", "101", "0", "0"]


@pytest.mark.parametrize(
    ("inject", "said"),
    [
        (("malloc", 2), "0 2 0 2 0"),
        (("free", 1), "0 0 0 0 0"),
        (("copy", 1), "0 0 1 1 0"),
        (("launch", 1), "0 0 0 701 0"),
        (("sync", 1), "0 0 0 0 700"),
        (("call", 3), "0 0 999 999 0"),
        (("malloc", 9), "0 0 0 0 0"),
    ],
)
def test_a_call_made_to_fail(inject: tuple[str, int], said: str) -> None:
    body = """
        int *a, *b, h = 0; int one = cudaMalloc(&a, 4), two = cudaMalloc(&b, 4);
        int copy = cudaMemcpy(a, &h, 4, cudaMemcpyHostToDevice);
        fill<<<1, 1>>>(a, 1, 1); int launch = cudaGetLastError(), sync = cudaDeviceSynchronize();
        printf("%d %d %d %d %d\\n", one, two, copy, launch, sync); cudaFree(a); if (!two) cudaFree(b);"""
    done = run(body, inject=inject)
    assert done.stdout == said + "\n"
    injected = [call.name for call in done.calls if call.injected]
    assert injected == {
        "malloc": ["cudaMalloc"],
        "free": ["cudaFree"],
        "copy": ["cudaMemcpy"],
        "call": ["cudaMemcpy"],
    }.get(inject[0] if inject[1] < 9 else "", [])


def test_nonsense_to_inject_is_refused() -> None:
    for wrong in (("mallok", 1), ("malloc", 0)):
        with pytest.raises(ValueError, match="a number from 1"):
            cuda.run("int main() { }", inject=wrong)


# ------------------------------------------------------------------ what a card tells


def test_properties_of_the_card() -> None:
    body = """
        cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int clock, bus, count;
        cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, 0);
        cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, 0); cudaGetDeviceCount(&count);
        printf("%s|%d.%d|%d|%zu|%d|%d|%zu|%d", p.name, p.major, p.minor, p.multiProcessorCount,
               p.totalGlobalMem >> 30, clock, bus, p.sharedMemPerMultiprocessor, count);"""
    assert lines(body) == ["CPU in the place of an NVIDIA A100|8.0|108|40|1215000|5120|167936|1"]
    small = dataclasses.replace(cuda.L4, memory=1 << 30)
    assert lines(body, card=small) == [
        "CPU in the place of an NVIDIA L4|8.9|58|1|6251000|192|102400|1"
    ]


def test_memory_of_the_card_is_counted() -> None:
    said = lines(
        """
        size_t free, total; void *a, *b; cudaMemGetInfo(&free, &total); printf("%zu\\n", total - free);
        cudaMalloc(&a, 3 << 20); cudaMemGetInfo(&free, &total); printf("%zu\\n", total - free);
        printf("%d\\n", cudaMalloc(&b, 15 << 20)); cudaFree(a);
        cudaMemGetInfo(&free, &total); printf("%zu\\n", total - free);
        printf("%d\\n", cudaMalloc(&b, 15 << 20)); cudaFree(b);""",
        card=dataclasses.replace(cuda.A100, memory=16 << 20),
    )
    assert said == ["0", str(3 << 20), "2", "0", "0"]


def test_attributes_and_occupancy_follow_the_figures_of_ptxas() -> None:
    body = """
        cudaFuncAttributes a; int blocks, grid, block;
        cudaFuncGetAttributes(&a, fill);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0);
        cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0);
        printf("%d %zu %d %d %d %d", a.numRegs, a.sharedSizeBytes, a.maxThreadsPerBlock, blocks, grid, block);"""
    # 64 registers a thread: 65536 / 64 = 1024 threads on an SM, 4 blocks of 256.
    figures = [{"symbol": "", "name": "fill", "registers": 64, "shared": 128}]
    assert lines(body, resources=figures) == ["64 128 1024 4 108 1024"]
    # 255 registers: 8,192 a warp in units of 256, 8 warps: one block of 256.
    assert lines(body, resources=[{"name": "fill", "registers": 255}]) == ["255 0 256 1 108 256"]
    assert lines(body)[0].split()[3] == "8"  # 2048 threads


def test_dynamic_shared_memory_beyond_48_kib_must_be_asked_for() -> None:
    before = "__global__ void use() { extern __shared__ int s[]; s[threadIdx.x] = 1; }\n"
    said = lines(
        """
        use<<<1, 32, 60000>>>(); printf("%d\\n", cudaGetLastError());
        printf("%d\\n", cudaFuncSetAttribute(use, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
        use<<<1, 32, 60000>>>(); printf("%d\\n", cudaGetLastError());
        printf("%d\\n", cudaDeviceSynchronize());
        printf("%d\\n", cudaFuncSetAttribute(use, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));""",
        before,
    )
    assert said == ["1", "0", "0", "0", "1"]


# ------------------------------------------------------------------ kernels


def test_each_thread_has_its_coordinates() -> None:
    before = """__global__ void where(int* out) {
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread; }\n"""
    body = """
        int *d, h[720]; cudaMalloc(&d, sizeof h); where<<<dim3(2, 3, 5), dim3(4, 3, 2)>>>(d);
        cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost); cudaFree(d);
        for (int i = 0; i < 720; ++i) if (h[i] != i / 24 * 1000 + i % 24) return 1;"""
    for seed in range(3):
        done = run(body, before, seed=seed, touches=True)
        assert done.ok and (done.launches[0].grid, done.launches[0].block) == ((2, 3, 5), (4, 3, 2))
        touched = cuda.touched(done, "d")
        assert len(touched) == 720 and (touched["write"] == 1).all()
        assert (touched["offset"] == 4 * (touched["block"] * 24 + touched["thread"])).all()


def test_the_seed_shuffles_and_repeats() -> None:
    before = "__global__ void take(int* next, int* order) { order[atomicAdd(next, 1)] = blockIdx.x * 8 + threadIdx.x; }\n"
    body = """
        int *n, *d, h[64]; cudaMalloc(&n, 4); cudaMalloc(&d, sizeof h); cudaMemset(n, 0, 4);
        take<<<8, 8>>>(n, d); cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
        for (int x : h) printf("%d ", x); cudaFree(n); cudaFree(d);"""
    orders = [lines(body, before, seed=s)[0].split() for s in (0, 1, 2, 1)]
    assert orders[0] == [str(i) for i in range(64)]
    assert orders[1] != orders[2] and orders[1] == orders[3]
    assert all(sorted(map(int, order)) == list(range(64)) for order in orders)


def test_two_blocks_run_in_either_order() -> None:
    before = "__global__ void take(int* order) { order[atomicAdd(order + 2, 1)] = blockIdx.x; }\n"
    body = """
        int *d, h[3]; cudaMalloc(&d, sizeof h); cudaMemset(d, 0, sizeof h); take<<<2, 1>>>(d);
        cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost); printf("%d%d\\n", h[0], h[1]);
        cudaFree(d);"""
    assert lines(body, before, seed=0) == ["01"]
    assert {lines(body, before, seed=s)[0] for s in range(1, 12)} == {"01", "10"}


def test_reads_writes_and_atomic_updates_are_told_apart() -> None:
    before = "__global__ void all(int* x) { x[2] = x[0]; atomicAdd(x + 1, 1); }\n"
    body = """
        int* x; cudaMalloc(&x, 12); cudaMemset(x, 0, 12); all<<<1, 1>>>(x);
        cudaDeviceSynchronize(); cudaFree(x);"""
    touched = cuda.touched(run(body, before, touches=True), "x")
    ways = dict(zip((touched["offset"] // 4).tolist(), touched["write"].tolist()))
    assert ways == {0: 0, 1: 2, 2: 1}


def test_an_operation_names_the_call_in_which_it_ran() -> None:
    body = """
        int *a, *b; cudaMalloc(&a, 4); cudaMalloc(&b, 4); fill<<<1, 1>>>(a, 1, 1);
        cudaDeviceSynchronize(); fill<<<1, 1>>>(b, 1, 1); cudaFree(a); cudaFree(b);"""
    ran = [o.ran_in for o in run(body).operations if o.kind == "launch"]
    assert ran == ["cudaDeviceSynchronize", "cudaFree"]


def test_printf_in_kernels() -> None:
    before = '__global__ void speak() { printf("%d of %d\\n", threadIdx.x, blockDim.x); }\n'
    assert lines("speak<<<1, 3>>>(); cudaDeviceSynchronize();", before) == [
        "0 of 3",
        "1 of 3",
        "2 of 3",
    ]


def test_atomics() -> None:
    before = """__global__ void all(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
        int t = threadIdx.x;
        atomicAdd(i, t); atomicSub(i + 1, t); atomicMax(i + 2, t); atomicMin(i + 3, -t);
        atomicAnd(i + 4, ~(1 << t % 8)); atomicOr(i + 5, 1 << t % 8); atomicXor(i + 6, t);
        atomicExch(i + 7, 5); atomicInc(u, 9); atomicDec(u + 1, 9); atomicAdd(f, 0.5f);
        atomicAdd(d, 0.25); atomicAdd(l, 1ull << 33); atomicCAS(i + 8, 0, 3);
        int seen = i[9], was; do { was = seen; seen = atomicCAS(i + 9, was, was + 2); } while (seen != was); }\n"""
    body = """
        int *i, hi[10]; unsigned *u, hu[2]; float *f, hf; double *d, hd; unsigned long long *l, hl;
        cudaMalloc(&i, sizeof hi); cudaMalloc(&u, 8); cudaMalloc(&f, 4); cudaMalloc(&d, 8); cudaMalloc(&l, 8);
        cudaMemset(i, 0, sizeof hi); cudaMemset(i + 4, 255, 4);
        cudaMemset(u, 0, 8); cudaMemset(f, 0, 4); cudaMemset(d, 0, 8); cudaMemset(l, 0, 8);
        all<<<1, 100>>>(i, u, f, d, l);
        cudaMemcpy(hi, i, sizeof hi, cudaMemcpyDeviceToHost); cudaMemcpy(hu, u, 8, cudaMemcpyDeviceToHost);
        cudaMemcpy(&hf, f, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&hd, d, 8, cudaMemcpyDeviceToHost);
        cudaMemcpy(&hl, l, 8, cudaMemcpyDeviceToHost);
        for (int x : hi) printf("%d ", x);
        printf("%u %u %g %g %llu", hu[0], hu[1], hf, hd, hl);"""
    xor_all = 0
    for t in range(100):
        xor_all ^= t
    expected = [4950, -4950, 99, -99, -256, 255, xor_all, 5, 3, 200, 0, 0, "50", "25", 100 << 33]
    assert lines(body, before)[0].split() == [str(x) for x in expected]


def test_managed_memory_is_both_sides() -> None:
    said = lines("""
        int* m; cudaMallocManaged(&m, 400); for (int i = 0; i < 100; ++i) m[i] = i;
        fill<<<1, 50>>>(m, -1, 50); cudaDeviceSynchronize(); printf("%d %d\\n", m[49], m[50]); cudaFree(m);""")
    assert said == ["-1 50"]


def test_symbols_go_both_ways() -> None:
    before = "__device__ int total; __constant__ int step[2];\n__global__ void add() { atomicAdd(&total, step[1]); }\n"
    said = lines(
        """
        int zero = 5, steps[] = {0, 3}, back; cudaMemcpyToSymbol(total, &zero, 4);
        cudaMemcpyToSymbol(step, steps, 8); add<<<2, 5>>>();
        cudaMemcpyFromSymbol(&back, total, 4); printf("%d\\n", back);
        int* address; cudaGetSymbolAddress(&address, total); cudaMemset(address, 0, 4);
        cudaMemcpyFromSymbol(&back, total, 4); printf("%d\\n", back);""",
        before,
    )
    assert said == ["35", "0"]


def test_inlining_may_be_asked_for_and_forbidden() -> None:
    before = "__device__ __noinline__ int one() { return 1; }\n__device__ __forceinline__ int two() { return 2; }\n"
    before += "__global__ void three(int* d) { *d = one() + two(); }\n"
    body = """int *d, h; cudaMalloc(&d, 4); three<<<1, 1>>>(d);
        cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); cudaFree(d); printf("%d", h);"""
    assert lines(body, before) == ["3"]


def test_host_objects_may_throw_and_use_threads() -> None:
    """The instrumented host code is C++ like any other."""
    before = "#include <atomic>\n#include <map>\n#include <memory>\n#include <string>\n#include <thread>\n"
    said = lines(
        """
        std::map<std::string, std::shared_ptr<int>> m; m["a"] = std::make_shared<int>(3);
        std::atomic<int> n{0}; std::thread t([&] { ++n; }); t.join();
        try { m.at("b"); } catch (const std::exception&) { ++n; }
        printf("%d %d\\n", *m["a"], n.load());""",
        before,
    )
    assert said == ["3 2"]


def test_padding_between_fields_may_be_read_unwritten() -> None:
    before = """struct Pair { char a; int b; };
        __global__ void set(Pair* p) { p->a = 1; p->b = 2; }
        __global__ void copy(const Pair* from, Pair* to) { *to = *from; }\n"""
    done = run(
        """
        Pair *d, h; cudaMalloc(&d, 2 * sizeof(Pair)); set<<<1, 1>>>(d); copy<<<1, 1>>>(d, d + 1);
        cudaMemcpy(&h, d + 1, sizeof h, cudaMemcpyDeviceToHost); cudaFree(d); return h.a + h.b;""",
        before,
    )
    assert done.exit_code == 3 and done.errors == (), done
