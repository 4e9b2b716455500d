// finding: wrong_direction
// malloc is host memory
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

void vec_add_host(const float* a, const float* b, float* c, int n) {
    if (n == 0) return;
    size_t bytes = n * sizeof(float);
    float *d_a, *d_b, *d_c;
    d_a = (float*)malloc(bytes);
    cudaMalloc(&d_b, bytes);
    cudaMalloc(&d_c, bytes);
    cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice);
    add<<<(n + 255) / 256, 256>>>(d_a, d_b, d_c, n);
    cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost);
    free(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
}
