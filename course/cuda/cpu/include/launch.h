// What rewritten launches, kernels and __shared__ declarations expand to (see rewrite.py).
#pragma once

namespace cuda_cpu {

// What a kernel is known by; `max_threads` and `min_blocks` are its __launch_bounds__, or 0.
struct Kernel {
    const char* name;
    const char* signature;
    int line;
    int max_threads, min_blocks;
};

// <<<grid, block, shared, stream>>>: kept until the kernel is called, a moment later.
void configure(const char* file, int line, dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
void enqueue(const Kernel& kernel, void (*entry)(void*), const void* closure, size_t bytes);

// A kernel's body is a closure over its arguments. Each thread works on a copy of its own.
template <class Body> void entry(void* closure) {
    Body body(*static_cast<Body*>(closure));
    body();
}

template <class Body> CUDA_CPU_INLINE void launched(const Kernel& kernel, Body body) {
    static_assert(std::is_trivially_copyable<Body>::value,
                  "a kernel's parameters must be trivially copyable: they travel to the device");
    static_assert(sizeof(Body) <= 4096, "a kernel's parameters are at most 4096 bytes");
    enqueue(kernel, entry<Body>, &body, sizeof body);
}

// __shared__: one object a block, found by the type that the rewriter made for the declaration.
struct SharedPlace {
    unsigned long block, launch;  // those that `address` and `slot` were made for
    unsigned slot;
    void* address;
};
void* shared_place(SharedPlace& place, const char* name, size_t bytes);
void* dynamic_shared(const char* name);

template <class Declared> CUDA_CPU_INLINE Declared& shared(const char* name) {
    static_assert(sizeof(Declared) <= 48 * 1024,
                  "a block may have at most 48 KiB (49152 bytes) of static shared memory");
    static SharedPlace place;
    return *static_cast<Declared*>(shared_place(place, name, sizeof(Declared)));
}
template <class Array> CUDA_CPU_INLINE auto dynamic_shared_array(const char* name) {
    return static_cast<std::remove_extent_t<Array>*>(dynamic_shared(name));
}
template <class Array> struct DynamicShared {  // extern __shared__ at file scope
    using Element = std::remove_extent_t<Array>;
    const char* name;
    operator Element*() const { return static_cast<Element*>(dynamic_shared(name)); }
};

// __device__ and __constant__ variables make themselves known before main.
struct Symbol {
    const void* address;
    size_t bytes;
    const char* name;
    int line;
    bool managed, constant;  // the host may touch it, too; kernels may only read it
    const Symbol* next;
    Symbol(const void* address, size_t bytes, const char* name, int line, bool managed,
           bool constant);
};

// Asks a kernel what it is, without a launch: it is called with empty arguments, and answers.
const Kernel* ask(void (*call)(void*), void* function);
template <class... P> void call_empty(void* function) {
    static const char empty[4096] = {};
    reinterpret_cast<void (*)(P...)>(function)(
        *reinterpret_cast<const std::remove_const_t<std::remove_reference_t<P>>*>(empty)...);
}
template <class... P> const Kernel* kernel_of(void (*function)(P...)) {
    return ask(call_empty<P...>, reinterpret_cast<void*>(function));
}

cudaError_t attributes(cudaFuncAttributes* attributes, const Kernel* kernel, const void* function);
cudaError_t set_attribute(const Kernel* kernel, cudaFuncAttribute attribute, int value);
cudaError_t active_blocks(int* blocks, const Kernel* kernel, const void* function, int threads,
                          size_t dynamic_shared);
cudaError_t best_block(int* min_grid, int* block, const Kernel* kernel, const void* function,
                       size_t dynamic_shared, int limit);
}  // namespace cuda_cpu

template <class... P>
CUDA_CPU_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, void (*function)(P...)) {
    return cuda_cpu::attributes(out, cuda_cpu::kernel_of(function), (const void*)function);
}
template <class... P>
CUDA_CPU_INLINE cudaError_t cudaFuncSetAttribute(void (*function)(P...), cudaFuncAttribute attribute,
                                                 int value) {
    return cuda_cpu::set_attribute(cuda_cpu::kernel_of(function), attribute, value);
}
template <class... P>
CUDA_CPU_INLINE cudaError_t cudaFuncSetCacheConfig(void (*)(P...), cudaFuncCache) {
    return cudaSuccess;
}
template <class... P>
CUDA_CPU_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, void (*function)(P...), int threads, size_t dynamic_shared) {
    return cuda_cpu::active_blocks(blocks, cuda_cpu::kernel_of(function), (const void*)function,
                                   threads, dynamic_shared);
}
template <class... P>
CUDA_CPU_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(
    int* min_grid, int* block, void (*function)(P...), size_t dynamic_shared = 0, int limit = 0) {
    return cuda_cpu::best_block(min_grid, block, cuda_cpu::kernel_of(function),
                                (const void*)function, dynamic_shared, limit);
}
