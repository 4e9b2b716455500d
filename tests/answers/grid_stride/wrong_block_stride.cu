// finding: computed_again
// steps of one block: with several blocks the ways overlap
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
        out[i] = a * x[i] + y[i];
}
