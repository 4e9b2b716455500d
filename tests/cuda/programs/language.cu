// Ways to write things that textbooks and learners use; what comes out of each is checked.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <string>
#include <vector>
using namespace std;

#define N 256
#define CHECK(call)                                                                            \
    {                                                                                          \
        const cudaError_t error = call;                                                        \
        if (error != cudaSuccess) {                                                            \
            printf("Error: %s:%d, ", __FILE__, __LINE__);                                      \
            printf("code: %d, reason: %s\n", error, cudaGetErrorString(error));                \
            exit(1);                                                                           \
        }                                                                                      \
    }

struct Particle {
    float3 place;
    float mass;
    __host__ __device__ float weight() const { return 9.81f * mass; }
};

namespace physics {
template <typename T, int WIDTH = 4>
__global__ void scale(T* __restrict__ data, const T* __restrict__ by, int n) {
    __shared__ T near[WIDTH * 64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    near[threadIdx.x] = i < n ? data[i] : T(0);
    __syncthreads();
    if (i < n) data[i] = near[threadIdx.x] * by[i % WIDTH];
}
}  // namespace physics

__constant__ float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ float device_table[4] = {4.0f, 3.0f, 2.0f, 1.0f};
__device__ unsigned int blocks_finished = 0;
__managed__ int managed_total = 0;

extern "C" __global__ void from_tables(float* out) {
    out[threadIdx.x] = table[threadIdx.x % 4] * device_table[threadIdx.x % 4];
}

static __global__ void particles(Particle* p, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    {
        p[i].place.x += 1;
        p[i].mass = p[i].weight();
    }
}

__global__ void declared_before(int* out, int value);

__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ void block_sum(int* shared_sum, int value) {
    __shared__ int all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    atomicAdd(&all, value);
    __syncthreads();
    if (threadIdx.x == 0) *shared_sum = all;
}

__global__ void __launch_bounds__(128, 2) use_block_sum(int* out) {
    block_sum(out + blockIdx.x, threadIdx.x);
}

__global__ void two_arrays(float* out) {
    extern __shared__ unsigned char raw[];
    float* f = (float*)raw;
    int* i = (int*)&f[blockDim.x];
    f[threadIdx.x] = 0.5f * threadIdx.x, i[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int other = blockDim.x - 1 - threadIdx.x;
    out[threadIdx.x] = f[other] + i[other];
}

__global__ void wide(const float4* in, float4* out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
}

// The last block to finish adds what the others have left.
__global__ void last_block(const int* in, int* parts, int* total) {
    __shared__ int part;
    __shared__ bool last;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    atomicAdd(&part, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence();
        last = atomicInc(&blocks_finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile int*)parts)[b];
        *total = sum;
    }
}

__global__ void locked(int* lock, int* count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            atomicAdd(count, 1);
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void warp_in_step(int* out) {
    __shared__ volatile int s[32];
    int lane = threadIdx.x;
    s[lane] = lane;
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        int other = lane < half ? s[lane + half] : 0;
        __syncwarp();
        s[lane] += other;
        __syncwarp();
    }
    if (lane == 0) *out = s[0];
}

template <class F> __global__ void apply(F function, float* data, int n) {
    int i = threadIdx.x;
    if (i < n) data[i] = function(data[i]);
}
struct Square { __device__ float operator()(float x) const { return x * x; } };

__global__ void count_managed() { atomicAdd(&managed_total, 1); }
__global__ void declared_before(int* out, int value) { *out = factorial(value); }

class Holder {
    float* data_ = nullptr;
    int n_;

  public:
    explicit Holder(int n) : n_(n) { CHECK(cudaMalloc((void**)&data_, n * sizeof(float))); }
    ~Holder() { cudaFree(data_); }
    float* get() { return data_; }
    void fill(const vector<float>& from) {
        CHECK(cudaMemcpy(data_, from.data(), n_ * sizeof(float), cudaMemcpyHostToDevice));
    }
    vector<float> read() const {
        vector<float> to(n_);
        CHECK(cudaMemcpy(to.data(), data_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
        return to;
    }
};

double sum_of(const vector<float>& v) { double s = 0; for (float x : v) s += x; return s; }

string said;
template <class... T> void say(const char* format, T... values) {
    char text[200];
    snprintf(text, sizeof text, format, values...);
    said += text;
}

int main() {
    vector<float> ones(N, 1.0f), by = {1, 2, 3, 4};
    Holder a(N), b(4);
    a.fill(ones), b.fill(by);
    if (max(1, 2) == 2) physics::scale<float><<<(N + 63) / 64, 64>>>(a.get(), b.get(), N);
    say("scale %g\n", sum_of(a.read()));
    physics::scale<float, 2><<<N / 64, 64>>>(a.get(), b.get(), N), from_tables<<<1, 8>>>(a.get());
    say("tables %g\n", a.read()[3] + a.read()[7]);

    Particle* p;
    CHECK(cudaMallocManaged(&p, 10 * sizeof(Particle)));
    for (int i = 0; i < 10; ++i) p[i] = Particle{{1, 2, 3}, float(i)};
    particles<<<dim3(1), dim3{4, 1, 1}>>>(p, 10);
    CHECK(cudaDeviceSynchronize());
    say("particles %.2f %g\n", p[9].mass, p[9].place.x);
    cudaFree(p);

    int *d, h[8] = {};
    CHECK(cudaMalloc(&d, 8 * sizeof *d));
    declared_before<<<1, 1>>>(d, 6);
    use_block_sum<<<4, 128>>>(d + 1);
    warp_in_step<<<1, 32>>>(d + 5);
    CHECK(cudaMemset(d + 6, 0, 2 * sizeof *d));
    locked<<<2, 4>>>(d + 6, d + 7);
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    say("ints");
    for (int x : h) say(" %d", x);
    say("\n");
    cudaFree(d);

    two_arrays<<<1, 64, 64 * (sizeof(float) + sizeof(int))>>>(a.get());
    say("two %g\n", a.read()[0]);
    wide<<<1, N / 8>>>((float4*)a.get(), (float4*)a.get() + N / 8);
    say("wide %g\n", a.read()[N / 2] - a.read()[3]);
    apply<<<1, N>>>(Square(), a.get(), 3);
    say("square %g\n", a.read()[2]);

    vector<int> in(1000, 1);
    int *d_in, *parts, *total, found = 0;
    CHECK(cudaMalloc(&d_in, 1000 * sizeof(int)));
    CHECK(cudaMalloc(&parts, 10 * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), 1000 * sizeof(int), cudaMemcpyHostToDevice));
    last_block<<<10, 100>>>(d_in, parts, total);
    CHECK(cudaMemcpy(&found, total, sizeof found, cudaMemcpyDeviceToHost));
    for (int* x : {d_in, parts, total}) cudaFree(x);
    count_managed<<<3, 5>>>();
    CHECK(cudaDeviceSynchronize());
    say("total %d %d\n", found, managed_total);

    const string expected =
        "scale 640\ntables 8\nparticles 88.29 2\nints 720 8128 8128 8128 8128 496 0 8\n"
        "two 94.5\nwide 0\nsquare 8372.25\ntotal 1000 15\n";
    if (said != expected) return printf("%s", said.c_str()), 1;
    printf("ok\n");
    return 0;
}
