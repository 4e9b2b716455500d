// The sum of an array: a tree in shared memory, shuffles for the last warp, an atomic for the blocks.
#include <cstdio>
#include <vector>

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) sum(const int* in, int n, unsigned long long* total) {
    __shared__ int part[BLOCK];
    int mine = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) mine += in[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = BLOCK / 2; half >= 32; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x >= 32) return;
    mine = part[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, distance);
    if (threadIdx.x == 0) atomicAdd(total, (unsigned long long)mine);
}

int main() {
    const int n = 100001;
    std::vector<int> values(n);
    unsigned long long expected = 0, found = 0, *d_total;
    for (int i = 0; i < n; ++i) expected += values[i] = i * 37 % 101;
    int* d_values;
    cudaMalloc(&d_values, n * sizeof(int));
    cudaMalloc(&d_total, sizeof *d_total);
    cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(d_total, 0, sizeof *d_total);
    sum<128><<<40, 128>>>(d_values, n, d_total);
    cudaMemcpy(&found, d_total, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(d_values);
    cudaFree(d_total);
    if (found != expected) return printf("%llu instead of %llu\n", found, expected), 1;
    printf("ok\n");
}
