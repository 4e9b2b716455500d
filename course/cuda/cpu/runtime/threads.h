// The threads of one block. Each is a fiber as soon as it has to wait; one that never waits runs
// to its end on the stack of the one before it.
#pragma once

namespace {

enum ThreadState : uint8_t { UNBORN, READY, AT_BARRIER, AT_WARP, DONE };

struct Thread {
    uint3 index;
    ThreadState state;
    uint16_t epoch;  // counts the synchronisations of its warp
    void* stack;     // where it goes on
    const void* pc;  // where it waits
    int line;        // of the barrier at which it waits
    int predicate;   // for __syncthreads_count and its like
    unsigned mask;   // for the functions of a warp: who takes part, in what, with which value
    int operation;
    unsigned long long value, result;
    unsigned peers;
};

const unsigned MAX_THREADS = 1024;
const size_t STACK = 128 * 1024, MAX_CLOSURE = 4096;

struct Block {
    Thread threads[MAX_THREADS];
    unsigned order[MAX_THREADS], unborn;  // who is started next: order[unborn]
    unsigned ready[2 * MAX_THREADS], ready_head, ready_tail;
    unsigned count, live, at_barrier;
    int barrier_count;
    void (*entry)(void*);
    unsigned long serial;  // of all blocks that ever ran
} block;

unsigned running_thread, running_block;
uintptr_t stacks;  // a page of closure, then the fibers' stacks, each above a closed page
const size_t stacks_bytes = PAGE + (MAX_THREADS + 1) * (STACK + PAGE);
void* idle[MAX_THREADS + 1];
unsigned idle_count, fiber_count;
void* main_stack;
cudaError_t stop_error;
unsigned long atomics_in_a_row;
uint64_t random_state = 1;

unsigned random_below(unsigned n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 32) % n;
}

void shuffle(unsigned* items, unsigned n) {
    if (!config.seed) return;
    for (unsigned i = n; i > 1; --i) {
        unsigned j = random_below(i), item = items[i - 1];
        items[i - 1] = items[j], items[j] = item;
    }
}

uint3 index_of(unsigned thread) { return block.threads[thread].index; }

}  // namespace

extern "C" {
// The kernel's coordinates; device.h declares them as constants (of this layout).
uint3 cuda_cpu_thread asm("threadIdx");
uint3 cuda_cpu_block asm("blockIdx");
uint3 cuda_cpu_block_dim asm("blockDim");
uint3 cuda_cpu_grid_dim asm("gridDim");

// Saves the registers that a call must keep, and goes on where another fiber left off.
void cuda_cpu_switch(void** save, void* load);
void cuda_cpu_first();  // where a new fiber begins
}
#if defined(__x86_64__)
asm(R"(
.text
.globl cuda_cpu_switch
cuda_cpu_switch:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    ret
)");
const unsigned SAVED_WORDS = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl cuda_cpu_switch
cuda_cpu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
const unsigned SAVED_WORDS = 20;
#else
#error "CUDA on the CPU knows x86-64 and 64-bit ARM; this is neither."
#endif

