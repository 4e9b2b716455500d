constexpr int TILE = 8;

__global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
    // Two tiles of each in turn: one barrier a step is enough.
    __shared__ float sa[2][TILE][TILE], sb[2][TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int t = 0; t * TILE < k; ++t) {
        const int now = t & 1, i = t * TILE;
        sa[now][y][x] = (row < m && i + x < k) ? a[row * k + i + x] : 0;
        sb[now][y][x] = (column < n && i + y < k) ? b[(i + y) * n + column] : 0;
        __syncthreads();
        for (int j = 0; j < TILE; ++j) sum += sa[now][y][j] * sb[now][j][x];
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
