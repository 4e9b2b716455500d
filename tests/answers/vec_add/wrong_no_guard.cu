// finding: out_of_bounds
// C84, C95: no guard: the threads that are too many read and write past the end
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
