// Where threads wait for each other: __syncthreads for a block, the _sync functions for a warp.
#pragma once

namespace {

// Two threads of a fault: the one that waits, and one that does otherwise.
void tell_divergence(const char* kind, unsigned waits, unsigned other, bool ended) {
    const Thread &a = block.threads[waits], &b = block.threads[other];
    if (!is_new(kind, a.pc, ended ? nullptr : b.pc)) return;
    running.thread = a.index;
    unsigned there = 0;
    for (unsigned i = 0; i < block.count; ++i) there += block.threads[i].state == AT_BARRIER;
    Json& json = fault(kind, a.pc);
    json.number("waiting", there).number("ended", block.count - block.live);
    json.open("other").triple("thread", b.index).code("pc", ended ? nullptr : b.pc);
    json.word("access", ended ? "ended" : b.state == AT_BARRIER ? "barrier" : "warp").close().send();
}

unsigned first_in(ThreadState state, unsigned from = 0) {
    while (from < block.count && block.threads[from].state != state) ++from;
    return from;
}

void look_for_divergence() {
    unsigned first = first_in(AT_BARRIER);
    if (block.live < block.count) tell_divergence("barrier_ended", first, first_in(DONE), true);
    for (unsigned i = first + 1; i < block.count; ++i) {
        const Thread& t = block.threads[i];
        if (t.state != AT_BARRIER || t.line == block.threads[first].line) continue;
        return tell_divergence("barrier_divergent", first, i, false);
    }
}

// All threads that are still alive have come: the next interval begins.
void release_barrier() {
    look_for_divergence();
    unsigned going[MAX_THREADS], n = 0;
    int sum = 0;
    for (unsigned i = 0; i < block.count; ++i) {
        if (block.threads[i].state != AT_BARRIER) continue;
        going[n++] = i;
        sum += block.threads[i].predicate;
    }
    block.barrier_count = sum;
    block.at_barrier = 0;
    ++interval;
    shuffle(going, n);
    for (unsigned i = 0; i < n; ++i) {
        Thread& t = block.threads[going[i]];
        t.result = (unsigned long long)sum << 32 | n;
        make_ready(going[i]);
    }
}

// The number of threads that came, and how many of them with a predicate that is true.
unsigned long long barrier(int predicate, int line, const void* pc) {
    Thread& me = block.threads[running_thread];
    if (!in_kernel) return 0;
    me.predicate = predicate != 0;
    me.line = line;
    ++block.at_barrier;
    wait_here(AT_BARRIER, pc);
    return me.result;
}

// ------------------------------------------------------------------ warps

const int SYNC = 100, BALLOT = 101, MATCH = 102, REDUCE = 200;

unsigned lane_of(unsigned thread) { return thread % 32; }

// The lanes of a warp that have not ended.
unsigned alive_in_warp(unsigned warp) {
    unsigned alive = 0;
    for (unsigned lane = 0; lane < 32 && warp * 32 + lane < block.count; ++lane)
        if (block.threads[warp * 32 + lane].state != DONE) alive |= 1u << lane;
    return alive;
}

// The first lane that this one still waits for, or 32.
unsigned missing_lane(unsigned number) {
    const Thread& me = block.threads[number];
    unsigned warp = number / 32, expected = me.mask & alive_in_warp(warp);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(expected >> lane & 1)) continue;
        const Thread& t = block.threads[warp * 32 + lane];
        if (t.state != AT_WARP || t.operation != me.operation || t.mask != me.mask) return lane;
    }
    return 32;
}

unsigned long long reduced(const Thread* warp, unsigned group, cuda_cpu::Reduce how) {
    unsigned total = 0;
    bool first = true;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(group >> lane & 1)) continue;
        unsigned v = (unsigned)warp[lane].value;
        if (first) total = v;
        else switch (how) {
            case cuda_cpu::ADD_I: case cuda_cpu::ADD_U: total += v; break;
            case cuda_cpu::MIN_I: if ((int)v < (int)total) total = v; break;
            case cuda_cpu::MAX_I: if ((int)v > (int)total) total = v; break;
            case cuda_cpu::MIN_U: if (v < total) total = v; break;
            case cuda_cpu::MAX_U: if (v > total) total = v; break;
            case cuda_cpu::AND: total &= v; break;
            case cuda_cpu::OR: total |= v; break;
            case cuda_cpu::XOR_BITS: total ^= v; break;
        }
        first = false;
    }
    return total;
}

// The lane that a shuffle reads from. `peers` holds its argument and, above, the width.
unsigned source_lane(unsigned lane, const Thread& t) {
    int argument = (int)(t.result & 0xffffffff), width = (int)(t.result >> 32);
    int begin = (int)lane / width * width, end = begin + width, from = (int)lane;
    switch (t.operation) {
        case cuda_cpu::INDEX: return (unsigned)(begin + (argument & (width - 1)));
        case cuda_cpu::UP: from -= argument; break;
        case cuda_cpu::DOWN: from += argument; break;
        case cuda_cpu::XOR: from ^= argument; break;
    }
    if (t.operation == cuda_cpu::UP) return from < begin ? lane : (unsigned)from;
    return from >= end || from < 0 ? lane : (unsigned)from;
}

void tell_missing_source(unsigned number, unsigned source) {
    const Thread& t = block.threads[number];
    if (!is_new("warp_lane_missing", t.pc)) return;
    running.thread = t.index;
    fault("warp_lane_missing", t.pc).number("lane", lane_of(number)).number("source", source)
        .number("mask", t.mask).send();
}

