// finding: one_step_only
// an if where a loop is needed: the grid is too small
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
