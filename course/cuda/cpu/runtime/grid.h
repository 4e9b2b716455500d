// A launch: its blocks one after the other, and what a block finds: coordinates, shared memory.
#pragma once

namespace {

struct Launch {
    const cuda_cpu::Kernel* kernel;
    void (*entry)(void*);
    const void* closure;
    size_t closure_bytes;
    dim3 grid, threads;
    size_t dynamic_bytes;
};

unsigned long launch_serial;
const Launch* current_launch;
unsigned shared_slots;  // in use by this launch; slot 1 is the dynamic shared memory
size_t shared_next, static_bytes;

// Where each block's intervals began, in the order in which the blocks ran.
uint64_t* block_starts;
const unsigned long MAX_BLOCK_STARTS = 1ul << 24;
unsigned long blocks_begun, block_first_run, block_stride, block_total;

unsigned long nth_block(unsigned long n) {
    return (unsigned long)(((unsigned __int128)n * block_stride + block_first_run) % block_total);
}

// Which block an interval of this launch belongs to, or -1.
long long block_of(uint64_t interval) {
    unsigned long low = 0, high = blocks_begun < MAX_BLOCK_STARTS ? blocks_begun : MAX_BLOCK_STARTS;
    while (low < high) {
        unsigned long middle = (low + high) / 2;
        if (block_starts[middle] <= interval) low = middle + 1;
        else high = middle;
    }
    return low ? (long long)nth_block(low - 1) : -1;
}

unsigned long common_divisor(unsigned long a, unsigned long b) { return b ? common_divisor(b, a % b) : a; }

// Blocks run in any order: here in the natural one, or from one drawn from the seed, in steps of
// a number without a common divisor.
void choose_block_order(unsigned long total) {
    const unsigned most = (unsigned)(total < 1u << 31 ? total : 1u << 31);
    block_total = total;
    block_first_run = 0;
    block_stride = 1;
    if (!config.seed || total < 2) return;
    block_first_run = random_below(most);
    do block_stride = 1 + random_below(most - 1);
    while (common_divisor(block_stride, total) != 1);
}

void set_slot(unsigned slot, const char* name, size_t bytes) {
    Allocation& a = allocations[slot];
    if (a.bytes != bytes || !a.cells) {
        size_t words = a.bytes / 4 + 2;
        if (a.initialised) munmap(a.initialised, words);
        if (a.cells) munmap(a.cells, words * sizeof(Cell)), cells_used -= words * sizeof(Cell);
        a = Allocation{0, bytes, SHARED, LIVE, slot, nullptr, nullptr, name, nullptr, nullptr,
                       round_up(bytes, PAGE)};
        add_shadow(a);
    }
    a.begin = arena + shared_next;
    a.name = name;
    shared_next += round_up(bytes, GRANULE) + 2 * GRANULE;
    claim_granules(a, slot);
    if (!bytes) granules[(a.begin - arena) / GRANULE] = slot;
    protect(a, true);
}

void renew_slot(unsigned slot) {
    Allocation& a = allocations[slot];
    poison((void*)a.begin, a.bytes);
    memset(a.initialised, 0, a.bytes / 4 + 2);
}

size_t shared_limit(const cuda_cpu::Kernel* kernel);  // limits.h

void begin_launch(const Launch& launch) {
    current_launch = &launch;
    ++launch_serial;
    // Granules of earlier launches' shared variables belong to nobody now.
    memset(granules, 0, (shared_next + GRANULE) / GRANULE * sizeof *granules);
    shared_next = GRANULE;
    shared_slots = 1;
    static_bytes = 0;
    set_slot(1, "dynamic shared memory", launch.dynamic_bytes);
    block.count = launch.threads.x * launch.threads.y * launch.threads.z;
    block.entry = launch.entry;
    memcpy((void*)stacks, launch.closure, launch.closure_bytes);
    const dim3& d = launch.threads;
    for (unsigned i = 0; i < block.count; ++i) {
        block.threads[i].index = uint3{i % d.x, i / d.x % d.y, i / d.x / d.y};
        block.order[i] = i;
    }
    cuda_cpu_block_dim = launch.threads;
    cuda_cpu_grid_dim = launch.grid;
}

// Runs a launch to its end, or to its first fatal fault; cudaSuccess or what that fault is.
cudaError_t run_grid(const Launch& launch) {
    begin_launch(launch);
    stop_error = cudaSuccess;
    launch_first = interval + 1;
    blocks_begun = 0;
    unsigned long total = (unsigned long)launch.grid.x * launch.grid.y * launch.grid.z;
    choose_block_order(total);
    for (unsigned long n = 0; n < total && stop_error == cudaSuccess; ++n) {
        unsigned long b = nth_block(n);
        running_block = (unsigned)b;
        cuda_cpu_block = uint3{(unsigned)(b % launch.grid.x), (unsigned)(b / launch.grid.x % launch.grid.y),
                               (unsigned)(b / launch.grid.x / launch.grid.y)};
        running.block = cuda_cpu_block;
        if (n < MAX_BLOCK_STARTS) block_starts[n] = interval + 1;
        blocks_begun = n + 1;
        if (launch.dynamic_bytes) renew_slot(1);
        run_block();
    }
    if (stop_error) forget_fibers();
    current_launch = nullptr;
    return stop_error;
}

}  // namespace

namespace cuda_cpu {

void* dynamic_shared(const char* name) {
    allocations[1].name = name;
    return (void*)allocations[1].begin;
}

void* shared_place(SharedPlace& place, const char* name, size_t bytes) {
    if (place.block == block.serial) return place.address;
    if (place.launch != launch_serial) {
        place.launch = launch_serial;
        place.slot = ++shared_slots;
        static_bytes += bytes;
        size_t limit = shared_limit(running.kernel);
        bool too_much = static_bytes > 48 * 1024 || static_bytes + current_launch->dynamic_bytes > limit;
        if (too_much || shared_slots > SHARED_SLOTS) {
            if (is_new("too_much_shared", name))
                fault("too_much_shared", PC)
                    .number("asked", (long long)(static_bytes + current_launch->dynamic_bytes))
                    .number("limit", (long long)(static_bytes > 48 * 1024 ? 48 * 1024 : limit))
                    .number("error", cudaErrorInvalidValue).word("name", name).send();
            stop_kernel(cudaErrorInvalidValue);
        }
        set_slot(place.slot, name, bytes);
    }
    renew_slot(place.slot);
    place.block = block.serial;
    place.address = (void*)allocations[place.slot].begin;
    return place.address;
}

}  // namespace cuda_cpu
