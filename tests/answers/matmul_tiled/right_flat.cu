constexpr int T = 8;
__global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float s[2 * T * T];
    float *sa = s, *sb = s + T * T;
    int x = threadIdx.x, y = threadIdx.y, me = y * T + x;
    int row = blockIdx.y * blockDim.y + y, column = blockIdx.x * blockDim.x + x;
    float sum = 0;
    int tiles = (k + T - 1) / T;
    for (int t = 0; t < tiles; t++) {
        int ka = t * T + x, kb = t * T + y;
        sa[me] = 0;
        sb[me] = 0;
        if (row < m && ka < k) sa[me] = a[row * k + ka];
        if (column < n && kb < k) sb[me] = b[kb * n + column];
        __syncthreads();
        for (int i = 0; i < T && t * T + i < k; i++) sum = fmaf(sa[y * T + i], sb[i * T + x], sum);
        __syncthreads();
    }
    if (row >= m || column >= n) return;
    c[row * n + column] = sum;
}
