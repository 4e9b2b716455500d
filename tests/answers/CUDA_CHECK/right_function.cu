#include <cstdio>
#include <cstdlib>

inline void check_(cudaError_t error, const char* what, const char* file, int line) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s failed in %s, line %d: %s (%s)\n", what, file, line,
            cudaGetErrorName(error), cudaGetErrorString(error));
    exit(1);
}
#define CUDA_CHECK(call) check_((call), #call, __FILE__, __LINE__)

__global__ void multiply(const float* x, float* y, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}

void scale(float* x, int n, float factor) {
    size_t bytes = n * sizeof(float);
    float *d_x, *d_y;
    CUDA_CHECK(cudaMalloc(&d_x, bytes));
    CUDA_CHECK(cudaMalloc(&d_y, bytes));
    CUDA_CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
    multiply<<<(n + 255) / 256, 256>>>(d_x, d_y, n, factor);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(x, d_y, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(d_x));
    CUDA_CHECK(cudaFree(d_y));
}
