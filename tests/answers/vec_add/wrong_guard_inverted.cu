// finding: nothing_written
// the guard the wrong way round (and then some)
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 0) c[i] = a[i] + b[i];
}
