__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t rounds = (n + threads - 1) / threads;
    for (size_t round = 0; round < rounds; ++round) {
        size_t i = round * threads + blockIdx.x * blockDim.x + threadIdx.x;
        if (i < (size_t)n) out[i] = fmaf(a, x[i], y[i]);
    }
}
