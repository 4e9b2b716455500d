// finding: added_to_old
// adds to what stands in out, which nobody has cleared
// out[i] += a * x[i] + y[i] for every i below n, whatever the grid.
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] += a * x[i] + y[i];
    }
}
