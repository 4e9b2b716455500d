// finding: race
// += by all threads on one variable, without an atomic
__global__ void block_sum(const float* x, float* sums, int n) {
    __shared__ float total;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) total = 0;
    __syncthreads();
    if (i < n) total += x[i];
    __syncthreads();
    if (t == 0) sums[blockIdx.x] = total;
}