// Gives each lane of a complete group its result, and lets it go on.
void complete_group(unsigned number) {
    unsigned warp = number / 32;
    Thread* lanes = &block.threads[warp * 32];
    const Thread& me = block.threads[number];
    int operation = me.operation;
    unsigned group = me.mask & alive_in_warp(warp), ballot = 0, epoch = 0;
    unsigned long long results[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(group >> lane & 1)) continue;
        if (lanes[lane].value) ballot |= 1u << lane;
        if (lanes[lane].epoch > epoch) epoch = lanes[lane].epoch;
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(group >> lane & 1)) continue;
        Thread& t = lanes[lane];
        if (operation == BALLOT) results[lane] = ballot;
        else if (operation >= REDUCE) results[lane] = reduced(lanes, group, (cuda_cpu::Reduce)(operation - REDUCE));
        else if (operation == MATCH) {
            results[lane] = 0;
            for (unsigned other = 0; other < 32; ++other)
                if (group >> other & 1 && lanes[other].value == t.value) results[lane] |= 1u << other;
        } else if (operation != SYNC) {
            unsigned source = source_lane(lane, t);
            bool there = group >> source & 1;
            if (!there) tell_missing_source(warp * 32 + lane, source);
            results[lane] = there ? lanes[source].value : 0x7fbadbad7fbadbadull;
        }
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(group >> lane & 1)) continue;
        lanes[lane].result = results[lane];
        if (operation == SYNC) lanes[lane].epoch = (uint16_t)(epoch + 1);
        if (warp * 32 + lane != number) make_ready(warp * 32 + lane);
    }
}

unsigned long long in_warp(unsigned mask, int operation, unsigned long long value,
                           unsigned long long argument, const void* pc) {
    if (!in_kernel) return 0;
    unsigned number = running_thread;
    Thread& me = block.threads[number];
    if (!(mask >> lane_of(number) & 1)) {
        if (is_new("warp_mask", pc))
            fault("warp_mask", pc).number("lane", lane_of(number)).number("mask", mask).send();
        mask |= 1u << lane_of(number);
    }
    me.mask = mask, me.operation = operation, me.value = value, me.result = argument;
    me.state = AT_WARP, me.pc = pc;
    if (missing_lane(number) < 32) {
        wait_here(AT_WARP, pc);
    } else {
        settle_pending();
        complete_group(number);
        me.state = READY;
        set_stamp(me, number);
    }
    return me.result;
}

// Nobody can run. Lanes may wait for others that have ended meanwhile: those may go on. Else the
// lanes wait for somebody who waits elsewhere, for ever.
bool resolve_standstill() {
    for (unsigned i = first_in(AT_WARP); i < block.count; i = first_in(AT_WARP, i + 1)) {
        if (missing_lane(i) < 32) continue;
        complete_group(i);
        make_ready(i);
        return true;
    }
    unsigned waits = first_in(AT_WARP);
    unsigned other = waits / 32 * 32 + missing_lane(waits);
    tell_divergence("warp_divergent", waits, other, false);
    return false;
}

// A thread that spins on memory waits for another: let that one run.
void breathe(const void* pc) {
    if (++atomics_in_a_row < 64) return;
    atomics_in_a_row = 0;
    wait_here(READY, pc);
}

}  // namespace

#define PC __builtin_return_address(0)

namespace cuda_cpu {
void atomic(void* address, unsigned bytes, void* pc);  // hooks.h

unsigned long long exchange(unsigned mask, unsigned long long value, int from, int width,
                            Exchange how) {
    unsigned long long argument = (unsigned)from | (unsigned long long)(unsigned)width << 32;
    return in_warp(mask, how, value, argument, PC);
}
unsigned match_any(unsigned mask, unsigned long long value) {
    return (unsigned)in_warp(mask, MATCH, value, 0, PC);
}
unsigned reduce(unsigned mask, unsigned value, Reduce how) {
    return (unsigned)in_warp(mask, REDUCE + how, value, 0, PC);
}
}  // namespace cuda_cpu

extern "C" {
void __syncthreads(int line) { barrier(0, line, PC); }
int __syncthreads_count(int predicate, int line) {
    return (int)(barrier(predicate, line, PC) >> 32);
}
int __syncthreads_or(int predicate, int line) { return barrier(predicate, line, PC) >> 32 != 0; }
int __syncthreads_and(int predicate, int line) {
    unsigned long long both = barrier(predicate, line, PC);
    return both >> 32 == (both & 0xffffffff);
}
void __syncwarp(unsigned mask) { in_warp(mask, SYNC, 0, 0, PC); }
unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)in_warp(mask, BALLOT, predicate != 0, 0, PC);
}
int __any_sync(unsigned mask, int predicate) {
    return in_warp(mask, BALLOT, predicate != 0, 0, PC) != 0;
}
int __all_sync(unsigned mask, int predicate) {
    return in_warp(mask, BALLOT, predicate == 0, 0, PC) == 0;
}
unsigned __activemask() { return alive_in_warp(running_thread / 32); }
void __threadfence() { block_fenced = true; }
void __threadfence_block() {}
void __threadfence_system() { block_fenced = true; }
void __nanosleep(unsigned) { if (in_kernel) wait_here(READY, PC); }
long long clock64() { return (long long)(now() * 1.4e9); }
void __trap() {
    if (in_kernel && is_new("trap", PC)) fault("trap", PC).send();
    if (in_kernel) stop_kernel(cudaErrorLaunchFailure);
    abort();
}
}
