# %% [markdown]
# # The CUDA programming model
#
# Everything that the later lessons do on several GPUs rests on what one GPU does, and how. This lesson is about one GPU, from below: you write CUDA C++, the language in which PyTorch's own kernels are written. When you have finished it you can
#
# - write a kernel, choose its launch, and say which thread works on what;
# - take data to the device and back, with every error noticed and every byte given back;
# - say what is asynchronous about a GPU, and measure its speed without fooling yourself;
# - use shared memory and barriers, and recognise the race that a missing barrier is;
# - read a kernel's registers from the compiler, and choose a block that fits.
#
# **Time:** about four hours, three of them for the twelve exercises; the sections on shared memory are a good place to begin a second sitting. **Needs:** enough C to read a `for` loop. **A GPU is not needed.** Where there is one, and NVIDIA's compiler, your programs run on it. Elsewhere the same text is compiled for the CPU, by a small CUDA of the course's own, which is slow and strict: it notices each access past the end of an array, each race, each promise that was not waited for, and names the line. Even with a GPU you may want it: write `%%cuda --cpu`. The checks always use it, so that a verdict is the same on every machine.

# %% prelude

# %%
# %load_ext course.cuda.magic

from autograder.check import check
from course import cuda
from course.cuda.occupancy import A100, ADA, H100, local_memory
from course.cuda.registers import MANY_SUMS, figures, kernel, table
from course.measure.bandwidth import measure
from course.widgets import grid, hierarchy
from course.widgets import occupancy as occupancy_widget

# %% [markdown]
# ## Two worlds
#
# A program that uses a GPU has two sides. The **host** is the CPU with its memory: it runs `main`, opens files, decides. The **device** is the GPU with memory of its own: it computes. Neither can simply reach into the other's memory, and the host does not *do* the work on the device, it *asks* for it.
#
# What it asks for is a **kernel**: a function marked `__global__`, which the host **launches** and which many **threads** on the device run at the same time. A cell that begins with `%%cuda` is such a program, in CUDA C++. Run this one:

# %% language="cuda"
# #include <cstdio>
#
# __global__ void hello() {
#     printf("thread %d of block %d\n", threadIdx.x, blockIdx.x);
# }
#
# int main() {
#     hello<<<2, 4>>>();
#     printf("launched\n");
#     cudaDeviceSynchronize();
#     printf("and now all threads have run\n");
# }

# %% [markdown]
# `hello<<<2, 4>>>()` is the launch: 2 blocks of 4 threads. Look at the order of the lines. `launched` came first: **a launch only queues the work, and the host goes on at once.** `cudaDeviceSynchronize()` is where it waits. Take that line out, and see what is said.
#
# And the threads? Add ` --seed 1` after `%%cuda`, then ` --seed 2`: their order changes, and that of the blocks. CUDA promises none, so the course's CUDA shuffles it when asked, where a GPU may happen to do the same thing a thousand times.

# %% [markdown]
# ## Grid, block, thread
#
# All threads of a launch run the same function. They do different things only because each knows its place:
#
# - threads stand in a **block**; `threadIdx.x` is a thread's number there, `blockDim.x` how many there are, at most 1,024;
# - blocks make up the **grid**; `blockIdx.x` is the block's number, `gridDim.x` how many there are.
#
# (Each of the four also has `.y` and `.z`, for images and volumes.) A block is more than a bracket: all its threads are on one **streaming multiprocessor** (SM) at the same time, can wait for each other and share fast memory. Blocks know nothing of each other and run in any order, some now, some later. That is why the same program runs on a card with 58 SMs and on one with 132.
#
# The hardware runs threads in groups of 32, **warps**. A warp has one instruction at a time for all its 32 threads, each with data of its own; NVIDIA's name for it is **SIMT**, single instruction, multiple threads. Where the threads of a warp take different ways at an `if`, the ways are gone through one after the other.
#
# Here is a launch for 40 elements:

# %%
grid.draw_launch(n=40, blocks=3, threads=16)

# %% [markdown]
# The number in a square is the thread's, `threadIdx.x`; below it stands the element that it should work on. 3 blocks are needed, since 2 have only 32 threads, and the last 8 threads have nothing to do. Change the numbers: what about 1,000 elements and blocks of 256? And what if `blocks` is one too small?

# %% [markdown] exercise grid_size
# How many blocks does it take? A course forum is full of programs that have `n / 256` here, and leave the last elements out: in [this one](http://stackoverflow.com/questions/17303249/block-per-grid-allocation-habit-in-cuda/17303407), 244 of 500. This is Python, and what it computes goes between `<<<` and `>>>`.


