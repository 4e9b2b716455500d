// finding: computed_again
// every block starts at the beginning
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = a * x[i] + y[i];
}
