// finding: race
// no barrier between the steps: it worked for one warp, once
__global__ void block_sum(const float* x, float* sums, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}
