// finding: out_of_bounds
// whole rounds for everybody, without a look at n
__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    int threads = gridDim.x * blockDim.x;
    for (int round = 0; round <= n / threads; ++round) {
        int i = round * threads + blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = a * x[i] + y[i];
    }
}
