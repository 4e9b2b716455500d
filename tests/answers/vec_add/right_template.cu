%%cuda
template <typename T>
__device__ inline void add(const T* a, const T* b, T* c, long long i) {
    c[i] = a[i] + b[i];
}

__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) add(a, b, c, i);
}
