// finding: never_ends
// the step is forgotten
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n) {
        out[i] = a * x[i] + y[i];
    }
}
