__global__ void add_light(const unsigned char* in, unsigned char* out, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        int light = in[row * width + column] + 60;
        out[row * width + column] = light > 255 ? 255 : light;
    }
}

cudaError_t brighten(const unsigned char* in, unsigned char* out, int width, int height) {
    cudaGetLastError();  // what others left behind
    const int x = 16, y = 16;
    add_light<<<dim3((width + x - 1) / x, (height + y - 1) / y), dim3(x, y)>>>(in, out, width, height);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    return cudaDeviceSynchronize();
}