# %% answer grid_size
def grid_size(n: int, block: int) -> int:
    """The smallest number of blocks of ``block`` threads that have at least n threads together.

    0 for n = 0. Exact for any whole numbers n ≥ 0 and block ≥ 1.
    """
    ### BEGIN SOLUTION
    return (n + block - 1) // block
    ### END SOLUTION


# %% check grid_size

# %% [markdown] exercise vec_add
# Now a kernel. Every thread finds out which element is its own, and adds. If there is no such element, it does nothing: that test is called the **guard**. The launch may have more blocks than are needed.
#
# Running the cell compiles it, no more: there is no `main` in it. The check brings one of its own.

# %% answer vec_add language="cuda"
# // c[i] = a[i] + b[i] for every i below n. Launched with at least n threads.
# __global__ void vec_add(const float* a, const float* b, float* c, int n) {
#     // BEGIN SOLUTION
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) c[i] = a[i] + b[i];
#     // END SOLUTION
# }

# %% check vec_add

# %% [markdown]
# Which of your threads wrote which element? The squares are the elements, 32 in a row; the colour is the block, the number the thread. Move the launch, and find one that leaves elements out, and one in which whole warps have nothing to do. (A row holds as many elements as a warp has threads.)

# %%
grid.show("vec_add", n=100, blocks=3, threads=48)

# %% [markdown]
# ## There and back
#
# The arrays of `vec_add` are on the device. How did they get there? The host
#
# 1. asks for memory on the device: `cudaMalloc(&d_a, bytes)`;
# 2. copies into it: `cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice)`, destination first, as in C's `memcpy`;
# 3. launches the kernel, with the *device's* pointers;
# 4. copies the result back: `cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost)`;
# 5. gives the memory back: `cudaFree(d_a)`.
#
# Sizes are **bytes**. A pointer to the device and one to the host look the same, to you and to the compiler; people begin the names of the former with `d_`. What happens when the two are mixed up? On a GPU, anything from a crash to an error that is reported much later, elsewhere. Here:

# %% language="cuda"
# #include <cstdio>
#
# int main() {
#     float* d_x;
#     cudaMalloc(&d_x, 10 * sizeof(float));
#     cudaMemset(d_x, 0, 10 * sizeof(float));
#     printf("%f\n", d_x[0]);  // the host reads memory of the device
#     cudaFree(d_x);
# }

# %% [markdown] exercise vec_add_host
# The host's side of `vec_add`, from `cudaMalloc` to `cudaFree`. `cudaMemcpy` waits for the kernel, so that no further synchronisation is needed. Each line of the verdict earns its own points here; in most other exercises all of them must hold.
#
# The tutorials' version of this program frees nothing. A program that ends gets away with that; a function that is called in a loop does not.

# %% answer vec_add_host language="cuda"
# __global__ void add(const float* a, const float* b, float* c, int n) {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) c[i] = a[i] + b[i];
# }
#
# // c = a + b on the device. All three are host memory, n floats each.
# void vec_add_host(const float* a, const float* b, float* c, int n) {
#     // BEGIN SOLUTION
#     if (n == 0) return;
#     size_t bytes = n * sizeof(float);
#     float *d_a, *d_b, *d_c;
#     cudaMalloc(&d_a, bytes);
#     cudaMalloc(&d_b, bytes);
#     cudaMalloc(&d_c, bytes);
#     cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice);
#     cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice);
#     int block = 256;
#     add<<<(n + block - 1) / block, block>>>(d_a, d_b, d_c, n);
#     cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost);
#     cudaFree(d_a);
#     cudaFree(d_b);
#     cudaFree(d_c);
#     // END SOLUTION
# }

# %% check vec_add_host

# %% [markdown]
# ## Errors that nobody sees
#
# Nearly every function of CUDA's runtime returns a `cudaError_t`, and most programs throw it away. A launch does not even return one. That goes well until the card is full: `cudaMalloc` says so, nobody listens, and what crashes is a kernel a hundred lines on, with a pointer that points nowhere.
#
# There are three moments at which something can go wrong, and each is noticed elsewhere:
#
# | what | example | noticed by |
# |---|---|---|
# | a call fails | no memory left | the call's return value |
# | a launch is refused | a block of 2,048 threads | `cudaGetLastError()` right after it |
# | a kernel fails while it runs | it reads past the end | the next call that waits, whichever it is |
#
# The third kind is the reason why a stack trace of PyTorch may point at an innocent line: the error is reported where somebody waited, long after the kernel that caused it was queued ([an example](https://github.com/QwenLM/Qwen3/issues/368)). It is also **sticky**: after it, every call fails, and only a new process helps. Setting `CUDA_LAUNCH_BLOCKING=1` makes each launch wait, and then the line is right.
#
# Here is a program that checks nothing:

