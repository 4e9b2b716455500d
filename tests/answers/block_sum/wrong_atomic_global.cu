// finding: one_place
// all threads of a block add to one place, in global memory
__global__ void block_sum(const float* x, float* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sums[blockIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&sums[blockIdx.x], x[i]);
}
