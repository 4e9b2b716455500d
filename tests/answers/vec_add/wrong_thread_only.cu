// finding: only_first_block
// threadIdx alone: every block works on the first elements
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