# %% language="cuda"
# #include <cstdio>
#
# __global__ void times_three(const float* x, float* y, int n) {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) y[i] = 3 * x[i];
# }
#
# int main() {
#     const int n = 1000;
#     float x[n], *d_x, *d_y;
#     for (int i = 0; i < n; ++i) x[i] = i;
#     cudaMalloc(&d_x, sizeof x);
#     cudaMalloc(&d_y, sizeof x);
#     cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
#     times_three<<<(n + 255) / 256, 256>>>(d_x, d_y, n);
#     cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
#     printf("3 * 5 is %g\n", x[5]);
#     cudaFree(d_x);
#     cudaFree(d_y);
# }

# %% [markdown]
# It is right, today. Now let something fail. An option behind `%%cuda` makes one call fail, chosen by number: `--fail-malloc 2` (the second allocation), `--fail-copy 1`, `--fail-launch 1` (refused), `--fail-sync 1` (the kernel fails while it runs). The program itself notices nothing: it prints a wrong number and ends with exit code 0, or it crashes later, elsewhere. (What is red is said by the course's CUDA, which watches; a GPU would be silent. The last line says which call was made to fail.)

# %% [markdown] exercise CUDA_CHECK
# Write the macro that nearly every CUDA program has, and a function that uses it everywhere. A macro and not a function, because `__FILE__` and `__LINE__` are then those of the call. It must be usable wherever a statement is, also between `if` and `else`; that is what `do { … } while (0)` around it is for. The check makes allocations, copies, the launch, the kernel and a `cudaFree` fail, one after the other.

# %% answer CUDA_CHECK language="cuda"
# #include <cstdio>
# #include <cstdlib>
#
# // The macro CUDA_CHECK(call): when the call returns an error, print file, line and reason to
# // stderr, and end the program with a non-zero exit code.
# // BEGIN SOLUTION
# #define CUDA_CHECK(call)                                                  \
#     do {                                                                  \
#         cudaError_t error_ = (call);                                      \
#         if (error_ != cudaSuccess) {                                      \
#             fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
#                     cudaGetErrorString(error_));                          \
#             exit(EXIT_FAILURE);                                           \
#         }                                                                 \
#     } while (0)
# // END SOLUTION
#
# __global__ void multiply(const float* x, float* y, int n, float factor) {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) y[i] = factor * x[i];
# }
#
# // Multiplies the n floats at x (host memory, n > 0) by a factor, on the device; nothing unchecked.
# void scale(float* x, int n, float factor) {
#     // BEGIN SOLUTION
#     size_t bytes = n * sizeof(float);
#     float *d_x, *d_y;
#     CUDA_CHECK(cudaMalloc(&d_x, bytes));
#     CUDA_CHECK(cudaMalloc(&d_y, bytes));
#     CUDA_CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
#     multiply<<<(n + 255) / 256, 256>>>(d_x, d_y, n, factor);
#     CUDA_CHECK(cudaGetLastError());
#     CUDA_CHECK(cudaDeviceSynchronize());
#     CUDA_CHECK(cudaMemcpy(x, d_y, bytes, cudaMemcpyDeviceToHost));
#     CUDA_CHECK(cudaFree(d_x));
#     CUDA_CHECK(cudaFree(d_y));
#     // END SOLUTION
# }

# %% check CUDA_CHECK

# %% [markdown] exercise brighten
# **In production: a launch that never was.** A function makes images brighter. Somebody made its blocks a column wider, and since then the images come out black. There is no error message. Similar reports: [a block of 1,025 threads](https://github.com/isaac-for-healthcare/i4h-sensor-simulation/issues/59) by a loop that runs once too often.
#
# ```cpp
# cudaError_t brighten(const unsigned char* in, unsigned char* out, int width, int height) {
#     dim3 block(33, 32);  // somebody thought it would be faster
#     dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
#     add_light<<<grid, block>>>(in, out, width, height);
#     return cudaSuccess;
# }
# ```
#
# Find both mistakes. The block is two-dimensional here: `block.x` columns and `block.y` rows.

