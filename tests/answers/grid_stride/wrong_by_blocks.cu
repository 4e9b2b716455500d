// finding: far_apart
// neighbours in a block are gridDim.x elements apart
// out[i] = a * x[i] + y[i] for every i below n, whatever the grid.
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = threadIdx.x * gridDim.x + blockIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = a * x[i] + y[i];
    }
}
