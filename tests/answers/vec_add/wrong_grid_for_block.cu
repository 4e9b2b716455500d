// finding: wrong_index
// gridDim where blockDim belongs
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * gridDim.x + threadIdx.x * 2;
    if (i < n) c[i] = a[i] + b[i];
}
