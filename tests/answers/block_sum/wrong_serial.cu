// finding: one_thread_adds
// one thread adds up, while the others wait
__global__ void block_sum(const float* x, float* sums, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float total = 0;
        for (int k = 0; k < blockDim.x; ++k) total += s[k];
        sums[blockIdx.x] = total;
    }
}
