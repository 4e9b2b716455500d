// finding: computed_again
// steps of gridDim alone
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x)
        out[i] = a * x[i] + y[i];
}