# %% answer brighten language="cuda"
# __global__ void add_light(const unsigned char* in, unsigned char* out, int width, int height) {
#     int column = blockIdx.x * blockDim.x + threadIdx.x;
#     int row = blockIdx.y * blockDim.y + threadIdx.y;
#     if (column < width && row < height) {
#         int light = in[row * width + column] + 60;
#         out[row * width + column] = light > 255 ? 255 : light;
#     }
# }
#
# // Launches add_light on an image in device memory, row by row, and returns the error of the
# // launch, cudaSuccess for none.
# cudaError_t brighten(const unsigned char* in, unsigned char* out, int width, int height) {
#     // BEGIN SOLUTION
#     dim3 block(32, 32);
#     dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
#     add_light<<<grid, block>>>(in, out, width, height);
#     return cudaGetLastError();
#     // END SOLUTION
# }

# %% check brighten

# %% [markdown]
# ## Any grid, any size
#
# One thread for each element is simple, and ties the launch to the size. Kernels that are meant to last do it the other way: the launch has as many threads as the card can use, and each thread goes on to the next element that is its own. This is called a **grid-stride loop**. PyTorch's element-wise kernels have one, too.

# %% [markdown] exercise grid_stride
# `out = a · x + y`, right for any n with any grid, even one thread. How far is it from a thread's first element to its second? There are two ways to divide the elements, and only one is fast on a GPU: memory comes in pieces of 32 bytes. **When the 32 threads of a warp read 32 neighbours, they need 128 bytes, and 4 pieces serve all of them** (the accesses are *coalesced*). When each reads somewhere else, 32 pieces are fetched, and 28 of the 32 bytes in each are for nobody.

# %% answer grid_stride language="cuda"
# // out[i] = a * x[i] + y[i] for every i below n, whatever the grid.
# __global__ void grid_stride(float a, const float* x, const float* y, float* out, int n) {
#     // BEGIN SOLUTION
#     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#         out[i] = a * x[i] + y[i];
#     }
#     // END SOLUTION
# }

# %% check grid_stride

# %%
grid.show("grid_stride", n=100, blocks=2, threads=16)

# %% [markdown]
# ## Streams
#
# Work on the device stands in queues, called **streams**. Within a stream everything happens in order; between two streams nothing is promised, and that is what they are for: while one piece of data is being copied, another can be computed. A launch names its stream as the fourth argument, `kernel<<<grid, block, 0, stream>>>`. Without one, it goes to the *default stream*, which waits for all others and lets all others wait.
#
# `cudaMemcpy` blocks the host. `cudaMemcpyAsync(to, from, bytes, kind, stream)` queues the copy and comes back. For that, the host's memory must be **pinned** (`cudaMallocHost`): the card fetches it by itself, so the operating system must not move it. From ordinary memory, the driver first makes a copy of its own.
#
# | call | what it does |
# |---|---|
# | `cudaStreamCreate(&stream)` | makes a stream |
# | `cudaStreamSynchronize(stream)` | the host waits until all that is queued in this stream has run |
# | `cudaDeviceSynchronize()` | the host waits for all streams |
# | `cudaStreamDestroy(stream)` | gives the stream back |
#
# This is also what DDP, two lessons on, does with gradients: compute in one stream, communicate in another. And it is where days are lost: one of the practitioners whose notes this course grew from tells of a strange leak of GPU memory that took two days to find, and was a stream that nobody had synchronised.

# %% [markdown] exercise overlap
# **Find the bug.** The program that was found processes an array in pieces, in two streams, so that copies and kernels can overlap:
#
# ```cpp
# void overlap(const float* in, float* out, int n) {
#     float *d_in, *d_out;
#     cudaMalloc(&d_in, n * sizeof(float));
#     cudaMalloc(&d_out, n * sizeof(float));
#     cudaStream_t streams[2];
#     for (cudaStream_t& stream : streams) cudaStreamCreate(&stream);
#     const int pieces = 4, most = (n + pieces - 1) / pieces;
#     for (int piece = 0; piece < pieces; ++piece) {
#         int begin = piece * most, count = min(most, n - begin);
#         if (count <= 0) break;
#         cudaStream_t stream = streams[piece % 2];
#         size_t bytes = count * sizeof(float);
#         cudaMemcpyAsync(d_in + begin, in + begin, bytes, cudaMemcpyHostToDevice, stream);
#         process<<<(count + 255) / 256, 256, 0, stream>>>(d_in + begin, d_out + begin, count);
#         cudaMemcpyAsync(out + begin, d_out + begin, bytes, cudaMemcpyDeviceToHost, stream);
#     }
# }
# ```
#
# On a GPU it is right most of the time: the caller is usually slow enough. Write it anew, without the bug, and let it give back what it takes. It keeps two streams, and the host waits only when everything is queued. (`cudaFree` happens to wait, too. Do not rely on that: wait first, then free.)

