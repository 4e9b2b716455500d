// finding: wrong_index
// gridDim, how many blocks there are, for blockDim
// c[i] = a[i] + b[i] for every i below n. Launched with at least n threads.
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * gridDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
