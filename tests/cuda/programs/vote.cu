// Ballots, votes, masks, atomics: compaction of the even numbers, three dimensions of a grid.
#include <cstdio>

__global__ void keep_even(const int* in, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned inside = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    bool even = in[i] % 2 == 0;
    unsigned kept = __ballot_sync(inside, even);
    int lane = threadIdx.x % 32, leader = __ffs(inside) - 1, first = 0;
    if (lane == leader) first = atomicAdd(count, __popc(kept));
    first = __shfl_sync(inside, first, leader);
    if (even) out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
}

__global__ void three_dimensions(int* seen) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, width = gridDim.x * blockDim.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y, height = gridDim.y * blockDim.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int i = (z * height + y) * width + x;
    seen[i] = __any_sync(0xffffffffu, threadIdx.x == 0) + __all_sync(0xffffffffu, threadIdx.z < 2);
}

int main() {
    const int n = 1000;
    int in[n], out[n], count = 0, sum = 0, expected = 0, *d_in, *d_out, *d_count;
    for (int i = 0; i < n; ++i) in[i] = i * 7 % 64, expected += in[i] % 2 == 0 ? in[i] : 0;
    cudaMalloc(&d_in, sizeof in), cudaMalloc(&d_out, sizeof out), cudaMalloc(&d_count, sizeof count);
    cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
    cudaMemset(d_count, 0, sizeof count);
    keep_even<<<(n + 127) / 128, 128>>>(d_in, d_out, d_count, n);
    cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost);
    cudaMemcpy(out, d_out, count * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i) sum += out[i];
    const int cells = 8 * 8 * 8;
    int seen[cells], *d_seen;
    cudaMalloc(&d_seen, sizeof seen);
    three_dimensions<<<dim3(2, 2, 4), dim3(4, 4, 2)>>>(d_seen);
    cudaMemcpy(seen, d_seen, sizeof seen, cudaMemcpyDeviceToHost);
    for (int i = 0; i < cells; ++i)
        if (seen[i] != 2) return printf("cell %d is %d\n", i, seen[i]), 1;
    cudaFree(d_in), cudaFree(d_out), cudaFree(d_count), cudaFree(d_seen);
    if (count != 500 || sum != expected) return printf("%d, %d, %d\n", count, sum, expected), 1;
    printf("ok\n");
}
