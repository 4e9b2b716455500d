"""One program a fault: what it is, where (the line that ends in ``// here``), and by whom."""
# ruff: noqa: E501 - programs in C++ keep their lines

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Faulty:
    """``expected`` are fields of the fault, ``how`` arguments of ``run``, ``also`` its consequences."""

    kind: str
    text: str
    expected: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)
    severity: str = "error"
    also: frozenset[str] = frozenset()

    @property
    def line(self) -> int | None:
        rows = self.text.split("\n")
        return next((i for i, row in enumerate(rows, 1) if row.endswith("// here")), None)


def main(body: str, before: str = "", includes: str = "#include <cstdio>") -> str:
    return f"{includes}\n{before.strip()}\nint main() {{\n{body.strip()}\n}}\n"


KERNEL = """
__global__ void fill(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i; // here
}
"""
ALLOCATE = "float* d; cudaMalloc(&d, 1000 * sizeof(float));\n"
SYNC = "cudaDeviceSynchronize(); cudaFree(d);\n"


def of_kernel(body: str, launch: str = "k<<<1, 64>>>(d);", before: str = "") -> str:
    kernel = f"{before}__global__ void k(float* d) {{\n{body.strip()}\n}}"
    return main(ALLOCATE + f"cudaMemset(d, 0, 4000);\n{launch}\n" + SYNC, kernel)


