__global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    while (i < n) {
        out[i] = a * x[i] + y[i];
        i += blockDim.x * gridDim.x;
    }
}