# %% answer overlap language="cuda"
# __global__ void process(const float* in, float* out, int n) {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) out[i] = 2 * in[i] + 1;
# }
#
# // out[i] = 2 * in[i] + 1 for all n. in and out are pinned host memory. When this returns, out is
# // ready, and device memory and streams are given back.
# void overlap(const float* in, float* out, int n) {
#     // BEGIN SOLUTION
#     const int pieces = 4, most = (n + pieces - 1) / pieces;
#     float *d_in, *d_out;
#     cudaMalloc(&d_in, n * sizeof(float));
#     cudaMalloc(&d_out, n * sizeof(float));
#     cudaStream_t streams[2];
#     for (cudaStream_t& stream : streams) cudaStreamCreate(&stream);
#     for (int piece = 0; piece < pieces; ++piece) {
#         int begin = piece * most, count = min(most, n - begin);
#         if (count <= 0) break;
#         cudaStream_t stream = streams[piece % 2];
#         size_t bytes = count * sizeof(float);
#         cudaMemcpyAsync(d_in + begin, in + begin, bytes, cudaMemcpyHostToDevice, stream);
#         process<<<(count + 255) / 256, 256, 0, stream>>>(d_in + begin, d_out + begin, count);
#         cudaMemcpyAsync(out + begin, d_out + begin, bytes, cudaMemcpyDeviceToHost, stream);
#     }
#     for (cudaStream_t stream : streams) cudaStreamSynchronize(stream);
#     for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
#     cudaFree(d_in);
#     cudaFree(d_out);
#     // END SOLUTION
# }

# %% check overlap

# %% [markdown]
# ## Where the numbers are
#
# A GPU computes far faster than its memory delivers. An H100 has 67 TFLOP/s in float32 and 3.35 TB/s (NVIDIA's data sheet, SXM): in the time in which one float arrives it could do 80 operations. `vec_add` does one operation for three floats moved, and whether the card could do 67 or 670 TFLOP/s makes no difference to it. So it matters where numbers are kept:

# %%
hierarchy.draw_levels()

# %% [markdown]
# The axes are logarithmic: read the numbers. Sizes and bandwidths are from NVIDIA's whitepapers and data sheets of the three cards; shared memory delivers 128 bytes a cycle in each SM. The latencies were measured by Luo and others (2024) and are rounded. There is no figure where NVIDIA publishes none (registers are no limit; of L2, measurements differ by how they are made), and the host's memory is as large as you buy it.
#
# - **Registers** belong to one thread: its local variables.
# - **Shared memory** belongs to a block. You say what is in it. It is the same silicon as the **L1 cache**, which fills by itself.
# - **L2** and **global memory** belong to everybody. `cudaMalloc` gives global memory; what PyTorch calls "GPU memory" is this.
# - **Host memory** is at the far end of PCIe, which is 30 to 60 times slower than global memory.
#
# From each level to the next, a kernel has to fetch a number once and use it often. That is the whole art.
#
# Your machine has such a staircase as well. The next cell reads tensors from 16 KiB to 128 MiB over and over, and shows how fast; it takes about a second. (On a CPU: one core, and the caches of the CPU.)

# %%
points = measure()
hierarchy.show(points)

# %% [markdown]
# **A question to answer with your own number:** how many times faster is a tensor that has room in the fastest level than one of 128 MiB? The next cell says it. Guess first.

# %%
fastest = max(point.bytes_per_second for point in points)
largest = points[-1].bytes_per_second
print(
    f"{fastest / 1e9:.1f} GB/s at best, {largest / 1e9:.1f} GB/s at 128 MiB: {fastest / largest:.1f} times"
)

# %% [markdown]
# ## Working together: shared memory and barriers
#
# So far no thread needed another. For a sum they must work together, and they do it through shared memory. `__shared__ float s[256];` in a kernel is one array for each block, which all its threads see. With `extern __shared__ float s[];` the launch says how large it is, as its third argument: `kernel<<<grid, block, bytes>>>`.
#
# Who reads what another has written must know that it has been written. `__syncthreads()` is the **barrier**: no thread of the block goes on before all have come. Here is a kernel without one. Each thread puts a number in its place, and reads its neighbour's:

