// What kernels use: coordinates, barriers, warps, atomics, intrinsics.
#pragma once

// The runtime sets these before a thread goes on. `const` here, so that a kernel cannot assign
// to them and the compiler may keep them in registers: for one thread they never change.
// All are uint3, which becomes a dim3 where one is wanted: g++ would check each read of a dim3.
extern const uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

extern "C" {
// A barrier is known by its line: g++ may make two calls out of one.
void __syncthreads(int line = __builtin_LINE());
int __syncthreads_count(int predicate, int line = __builtin_LINE());
int __syncthreads_and(int predicate, int line = __builtin_LINE());
int __syncthreads_or(int predicate, int line = __builtin_LINE());
void __syncwarp(unsigned mask = 0xffffffffu);
unsigned __ballot_sync(unsigned mask, int predicate);
int __all_sync(unsigned mask, int predicate);
int __any_sync(unsigned mask, int predicate);
unsigned __activemask();
void __threadfence();
void __threadfence_block();
void __threadfence_system();
void __nanosleep(unsigned nanoseconds);
[[noreturn]] void __trap();
long long clock64();
}
namespace cuda_cpu {
enum Exchange { INDEX, UP, DOWN, XOR };
// Exchanges up to 8 bytes between the lanes of a warp; `from` is a lane, a distance or a mask.
unsigned long long exchange(unsigned mask, unsigned long long value, int from, int width,
                            Exchange how);
unsigned match_any(unsigned mask, unsigned long long value);
enum Reduce { ADD_I, ADD_U, MIN_I, MIN_U, MAX_I, MAX_U, AND, OR, XOR_BITS };
unsigned reduce(unsigned mask, unsigned value, Reduce how);
// Before an atomic operation: checks the address and lets other threads run now and then.
void atomic(void* address, unsigned bytes, void* pc);

template <class T> CUDA_CPU_INLINE unsigned long long bits_of(T value) {
    static_assert(sizeof(T) <= 8, "at most 8 bytes can be exchanged at once");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> CUDA_CPU_INLINE T value_of(unsigned long long bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
}  // namespace cuda_cpu

// The shuffles of older code (without _sync) are gone since Volta: nvcc rejects them, as we do.
template <class T>
CUDA_CPU_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
    return cuda_cpu::value_of<T>(
        cuda_cpu::exchange(mask, cuda_cpu::bits_of(value), lane, width, cuda_cpu::INDEX));
}
template <class T>
CUDA_CPU_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return cuda_cpu::value_of<T>(
        cuda_cpu::exchange(mask, cuda_cpu::bits_of(value), (int)delta, width, cuda_cpu::UP));
}
template <class T>
CUDA_CPU_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return cuda_cpu::value_of<T>(
        cuda_cpu::exchange(mask, cuda_cpu::bits_of(value), (int)delta, width, cuda_cpu::DOWN));
}
template <class T>
CUDA_CPU_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    return cuda_cpu::value_of<T>(
        cuda_cpu::exchange(mask, cuda_cpu::bits_of(value), lanes, width, cuda_cpu::XOR));
}
template <class T> CUDA_CPU_INLINE unsigned __match_any_sync(unsigned mask, T value) {
    return cuda_cpu::match_any(mask, cuda_cpu::bits_of(value));
}
CUDA_CPU_INLINE int __reduce_add_sync(unsigned mask, int v) {
    return (int)cuda_cpu::reduce(mask, (unsigned)v, cuda_cpu::ADD_I);
}
CUDA_CPU_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::ADD_U);
}
CUDA_CPU_INLINE int __reduce_min_sync(unsigned mask, int v) {
    return (int)cuda_cpu::reduce(mask, (unsigned)v, cuda_cpu::MIN_I);
}
CUDA_CPU_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::MIN_U);
}
CUDA_CPU_INLINE int __reduce_max_sync(unsigned mask, int v) {
    return (int)cuda_cpu::reduce(mask, (unsigned)v, cuda_cpu::MAX_I);
}
CUDA_CPU_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::MAX_U);
}
CUDA_CPU_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::AND);
}
CUDA_CPU_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::OR);
}
CUDA_CPU_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned v) {
    return cuda_cpu::reduce(mask, v, cuda_cpu::XOR_BITS);
}

// Atomics. One thread runs at a time, so plain arithmetic is atomic; the types are CUDA's.
#define CUDA_CPU_ATOMIC(NAME, T, VALUE)                                                    \
    __attribute__((no_sanitize("thread"), noinline)) inline T NAME(T* address, T v) {      \
        cuda_cpu::atomic(address, sizeof(T), __builtin_return_address(0));                 \
        T old = *address;                                                                  \
        *address = VALUE;                                                                  \
        return old;                                                                        \
    }                                                                                      \
    CUDA_CPU_INLINE T NAME##_block(T* address, T v) { return NAME(address, v); }           \
    CUDA_CPU_INLINE T NAME##_system(T* address, T v) { return NAME(address, v); }
#define CUDA_CPU_ATOMIC_INTEGERS(NAME, VALUE)        \
    CUDA_CPU_ATOMIC(NAME, int, VALUE)                \
    CUDA_CPU_ATOMIC(NAME, unsigned int, VALUE)       \
    CUDA_CPU_ATOMIC(NAME, unsigned long long, VALUE)

CUDA_CPU_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)v))
CUDA_CPU_ATOMIC(atomicAdd, unsigned int, old + v)
CUDA_CPU_ATOMIC(atomicAdd, unsigned long long, old + v)
CUDA_CPU_ATOMIC(atomicAdd, float, old + v)
CUDA_CPU_ATOMIC(atomicAdd, double, old + v)
CUDA_CPU_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
CUDA_CPU_ATOMIC(atomicSub, unsigned int, old - v)
CUDA_CPU_ATOMIC_INTEGERS(atomicExch, v)
CUDA_CPU_ATOMIC(atomicExch, float, v)
CUDA_CPU_ATOMIC_INTEGERS(atomicMin, old < v ? old : v)
CUDA_CPU_ATOMIC_INTEGERS(atomicMax, old < v ? v : old)
CUDA_CPU_ATOMIC(atomicMin, long long, old < v ? old : v)
CUDA_CPU_ATOMIC(atomicMax, long long, old < v ? v : old)
CUDA_CPU_ATOMIC_INTEGERS(atomicAnd, old & v)
CUDA_CPU_ATOMIC_INTEGERS(atomicOr, old | v)
CUDA_CPU_ATOMIC_INTEGERS(atomicXor, old ^ v)
CUDA_CPU_ATOMIC(atomicInc, unsigned int, old >= v ? 0 : old + 1)
CUDA_CPU_ATOMIC(atomicDec, unsigned int, (old == 0 || old > v) ? v : old - 1)
#undef CUDA_CPU_ATOMIC_INTEGERS
#undef CUDA_CPU_ATOMIC

#define CUDA_CPU_CAS(T)                                                                        \
    __attribute__((no_sanitize("thread"), noinline)) inline T atomicCAS(T* address, T expected, \
                                                                        T v) {                 \
        cuda_cpu::atomic(address, sizeof(T), __builtin_return_address(0));                     \
        T old = *address;                                                                      \
        if (old == expected) *address = v;                                                     \
        return old;                                                                            \
    }
CUDA_CPU_CAS(int)
CUDA_CPU_CAS(unsigned int)
CUDA_CPU_CAS(unsigned long long)
CUDA_CPU_CAS(unsigned short)
#undef CUDA_CPU_CAS

#include "intrinsics.h"
