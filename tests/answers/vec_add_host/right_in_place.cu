__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

struct Device {
    float* data;
    Device(const float* from, int n) {
        cudaMalloc(&data, n * sizeof(float));
        cudaMemcpyAsync(data, from, n * sizeof(float), cudaMemcpyHostToDevice);
    }
    ~Device() { cudaFree(data); }
};

void vec_add_host(const float* a, const float* b, float* c, int n) {
    if (n == 0) return;
    Device x(a, n), y(b, n);
    add<<<(n + 63) / 64, 64>>>(x.data, y.data, x.data, n);
    cudaMemcpy(c, x.data, n * sizeof(float), cudaMemcpyDeviceToHost);
}