# %% magic_args="--seed 1" language="cuda"
# #include <cstdio>
#
# __global__ void rotate(const int* in, int* out) {
#     __shared__ int s[8];
#     int t = threadIdx.x;
#     s[t] = in[t];
#     // no barrier
#     out[t] = s[(t + 1) % 8];
# }
#
# int main() {
#     int numbers[8] = {0, 10, 20, 30, 40, 50, 60, 70}, *d_in, *d_out;
#     cudaMalloc(&d_in, sizeof numbers);
#     cudaMalloc(&d_out, sizeof numbers);
#     cudaMemcpy(d_in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
#     rotate<<<1, 8>>>(d_in, d_out);
#     cudaMemcpy(numbers, d_out, sizeof numbers, cudaMemcpyDeviceToHost);
#     for (int number : numbers) printf("%d ", number);
#     cudaFree(d_in);
#     cudaFree(d_out);
# }

# %% [markdown]
# This is a **race**: two threads use the same place, one of them writes, and nothing says who comes first. On a GPU, 8 threads are in one warp, and the result would probably be right. With 64 threads, two warps, it would be wrong now and then, on some cards, on some days. Put `__syncthreads();` in the place of the comment.
#
# A barrier has one rule: **all threads of the block must reach it.** An `if` around it, or a `return` before it, breaks that. Recent cards count threads that have ended as arrived, so such a program may seem to work; the programming guide calls it undefined.

# %% [markdown] exercise block_sum
# Each block adds up its elements. One thread could do it in 255 steps, while 255 others wait. A **tree** needs 8: in the first step 128 threads add a pair each, in the next 64, then 32… The last block is not full; threads without an element still have to come to every barrier. The check tries several orders of the threads.

# %% answer block_sum language="cuda"
# // sums[b] = the sum of the elements that the threads of block b have, one each; n in all.
# // blockDim.x is a power of two, from 32 to 1024. The launch gives blockDim.x floats of dynamic
# // shared memory. No thread adds, and no place receives, more than a few numbers.
# __global__ void block_sum(const float* x, float* sums, int n) {
#     // BEGIN SOLUTION
#     extern __shared__ float s[];
#     int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
#     s[t] = i < n ? x[i] : 0.0f;
#     __syncthreads();
#     for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
#         if (t < stride) s[t] += s[t + stride];
#         __syncthreads();
#     }
#     if (t == 0) sums[blockIdx.x] = s[0];
#     // END SOLUTION
# }

# %% check block_sum

# %% [markdown]
# ## Fetch once, use often
#
# A matrix product of two n × n matrices does 2n³ operations. Written naively, every operation fetches its numbers anew: 2n³ floats through a memory that can deliver one for every 80 operations. But each number is needed n times. In **tiles** of T × T, a block fetches a tile of each matrix *once* into shared memory, and its T² threads then use each number T times from there. The traffic goes down to 1/T.

# %% [markdown] exercise matmul_tiled
# The product, in tiles of 8 × 8 (real ones take 16 or 32, and registers on top). The sizes need not be multiples of the tile. Two barriers are needed in each round: think about what each of them prevents. The check counts how often global memory is read.

# %% answer matmul_tiled language="cuda"
# constexpr int TILE = 8;
#
# // c = a b: a is m × k, b is k × n, c is m × n, all of them row by row. Launched with blocks of
# // TILE × TILE threads, one for each element of c, and more at the edges.
# __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
#     // BEGIN SOLUTION
#     __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
#     int x = threadIdx.x, y = threadIdx.y;
#     int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
#     float sum = 0.0f;
#     for (int start = 0; start < k; start += TILE) {
#         tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0f;
#         tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0f;
#         __syncthreads();
#         for (int i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
#         __syncthreads();
#     }
#     if (row < m && column < n) c[row * n + column] = sum;
#     // END SOLUTION
# }

# %% check matmul_tiled

# %% [markdown]
# ## How full is an SM?
#
# When a warp waits for memory, some 500 cycles, the SM goes on with another warp, at no cost: all of them stay on the SM, with their registers. So it helps to have many. The share of the possible warps that are there is the **occupancy**. What limits it? An SM has room for so many threads, so many blocks, 65,536 registers, and so many bytes of shared memory, and *each* is a limit.
#
# How many registers a kernel takes, the compiler decides. These are kernels that keep 16, 80 or 120 sums in registers:

# %%
print(MANY_SUMS)

