// finding: whole_numbers
// computes with whole numbers
// out[i] = int(a * x[i] + y[i]) for every i below n, whatever the grid.
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = int(a * x[i] + y[i]);
    }
}
