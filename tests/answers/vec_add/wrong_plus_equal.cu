// finding: added_to_old
// adds to what stands in c, which nobody has cleared
// c[i] += a[i] + b[i] for every i below n. Launched with at least n threads.
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] += a[i] + b[i];
}
