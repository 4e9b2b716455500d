__device__ float sum(float x, float y) { return x + y; }

__device__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    if (thread_number() < n) {
        c[thread_number()] = sum(a[thread_number()], b[thread_number()]);
    }
}
