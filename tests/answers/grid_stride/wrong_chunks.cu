// finding: far_apart
// a contiguous chunk for each thread, as on a CPU: right, and slow
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    int threads = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    int chunk = (n + threads - 1) / threads;
    for (int i = me * chunk; i < n && i < (me + 1) * chunk; ++i) out[i] = a * x[i] + y[i];
}
