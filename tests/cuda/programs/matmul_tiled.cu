// C = A B by tiles in shared memory; no side is a multiple of the tile.
#include <cmath>
#include <cstdio>
#include <vector>

#define TILE 16

__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        int x = first + threadIdx.x, y = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
    const int m = 45, k = 37, n = 50;
    std::vector<float> a(m * k), b(k * n), c(m * n);
    for (int i = 0; i < m * k; ++i) a[i] = (float)(i % 9 - 4);
    for (int i = 0; i < k * n; ++i) b[i] = (float)(i % 11 - 5);
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, a.size() * sizeof(float));
    cudaMalloc(&d_b, b.size() * sizeof(float));
    cudaMalloc(&d_c, c.size() * sizeof(float));
    cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    matmul<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(d_a, d_b, d_c, m, k, n);
    cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_a), cudaFree(d_b), cudaFree(d_c);
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < n; ++x) {
            float expected = 0.0f;
            for (int i = 0; i < k; ++i) expected += a[y * k + i] * b[i * n + x];
            if (std::fabs(c[y * n + x] - expected) > 1e-3f) return printf("wrong at %d, %d\n", y, x), 1;
        }
    printf("ok\n");
}
