// The transpose of a matrix by tiles with a padded column, edges included.
#include <cstdio>
#include <vector>

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
    const int width = 101, height = 70, n = width * height;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i) in[i] = (float)i;
    float *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 threads(TILE, ROWS), blocks((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    transpose<<<blocks, threads>>>(d_in, d_out, width, height);
    cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            if (out[x * height + y] != in[y * width + x]) return printf("wrong at %d, %d\n", x, y), 1;
    printf("ok\n");
}
