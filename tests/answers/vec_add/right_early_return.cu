__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    c[i] = a[i] + b[i];
}
