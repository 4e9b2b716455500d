__global__ void block_sum(const float* x, float* sums, int n) {
    __shared__ float s[1024];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = 0;
    if (i < n) s[t] = x[i];
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        if (t % (2 * step) == 0) s[t] += s[t + step];
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}
