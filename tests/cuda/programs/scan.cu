// Inclusive prefix sums of one block: within warps by shuffles, then over the warps' totals.
#include <cstdio>

__device__ int scan_warp(int value) {
    int lane = threadIdx.x % warpSize;
    for (int distance = 1; distance < warpSize; distance *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += other;
    }
    return value;
}

__global__ void scan_block(int* data) {
    __shared__ int totals[32];
    int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    int value = scan_warp(data[threadIdx.x]);
    if (lane == warpSize - 1) totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int count = blockDim.x / warpSize;
        int total = lane < count ? totals[lane] : 0;
        totals[lane] = scan_warp(total);
    }
    __syncthreads();
    data[threadIdx.x] = value + (warp > 0 ? totals[warp - 1] : 0);
}

int main() {
    const int n = 512;
    int values[n], found[n], sum = 0, *d_values;
    for (int i = 0; i < n; ++i) values[i] = i % 13 - 5;
    cudaMalloc(&d_values, sizeof values);
    cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
    scan_block<<<1, n>>>(d_values);
    cudaMemcpy(found, d_values, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(d_values);
    for (int i = 0; i < n; ++i) {
        sum += values[i];
        if (found[i] != sum) return printf("wrong at %d: %d, not %d\n", i, found[i], sum), 1;
    }
    printf("ok\n");
}
