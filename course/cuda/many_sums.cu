// Each thread keeps N sums; the loops are unrolled, so that each sum is a register.
template <int N>
__device__ void many_sums(const float* x, float* y, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum[N];
#pragma unroll
    for (int k = 0; k < N; ++k) sum[k] = x[(size_t)k * n + i];
    for (int step = 0; step < steps; ++step) {
        float factor = x[step];
#pragma unroll
        for (int k = 0; k < N; ++k) sum[k] = factor * sum[k] + sum[(k + 1) % N];
    }
    float total = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) total += sum[k];
    y[i] = total;
}

__global__ void sums_16(const float* x, float* y, int n, int steps) { many_sums<16>(x, y, n, steps); }
__global__ void sums_80(const float* x, float* y, int n, int steps) { many_sums<80>(x, y, n, steps); }
__global__ void sums_120(const float* x, float* y, int n, int steps) { many_sums<120>(x, y, n, steps); }
__global__ void __launch_bounds__(1024)
sums_120_bounded(const float* x, float* y, int n, int steps) { many_sums<120>(x, y, n, steps); }
