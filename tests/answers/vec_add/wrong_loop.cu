// finding: one_thread
// one thread does everything: right numbers, no parallelism
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
    }
}