# %% [markdown]
# And this is what NVIDIA's assembler, `ptxas`, makes of them for an A100 (`sm_80`), an RTX 4090 or L4 (`sm_89`) and an H100 (`sm_90`). It needs no GPU. Where it is not installed, these figures are those that ptxas 13.0 gave when the lesson was written. What *local memory* and *spilled* are, you will see below: they should be 0.

# %%
print(table(MANY_SUMS))

# %%
occupancy_widget.show(kernel(MANY_SUMS, "sums_80", "sm_80"), block=256)

# %% [markdown]
# Move the registers from 32 to 33, and the block from 256 to 288. The occupancy goes in steps, because registers are given to a whole warp in units of 256, and because a block is resident as a whole or not at all. More occupancy is not always more speed: past the point where the memory is busy all the time it buys nothing, and kernels that use many registers each, like those of matrix products, are often the fastest. But you should know what you pay.

# %% [markdown] exercise occupancy
# The rules, as in NVIDIA's own calculator:
#
# - a block takes whole warps; the SM holds `limits.warps` warps and `limits.blocks` blocks;
# - a warp takes 32 × registers, rounded up to a multiple of **256**. The SM's registers are in **four** equal parts, one for each scheduler, and a warp has its registers in one of them.;
# - a block takes its shared memory, rounded up to a multiple of **128** bytes, and **1,024** bytes for the system.;
# - a block has at most 1,024 threads.
#
# A block that does not fit even once cannot be launched: 0 blocks.


