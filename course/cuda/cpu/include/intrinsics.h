// Mathematical and bit functions that CUDA has and C++ has not.
#pragma once

CUDA_CPU_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
CUDA_CPU_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
CUDA_CPU_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
CUDA_CPU_INLINE float sinpif(float x) { return sinf(3.14159265358979323846f * x); }
CUDA_CPU_INLINE float cospif(float x) { return cosf(3.14159265358979323846f * x); }
CUDA_CPU_INLINE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752440f); }
CUDA_CPU_INLINE float __expf(float x) { return expf(x); }
CUDA_CPU_INLINE float __exp10f(float x) { return powf(10.0f, x); }
CUDA_CPU_INLINE float __logf(float x) { return logf(x); }
CUDA_CPU_INLINE float __log2f(float x) { return log2f(x); }
CUDA_CPU_INLINE float __log10f(float x) { return log10f(x); }
CUDA_CPU_INLINE float __sinf(float x) { return sinf(x); }
CUDA_CPU_INLINE float __cosf(float x) { return cosf(x); }
CUDA_CPU_INLINE float __tanf(float x) { return tanf(x); }
CUDA_CPU_INLINE float __powf(float x, float y) { return powf(x, y); }
CUDA_CPU_INLINE float __fdividef(float x, float y) { return x / y; }
CUDA_CPU_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
CUDA_CPU_INLINE float __frcp_rn(float x) { return 1.0f / x; }
CUDA_CPU_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
CUDA_CPU_INLINE float __fadd_rn(float x, float y) { return x + y; }
CUDA_CPU_INLINE float __fmul_rn(float x, float y) { return x * y; }
CUDA_CPU_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }

CUDA_CPU_INLINE int min(int a, int b) { return a < b ? a : b; }
CUDA_CPU_INLINE int max(int a, int b) { return a < b ? b : a; }
#define CUDA_CPU_MINMAX(T)                                          \
    CUDA_CPU_INLINE T min(T a, T b) { return a < b ? a : b; }       \
    CUDA_CPU_INLINE T max(T a, T b) { return a < b ? b : a; }
CUDA_CPU_MINMAX(unsigned int)
CUDA_CPU_MINMAX(long)
CUDA_CPU_MINMAX(unsigned long)
CUDA_CPU_MINMAX(long long)
CUDA_CPU_MINMAX(unsigned long long)
#undef CUDA_CPU_MINMAX
CUDA_CPU_INLINE unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
CUDA_CPU_INLINE unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
CUDA_CPU_INLINE unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
CUDA_CPU_INLINE unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
CUDA_CPU_INLINE float min(float a, float b) { return fminf(a, b); }
CUDA_CPU_INLINE float max(float a, float b) { return fmaxf(a, b); }
CUDA_CPU_INLINE double min(double a, double b) { return fmin(a, b); }
CUDA_CPU_INLINE double max(double a, double b) { return fmax(a, b); }
CUDA_CPU_INLINE double min(float a, double b) { return fmin(a, b); }
CUDA_CPU_INLINE double min(double a, float b) { return fmin(a, b); }
CUDA_CPU_INLINE double max(float a, double b) { return fmax(a, b); }
CUDA_CPU_INLINE double max(double a, float b) { return fmax(a, b); }

CUDA_CPU_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
CUDA_CPU_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
CUDA_CPU_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
CUDA_CPU_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
CUDA_CPU_INLINE int __ffs(int x) { return __builtin_ffs(x); }
CUDA_CPU_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
CUDA_CPU_INLINE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
CUDA_CPU_INLINE unsigned __umul24(unsigned a, unsigned b) {
    return (a & 0xffffffu) * (b & 0xffffffu);
}
CUDA_CPU_INLINE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
CUDA_CPU_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
CUDA_CPU_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
CUDA_CPU_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

CUDA_CPU_INLINE int __float_as_int(float x) { return cuda_cpu::value_of<int>(cuda_cpu::bits_of(x)); }
CUDA_CPU_INLINE unsigned __float_as_uint(float x) { return (unsigned)__float_as_int(x); }
CUDA_CPU_INLINE float __int_as_float(int x) {
    return cuda_cpu::value_of<float>((unsigned)x);
}
CUDA_CPU_INLINE float __uint_as_float(unsigned x) { return cuda_cpu::value_of<float>(x); }
CUDA_CPU_INLINE long long __double_as_longlong(double x) {
    return (long long)cuda_cpu::bits_of(x);
}
CUDA_CPU_INLINE double __longlong_as_double(long long x) {
    return cuda_cpu::value_of<double>((unsigned long long)x);
}
CUDA_CPU_INLINE int __float2int_rn(float x) { return (int)rintf(x); }
CUDA_CPU_INLINE int __float2int_rz(float x) { return (int)x; }
CUDA_CPU_INLINE int __float2int_rd(float x) { return (int)floorf(x); }
CUDA_CPU_INLINE int __float2int_ru(float x) { return (int)ceilf(x); }
CUDA_CPU_INLINE unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
CUDA_CPU_INLINE float __int2float_rn(int x) { return (float)x; }
CUDA_CPU_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
CUDA_CPU_INLINE float __double2float_rn(double x) { return (float)x; }

template <class T> CUDA_CPU_INLINE T __ldg(const T* p) { return *p; }
template <class T> CUDA_CPU_INLINE T __ldcg(const T* p) { return *p; }
template <class T> CUDA_CPU_INLINE T __ldcs(const T* p) { return *p; }
template <class T> CUDA_CPU_INLINE void __stcs(T* p, T value) { *p = value; }
template <class T> CUDA_CPU_INLINE void __stcg(T* p, T value) { *p = value; }
