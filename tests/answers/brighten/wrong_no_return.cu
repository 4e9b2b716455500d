// finding: syntax
// promises an error code, and returns nothing
__global__ void add_light(const unsigned char* in, unsigned char* out, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        int light = in[row * width + column] + 60;
        out[row * width + column] = light > 255 ? 255 : light;
    }
}

// Launches add_light on an image in device memory, row by row, and returns the error of the
// launch, cudaSuccess for none.
cudaError_t brighten(const unsigned char* in, unsigned char* out, int width, int height) {
    dim3 block(32, 32);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    add_light<<<grid, block>>>(in, out, width, height);
    cudaGetLastError();
}