FAULTS = [
    # ---- memory of kernels
    Faulty(
        "out_of_bounds",
        main(ALLOCATE + "fill<<<4, 256>>>(d, 1000);\n" + SYNC, KERNEL),
        {"block": (3, 0, 0), "thread": (232, 0, 0), "index": 1000, "access": "write", "size": 4},
    ),
    Faulty(
        "out_of_bounds",
        of_kernel("if (threadIdx.x == 7) d[0] = d[threadIdx.x - 8]; // here"),
        {"thread": (7, 0, 0), "index": (1 << 32) - 1, "access": "read"},
    ),
    Faulty(
        "out_of_bounds",
        of_kernel("d[threadIdx.x] = d[threadIdx.x + 937]; // here"),
        {"thread": (63, 0, 0), "index": 1000, "access": "read"},
    ),
    Faulty(
        "out_of_bounds",
        of_kernel("__shared__ float s[64];\nfloat* p = s + threadIdx.x;\np[1] = 1; // here"),
        {"thread": (63, 0, 0), "index": 64, "access": "write"},
    ),
    Faulty(
        "out_of_bounds",
        of_kernel(
            "extern __shared__ float s[];\ns[threadIdx.x] = 1; // here",
            "k<<<2, 64, 63 * sizeof(float)>>>(d);",
        ),
        {"block": (0, 0, 0), "thread": (63, 0, 0), "index": 63},
    ),
    Faulty(
        "out_of_bounds",
        of_kernel("atomicAdd(d + 1000 * threadIdx.x, 1.0f); // here"),
        {"thread": (1, 0, 0), "index": 1000, "access": "atomic"},
    ),
    Faulty(
        "use_after_free",
        main(ALLOCATE + "cudaFree(d);\nfill<<<1, 1>>>(d, 1);\ncudaDeviceSynchronize();", KERNEL),
        {"access": "write", "block": (0, 0, 0), "thread": (0, 0, 0)},
    ),
    Faulty(
        "misaligned",
        of_kernel("*(double*)(d + 1) = 1.0; // here"),
        {"thread": (0, 0, 0), "size": 8},
    ),
    Faulty("null_pointer", of_kernel("float* p = nullptr;\n*p = d[0]; // here")),
    Faulty("wild_pointer", of_kernel("*(float*)0x123456789000 = d[0]; // here")),
    Faulty(
        "host_memory",
        main(
            "float* h = (float*)malloc(400);\nfill<<<1, 4>>>(h, 4);\n"
            'printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize())); free(h);',
            KERNEL,
        ),
        {"access": "write"},
    ),
    Faulty(
        "write_to_constant",
        of_kernel(
            "*(float*)&c = d[0]; // here",
            before="__constant__ float c;\n",
        ),
    ),
    Faulty(
        "uninitialised_read",
        main(
            ALLOCATE + "k<<<1, 8>>>(d);\n" + SYNC,
            "__global__ void k(float* d) {\nif (threadIdx.x == 0) d[0] += 1; // here\n}",
        ),
        {"thread": (0, 0, 0), "index": 0},
    ),
    Faulty(
        "uninitialised_read",
        of_kernel("__shared__ float s[64];\nd[threadIdx.x] = s[threadIdx.x]; // here"),
        {"thread": (0, 0, 0), "index": 0},
    ),
    Faulty(
        "index_out_of_range",
        of_kernel(
            "float mine[4] = {};\nmine[threadIdx.x] = 1; // here\nd[threadIdx.x] = mine[0];",
            "k<<<1, 5>>>(d);",
        ),
        {"thread": (4, 0, 0)},
    ),
    Faulty(
        "integer_overflow",
        of_kernel(
            "int rows = 70000 + threadIdx.x;\nd[0] = rows * rows; // here", "k<<<1, 1>>>(d);"
        ),
        {"thread": (0, 0, 0)},
        severity="warning",
    ),
    Faulty(
        "stack_overflow",
        of_kernel(
            "d[0] = deep(1000000, d);",
            before="__device__ float deep(int n, volatile float* d) {\n"
            "volatile float much[100]; much[n % 100] = d[0];\n"
            "return n ? deep(n - 1, d) + much[n % 100] : 0; }\n",
        ),
    ),
    # ---- order
    Faulty(
        "race",
        of_kernel(
            "__shared__ float s[64];\n"
            "s[threadIdx.x] = threadIdx.x; d[threadIdx.x] = s[63 - threadIdx.x]; // here"
        ),
        how={"seed": 3},
        also=frozenset({"uninitialised_read"}),
    ),
    Faulty(
        "race",
        of_kernel("d[0] = threadIdx.x; // here"),
        {"index": 0, "access": "write"},
    ),
    Faulty(
        "race_between_blocks",
        of_kernel("if (threadIdx.x == 0) d[0] += 1; // here", "k<<<5, 64>>>(d);"),
        {"index": 0},
    ),
    Faulty(
        "race_between_streams",
        main(
            "float *d, *h; cudaMalloc(&d, 4000); cudaMallocHost(&h, 4000);\n"
            "cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);\n"
            "fill<<<4, 250, 0, a>>>(d, 1000);\n"
            "cudaMemcpyAsync(h, d, 4000, cudaMemcpyDeviceToHost, b);\n"
            "cudaDeviceSynchronize(); cudaFreeHost(h); cudaFree(d);",
            KERNEL.replace(" // here", ""),
        ),
    ),
    Faulty(
        "barrier_ended",
        of_kernel("if (threadIdx.x < 50)\n__syncthreads(); // here"),
        {"details": {"waiting": 50, "ended": 14}},
    ),
    Faulty(
        "barrier_divergent",
        of_kernel("if (threadIdx.x < 50)\n__syncthreads(); // here\nelse\n__syncthreads();"),
    ),
    Faulty(
        "warp_divergent",
        of_kernel(
            "if (threadIdx.x < 16)\n__shfl_sync(0xffffffffu, 1, 0); // here\nelse\n__syncthreads();",
            "k<<<1, 32>>>(d);",
        ),
        how={"seed": 0},
    ),
    Faulty(
        "warp_mask",
        of_kernel("__ballot_sync(0xffffu, 1); // here", "k<<<1, 32>>>(d);"),
        {"thread": (16, 0, 0)},
    ),
    Faulty(
        "warp_lane_missing",
        of_kernel(
            "if (threadIdx.x < 16)\nd[threadIdx.x] = __shfl_sync(0xffffu, 1.0f, 20); // here",
            "k<<<1, 32>>>(d);",
        ),
        {"thread": (0, 0, 0)},
    ),
    # ---- ends
    Faulty(
        "assert",
        main(
            ALLOCATE + "k<<<1, 8>>>(d);\n" + SYNC,
            "#include <cassert>\n__global__ void k(float* d) {\n"
            "assert(threadIdx.x < 5); // here\n}",
        ),
        {"thread": (5, 0, 0)},
    ),
    Faulty("trap", of_kernel("if (threadIdx.x == 3)\n__trap(); // here"), {"thread": (3, 0, 0)}),
    Faulty(
        "never_ends",
        of_kernel("volatile float* v = d;\nwhile (*v == 0) { } // here"),
        {"block": (0, 0, 0)},
        {"time_limit": 0.5},
    ),
    Faulty(
        "launch_in_kernel",
        of_kernel("k<<<1, 1>>>(d); // here", before="__global__ void k(float*);\n"),
    ),
    Faulty(
        "never_synchronised",
        main("fill<<<1, 1>>>(nullptr, 0); // here", KERNEL.replace(" // here", "")),
        severity="warning",
    ),
    # ---- launches that are refused
    Faulty("empty_grid", of_kernel("", "k<<<0, 64>>>(d); // here"), {"details": {"error": 9}}),
    Faulty("empty_block", of_kernel("", "k<<<1, 0>>>(d); // here")),
    Faulty(
        "block_too_large",
        of_kernel("", "k<<<1, 1025>>>(d); // here"),
        {"details": {"asked": 1025, "limit": 1024}},
    ),
    Faulty(
        "block_too_large",
        of_kernel("", "k<<<1, dim3(33, 32)>>>(d); // here"),
        {"details": {"asked": 1056}},
    ),
    Faulty("block_too_deep", of_kernel("", "k<<<1, dim3(1, 1, 65)>>>(d); // here")),
    Faulty("grid_too_large", of_kernel("", "k<<<dim3(1, 65536), 1>>>(d); // here")),
    Faulty(
        "too_much_shared",
        of_kernel("", "k<<<1, 1, 49153>>>(d); // here"),
        {"details": {"asked": 49153, "limit": 49152}},
    ),
    Faulty(
        "launch_bounds",
        of_kernel("", "b<<<1, 65>>>(); // here", "__global__ void __launch_bounds__(64) b() {}\n"),
        {"details": {"asked": 65, "limit": 64}},
    ),
    Faulty(
        "too_many_registers",
        of_kernel("", "k<<<1, 1024>>>(d); // here"),
        {"details": {"asked": 72, "limit": 64, "error": 701}},
        {"resources": [{"symbol": "", "name": "k", "registers": 72}]},
    ),
    # ---- the host
    Faulty(
        "host_touches_device",
        main(ALLOCATE + 'printf("%g\\n", d[3]); // here'),
        {"access": "read", "index": 3, "kernel": None},
    ),
    Faulty(
        "host_touches_device",
        main('c = 5; // here\nprintf("%d\\n", 1);', "__device__ int c;"),
        {"access": "write"},
    ),
    Faulty("host_crash", main("int* p = nullptr;\n*(volatile int*)p = 1; // here")),
    Faulty(
        "host_division_by_zero",
        main("volatile int zero = 0;\nreturn 7 / zero; // here"),
    ),
    Faulty(
        "host_assert",
        main("volatile int one = 1;\nassert(one == 2); // here", includes="#include <cassert>"),
    ),
    Faulty(
        "out_of_memory",
        main(
            "float* d;\nreturn cudaMalloc(&d, (size_t)41 << 30) == cudaErrorMemoryAllocation ? 0 : 1; // here"
        ),
        {"details": {"asked": 41 << 30}},
    ),
    Faulty("double_free", main(ALLOCATE + "cudaFree(d);\ncudaFree(d); // here")),
    Faulty("bad_free", main(ALLOCATE + "cudaFree(d + 1); // here\ncudaFree(d);")),
    Faulty(
        "bad_free",
        main(
            "float* h = (float*)malloc(8);\ncudaFree(h); // here\nfree(h);",
            includes="#include <cstdlib>",
        ),
    ),
    Faulty(
        "wrong_direction",
        main(
            ALLOCATE
            + "float h[4] = {};\ncudaMemcpy(d, h, 16, cudaMemcpyDeviceToHost); // here\ncudaFree(d);"
        ),
    ),
    Faulty(
        "copy_out_of_bounds",
        main(
            ALLOCATE
            + "static float h[2000];\ncudaMemcpy(d, h, 4001, cudaMemcpyHostToDevice); // here\ncudaFree(d);"
        ),
        {"size": 4001, "access": "destination"},
    ),
    Faulty(
        "copy_after_free",
        main(
            ALLOCATE
            + "float h[4] = {};\ncudaFree(d);\ncudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost); // here"
        ),
    ),
    Faulty(
        "uninitialised_copy",
        main(
            ALLOCATE
            + "float h[4] = {};\ncudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost); // here\ncudaFree(d);"
        ),
        severity="warning",
    ),
    Faulty("host_pointer", main("static float h[4];\ncudaMemset(h, 0, 16); // here")),
    Faulty(
        "managed_in_use",
        main(
            "float* m; cudaMallocManaged(&m, 4000);\nfill<<<1, 1>>>(m, 1);\n"
            'printf("%g\\n", m[0]); // here\ncudaDeviceSynchronize(); cudaFree(m);',
            KERNEL.replace(" // here", ""),
        ),
    ),
    Faulty(
        "read_before_ready",
        main(
            "float *d, *h; cudaMalloc(&d, 4000); cudaMallocHost(&h, 4000);\ncudaMemset(d, 0, 4000);\n"
            "cudaMemcpyAsync(h, d, 4000, cudaMemcpyDeviceToHost);\n"
            'printf("%g\\n", h[0]); // here\ncudaDeviceSynchronize(); cudaFree(d); cudaFreeHost(h);'
        ),
        {"access": "read"},
    ),
    Faulty(
        "changed_before_copied",
        main(
            "float *d, *h; cudaMalloc(&d, 4000); cudaMallocHost(&h, 4000);\n"
            "cudaMemcpyAsync(d, h, 4000, cudaMemcpyHostToDevice);\n"
            "h[0] = 1; // here\ncudaDeviceSynchronize(); cudaFree(d); cudaFreeHost(h);"
        ),
        {"access": "write"},
    ),
    Faulty(
        "leak", main("float* d;\ncudaMalloc(&d, 1234); // here"), {"access": ""}, severity="warning"
    ),
    Faulty(
        "starts_process",
        main("return fork() == -1 ? 0 : 1; // here", includes="#include <unistd.h>"),
    ),
    Faulty("reads_stdin", main('int x; return scanf("%d", &x) == 1;')),
]
