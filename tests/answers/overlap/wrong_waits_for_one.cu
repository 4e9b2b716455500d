// finding: free_waits
// waits for one of two streams
__global__ void process(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i] + 1;
}

// out[i] = 2 * in[i] + 1 for all n. in and out are pinned host memory. When this returns, out is
// ready, and device memory and streams are given back.
void overlap(const float* in, float* out, int n) {
    const int pieces = 4, most = (n + pieces - 1) / pieces;
    float *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) cudaStreamCreate(&stream);
    for (int piece = 0; piece < pieces; ++piece) {
        int begin = piece * most, count = min(most, n - begin);
        if (count <= 0) break;
        cudaStream_t stream = streams[piece % 2];
        size_t bytes = count * sizeof(float);
        cudaMemcpyAsync(d_in + begin, in + begin, bytes, cudaMemcpyHostToDevice, stream);
        process<<<(count + 255) / 256, 256, 0, stream>>>(d_in + begin, d_out + begin, count);
        cudaMemcpyAsync(out + begin, d_out + begin, bytes, cudaMemcpyDeviceToHost, stream);
    }
    cudaStreamSynchronize(streams[0]);
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
    cudaFree(d_in);
    cudaFree(d_out);
}
