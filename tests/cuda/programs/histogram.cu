// Counts of byte values: each block counts in shared memory, then adds to the whole.
#include <cstdio>
#include <vector>

__global__ void histogram(const unsigned char* data, int n, unsigned int* bins) {
    extern __shared__ unsigned int mine[];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(bins + b, mine[b]);
}

int main() {
    const int n = 50000;
    std::vector<unsigned char> data(n);
    unsigned int expected[256] = {}, found[256];
    for (int i = 0; i < n; ++i) ++expected[data[i] = (unsigned char)((i % 1000 * (i % 1000) + 3 * i) % 251)];
    unsigned char* d_data;
    unsigned int* d_bins;
    cudaMalloc(&d_data, n);
    cudaMalloc(&d_bins, sizeof found);
    cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, sizeof found);
    histogram<<<6, 192, 256 * sizeof(unsigned int)>>>(d_data, n, d_bins);
    cudaMemcpy(found, d_bins, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(d_data);
    cudaFree(d_bins);
    for (int b = 0; b < 256; ++b)
        if (found[b] != expected[b]) return printf("wrong count of %d\n", b), 1;
    printf("ok\n");
}
