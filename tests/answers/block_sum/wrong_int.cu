// finding: whole_numbers
// computes with whole numbers
// sums[b] = the sum of the elements that the threads of block b have, one each; n in all.
// blockDim.x is a power of two, from 32 to 1024. The launch gives blockDim.x floats of dynamic
// shared memory. No thread adds, and no place receives, more than a few numbers.
__global__ void block_sum(const float* x, float* sums, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}
