// Two streams, pinned memory, events, a host function; work in chunks.
#include <cstdio>

__global__ void scale(float* data, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= by;
}

static void CUDART_CB count(void* data) { ++*static_cast<int*>(data); }

int main() {
    const int n = 4000, chunks = 4, part = n / chunks;
    float *h, *d, milliseconds = -1.0f;
    int counted = 0;
    cudaStream_t streams[2];
    cudaEvent_t begin, end;
    cudaHostAlloc(&h, n * sizeof(float), cudaHostAllocDefault);
    cudaMalloc(&d, n * sizeof(float));
    for (int i = 0; i < n; ++i) h[i] = (float)i;
    for (auto& stream : streams) cudaStreamCreate(&stream);
    cudaEventCreate(&begin), cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int c = 0; c < chunks; ++c) {
        cudaStream_t stream = streams[c % 2];
        float *from = h + c * part, *to = d + c * part;
        cudaMemcpyAsync(to, from, part * sizeof(float), cudaMemcpyHostToDevice, stream);
        scale<<<(part + 127) / 128, 128, 0, stream>>>(to, part, 2.0f);
        cudaMemcpyAsync(from, to, part * sizeof(float), cudaMemcpyDeviceToHost, stream);
        cudaLaunchHostFunc(stream, count, &counted);
    }
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&milliseconds, begin, end);
    for (auto& stream : streams) cudaStreamSynchronize(stream);
    for (int i = 0; i < n; ++i)
        if (h[i] != 2.0f * i) return printf("wrong at %d: %g\n", i, h[i]), 1;
    if (counted != chunks || milliseconds < 0) return printf("%d, %g ms\n", counted, milliseconds), 1;
    for (auto& stream : streams) cudaStreamDestroy(stream);
    cudaEventDestroy(begin), cudaEventDestroy(end);
    cudaFreeHost(h);
    cudaFree(d);
    printf("%s\n", cudaGetLastError() == cudaSuccess ? "ok" : "error");
}