namespace {

void open_stacks() { stacks = (uintptr_t)reserve(stacks_bytes, PROT_NONE); mprotect((void*)stacks, PAGE, PROT_READ | PROT_WRITE); }

void* new_fiber() {
    uintptr_t low = stacks + PAGE + fiber_count++ * (STACK + PAGE) + PAGE;
    mprotect((void*)low, STACK, PROT_READ | PROT_WRITE);
    return (void*)low;
}

// The stack of a fiber that has not begun: as cuda_cpu_switch would have left it.
void* prepare(unsigned number) {
    uintptr_t top = stacks + PAGE + number * (STACK + PAGE) + PAGE + STACK;
    void** words = (void**)top - 8 - SAVED_WORDS;
#if defined(__x86_64__)
    if ((uintptr_t)(words + SAVED_WORDS) % 16 == 8) ++words;
    for (unsigned i = 0; i < SAVED_WORDS; ++i) words[i] = nullptr;
    words[SAVED_WORDS] = (void*)cuda_cpu_first;
    words[SAVED_WORDS + 1] = nullptr;  // nobody to return to
#else
    words = (void**)((uintptr_t)words / 16 * 16);
    for (unsigned i = 0; i < SAVED_WORDS; ++i) words[i] = nullptr;
    words[11] = (void*)cuda_cpu_first;  // x30
#endif
    return words;
}

void* take_fiber() {
    if (idle_count) return idle[--idle_count];
    new_fiber();
    return prepare(fiber_count - 1);
}

// All fibers are as new: after a kernel was stopped.
void forget_fibers() {
    idle_count = 0;
    for (unsigned i = 0; i < fiber_count; ++i) idle[idle_count++] = prepare(i);
}

inline void set_stamp(const Thread& t, unsigned number) {
    stamp = interval << 27 | (uint64_t)(t.epoch & 0xfff) << 15 | (uint64_t)number << 5;
}

inline void become(unsigned number) {
    Thread& t = block.threads[number];
    running_thread = number;
    running.thread = cuda_cpu_thread = t.index;
    set_stamp(t, number);
    atomics_in_a_row = 0;
}

void make_ready(unsigned number) {
    block.threads[number].state = READY;
    block.ready[block.ready_tail++ % (2 * MAX_THREADS)] = number;
}

void release_barrier();   // barriers.h
bool resolve_standstill();  // barriers.h: whether somebody can go on now

// The next thread to run, or -1 when all have ended. It is not yet running.
int pick() {
    for (;;) {
        if (block.unborn < block.count) return (int)block.order[block.unborn++];
        if (block.ready_head != block.ready_tail)
            return (int)block.ready[block.ready_head++ % (2 * MAX_THREADS)];
        if (!block.live) return -1;
        if (block.at_barrier == block.live) release_barrier();
        else if (!resolve_standstill()) stop_kernel(cudaErrorLaunchFailure);
    }
}

// Lets other threads run; comes back when this one is ready again.
void wait_here(ThreadState state, const void* pc) {
    settle_pending();
    unsigned number = running_thread;
    Thread& me = block.threads[number];
    me.state = state;
    me.pc = pc;
    if (state == READY) make_ready(number);
    int next = pick();
    if (next != (int)number) {
        Thread& other = block.threads[next];
        bool unborn = other.state == UNBORN;
        become((unsigned)next);
        other.state = READY;
        cuda_cpu_switch(&me.stack, unborn ? take_fiber() : other.stack);
    }
    become(number);
}

}  // namespace

extern "C" void cuda_cpu_first() {
    for (;;) {
        block.entry((void*)stacks);
        settle_pending();
        block.threads[running_thread].state = DONE;
        --block.live;
        int next = pick();
        if (next >= 0 && block.threads[next].state == UNBORN) {
            become((unsigned)next);
            block.threads[next].state = READY;
            continue;
        }
        void* to = main_stack;
        if (next >= 0) become((unsigned)next), to = block.threads[next].stack;
        // This fiber is idle from here on; whoever takes it goes on after the switch.
        cuda_cpu_switch(&idle[idle_count++], to);
    }
}

namespace {

void run_block() {
    block.unborn = block.ready_head = block.ready_tail = block.at_barrier = 0;
    block.live = block.count;
    ++block.serial;
    ++interval;
    block_first = interval;
    block_fenced = false;
    for (unsigned i = 0; i < block.count; ++i) {
        block.threads[i].state = UNBORN;
        block.threads[i].epoch = 0;
    }
    shuffle(block.order, block.count);
    unsigned first = (unsigned)pick();
    become(first);
    block.threads[first].state = READY;
    in_kernel = true;
    cuda_cpu_switch(&main_stack, take_fiber());
    in_kernel = false;
}

[[noreturn]] void stop_kernel(cudaError_t error) {
    stop_error = error;
    pending.set = false;
    void* nobody;
    cuda_cpu_switch(&nobody, main_stack);
    __builtin_unreachable();
}

}  // namespace
