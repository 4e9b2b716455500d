// finding: whole_numbers
// computes with whole numbers
// c[i] = int(a[i] + b[i]) for every i below n. Launched with at least n threads.
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = int(a[i] + b[i]);
}
