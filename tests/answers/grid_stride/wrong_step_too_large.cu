// finding: one_step_only
// a step of 1,024, however many threads there are
// out[i] = a * x[i] + y[i] for every i below n, whatever the grid.
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 1024) {
        out[i] = a * x[i] + y[i];
    }
}
