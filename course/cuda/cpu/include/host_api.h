// What host code calls. The runtime (runtime.cpp) defines it.
#pragma once

extern "C" {
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = 0);

cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
}

#define CUDA_CPU_INLINE inline __attribute__((always_inline))

// always_inline: the address that the runtime returns to is then a line of the user's own code.
template <class T> CUDA_CPU_INLINE cudaError_t cudaMalloc(T** p, size_t bytes) {
    return cudaMalloc((void**)(void*)p, bytes);
}
template <class T> CUDA_CPU_INLINE cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t s) {
    return cudaMallocAsync((void**)(void*)p, bytes, s);
}
template <class T>
CUDA_CPU_INLINE cudaError_t cudaMallocPitch(T** p, size_t* pitch, size_t width, size_t height) {
    return cudaMallocPitch((void**)(void*)p, pitch, width, height);
}
template <class T> CUDA_CPU_INLINE cudaError_t cudaMallocHost(T** p, size_t bytes, unsigned = 0) {
    return cudaMallocHost((void**)(void*)p, bytes);
}
template <class T> CUDA_CPU_INLINE cudaError_t cudaHostAlloc(T** p, size_t bytes, unsigned flags) {
    return cudaHostAlloc((void**)(void*)p, bytes, flags);
}
template <class T>
CUDA_CPU_INLINE cudaError_t cudaHostGetDevicePointer(T** p, void* host, unsigned flags) {
    return cudaHostGetDevicePointer((void**)(void*)p, host, flags);
}
template <class T>
CUDA_CPU_INLINE cudaError_t cudaMallocManaged(T** p, size_t bytes,
                                              unsigned flags = cudaMemAttachGlobal) {
    return cudaMallocManaged((void**)(void*)p, bytes, flags);
}

// Symbols: the __device__ and __constant__ variables of a program.
namespace cuda_cpu {
cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind);
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset,
                             cudaMemcpyKind kind);
cudaError_t symbol_address(void** pointer, const void* symbol);
}  // namespace cuda_cpu
template <class T>
CUDA_CPU_INLINE cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes,
                                               size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cuda_cpu::copy_to_symbol((const void*)&symbol, from, bytes, offset, kind);
}
template <class T>
CUDA_CPU_INLINE cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes,
                                                 size_t offset = 0,
                                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cuda_cpu::copy_from_symbol(to, (const void*)&symbol, bytes, offset, kind);
}
template <class P, class T> CUDA_CPU_INLINE cudaError_t cudaGetSymbolAddress(P** p, const T& symbol) {
    return cuda_cpu::symbol_address((void**)(void*)p, (const void*)&symbol);
}