# %% answer occupancy
def occupancy(registers: int, shared: int, block: int, limits) -> tuple[int, int]:
    """How many blocks, and how many warps, of one kernel an SM holds at the same time.

    Args:
        registers: of each thread.
        shared: bytes of shared memory of each block.
        block: threads of a block, at least 1.
        limits: what one SM has: limits.warps, limits.blocks, limits.registers and
            limits.shared (bytes).

    Returns:
        (blocks, warps); (0, 0) where a launch would be refused.
    """
    ### BEGIN SOLUTION
    if block > 1024:
        return 0, 0
    warps = (block + 31) // 32
    of_warp = (32 * registers + 255) // 256 * 256
    by_registers = limits.registers // 4 // of_warp * 4 // warps
    by_shared = limits.shared // ((shared + 127) // 128 * 128 + 1024)
    blocks = min(limits.warps // warps, limits.blocks, by_registers, by_shared)
    return blocks, blocks * warps
    ### END SOLUTION


# %% check occupancy

# %% [markdown] exercise best_block
# And now choose. Try all blocks that are whole warps, and take the smallest of those that have the most warps on an SM. Some cannot be launched at all.


# %% answer best_block
def best_block(registers: int, shared_per_thread: int, limits, occupancy) -> int:
    """The block, a multiple of 32 up to 1,024, with the most resident warps an SM.

    Of several that are equally good, the smallest.

    Args:
        registers: of each thread.
        shared_per_thread: bytes; a block of 256 threads takes 256 times as many.
        limits: what one SM has.
        occupancy: a function like yours of the last exercise.
    """

    ### BEGIN SOLUTION
    def warps(block):
        return occupancy(registers, shared_per_thread * block, block, limits)[1]

    return max(range(32, 1025, 32), key=warps)
    ### END SOLUTION


# %% check best_block

# %% [markdown]
# ### In production: a block too large
#
# A story from the notes that this course grew from, of a training cluster: one card of many ran out of memory, and the cause was found in a kernel whose block had been made as large as possible. "The registers overflowed", it was said. That cannot be the whole story, so let us look. `sums_120` takes 128 registers; with blocks of 1,024 threads that makes 131,072, and there are 65,536. What happens?

# %%
main = """
#include <cstdio>
int main() {
    const int n = 1024;
    float *x, *y;
    cudaMalloc(&x, 120 * n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, 120 * n * sizeof(float));
    sums_120<<<1, 1024>>>(x, y, n, 10);
    printf("%s\\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(x);
    cudaFree(y);
}
"""
cuda.run(MANY_SUMS + main, resources=figures(MANY_SUMS, "sm_80"))

# %% [markdown]
# The launch is **refused**. No memory is used up; if nobody checks, nothing is computed, either. ([A kernel with 162 registers](https://github.com/HazyResearch/ThunderKittens/issues/37) was reported with just this message.)
#
# To make it run, people write `__launch_bounds__(1024)`: a promise to the compiler that blocks are that large. It then has to do with 64 registers, and what does not fit is **spilled** to *local memory*. The name is unfortunate: local is who sees it, one thread; where it is, is global memory. `sums_120_bounded` in the table above has 536 bytes of it for each thread, on an A100. (The table's *spilled* counts the bytes that the spilling instructions move, so it is larger.) And this memory is set aside for **every thread that could be resident on the card**:

# %%
for limits, arch, sms in ((A100, "sm_80", 108), (ADA, "sm_89", 128), (H100, "sm_90", 132)):
    bounded = kernel(MANY_SUMS, "sums_120_bounded", arch)
    reserved = local_memory(bounded.stack, limits, sms)
    print(
        f"{limits.name}: {bounded.stack} bytes × {limits.threads} threads × {sms} SMs = {reserved / 1e6:.0f} MB"
    )

# %% [markdown]
# So this is what a block too large does: it is refused, or it spills; and spills cost some memory, for good, and a lot of time, since each is traffic to global memory. With a block of 512 or less, the kernel needs neither. Which is best? Ask `best_block` (here with your own two functions). Many sizes are equally good, and it names the smallest:

# %%
for limits in (A100, ADA, H100):
    block = best_block(128, 0, limits, occupancy)
    print(
        f"{limits.name}: blocks of {block}, {occupancy(128, 0, block, limits)[1]} of {limits.warps} warps"
    )

# %% [markdown]
# ## Measure it
#
# How fast is a copy? Take a stopwatch, and remember the first experiment of this lesson: a launch comes back at once. Who stops the watch then has measured how long it takes to *ask*. A benchmark on the web had 0.03 where 1.36 was right ([TristanBilot/mlx-benchmark, pull request 21](https://github.com/TristanBilot/mlx-benchmark/pull/21)). There is a simple test for it: turn the time into a bandwidth, and compare it with the card's peak. Nothing is faster than that.

# %% [markdown] exercise bandwidth
# The device of the check has a clock of its own, so that the same answer always gets the same times. Three things go wrong easily: the watch is stopped too early, it is started while the device still has something else to do, and the first call, which is slow, is in the time.


# %% answer bandwidth
def bandwidth(work, synchronize, clock, moved: int) -> float:
    """Bytes a second that a device moves.

    Args:
        work: queues one piece of work on the device, and comes back at once.
        synchronize: comes back when the device has finished all that was queued.
        clock: seconds, as time.perf_counter.
        moved: bytes that one call of work moves, read and written together.
    """
    ### BEGIN SOLUTION
    work()  # the first call is slower than all others
    synchronize()
    begin = clock()
    for _ in range(10):
        work()
    synchronize()
    return 10 * moved / (clock() - begin)
    ### END SOLUTION


# %% check bandwidth

# %% [markdown]
# And for real: your function, with PyTorch, on what this machine has. A copy reads each byte and writes it, so it moves twice its size.

# %%
where = "cuda" if torch.cuda.is_available() else "cpu"
source = torch.ones(32 << 20, dtype=torch.uint8, device=where)
target = torch.empty_like(source)
wait = torch.cuda.synchronize if where == "cuda" else lambda: None
rate = bandwidth(lambda: target.copy_(source), wait, time.perf_counter, 2 * source.nbytes)
print(f"copying 32 MiB on {where}: {rate / 1e9:.1f} GB/s")

# %% [markdown]
# ## Recap
#
# 1. The host queues, the device works; a launch comes back at once, and errors of the kernel are reported where somebody waits.
# 2. A thread is `blockIdx.x * blockDim.x + threadIdx.x`; blocks round up, and a guard catches the rest.
# 3. Sizes are bytes, every call is checked, launches twice (accepted? ran?), and what is allocated is freed.
# 4. Memory decides speed: neighbours read neighbours, tiles are fetched once, and barriers are reached by all.
# 5. Registers × threads must fit an SM; too many are refused or spill; a bandwidth above the peak is a stopwatch stopped too early.
#
# **Where to read on.** NVIDIA, *CUDA C++ Programming Guide* (the chapters Programming Model and Hardware Implementation, and the table of compute capabilities) and *CUDA C++ Best Practices Guide*. W. Hwu, D. Kirk and I. El Hajj, *Programming Massively Parallel Processors*. M. Harris, *Optimizing Parallel Reduction in CUDA*, for what comes after `block_sum`. W. Luo and others, *Benchmarking and Dissecting the Nvidia Hopper GPU Architecture*, 2024, for the latencies. V. Volkov, *Better Performance at Lower Occupancy*, 2010, for the other side of the argument.
