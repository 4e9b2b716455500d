// Each memory access of a kernel: is it inside, has somebody written there, is it a race?
//
// Races are found by what was accessed, not by how it turned out. Time is cut into intervals: one
// for each stretch of a block between two barriers. Two accesses of a word by two threads in one
// interval, or by two blocks of one launch, are in no order; one write among them is a race.
// Synchronising a warp (its "epoch") orders the accesses of its lanes within an interval.
#pragma once

namespace {

// Interval << 27 | warp epoch << 15 | thread << 5 | atomic << 4 | bytes of the word.
uint64_t stamp;         // of the thread that runs now, without the last five bits
uint64_t interval = 1;  // of the block that runs now
uint64_t block_first, launch_first;
bool block_fenced;  // __threadfence was called: blocks may hand over data through atomics

struct Span {  // the intervals of an operation that is in no order with the one that runs now
    uint64_t first, last;
    unsigned operation;
};
const unsigned MAX_SPANS = 64;
Span unordered[MAX_SPANS];
unsigned unordered_count;

struct Touch {
    uint32_t operation, block;
    uint32_t allocation, thread;
    uint64_t offset;
    uint16_t bytes, write;  // 0 for a read, 1 for a write, 2 for an atomic update
    uint32_t unused;
};
Touch* touches;
unsigned long touch_count;

unsigned thread_of(uint64_t cell) { return cell >> 5 & 1023; }
uint3 index_of(unsigned thread);      // threads.h
long long block_of(uint64_t interval);  // grid.h

enum Order { ORDERED, WITHIN_BLOCK, BETWEEN_BLOCKS, BETWEEN_OPERATIONS };

// How an earlier access stands to one by the running thread.
Order order_after(uint64_t cell, const Allocation& a) {
    uint64_t then = cell >> 27;
    if (then == interval) {
        unsigned other = thread_of(cell), mine = thread_of(stamp);
        if (other == mine) return ORDERED;
        bool same_warp = other / 32 == mine / 32;
        return same_warp && (cell ^ stamp) >> 15 & 0xfff ? ORDERED : WITHIN_BLOCK;
    }
    if (then >= block_first || !cell || a.space == SHARED) return ORDERED;
    if (then >= launch_first) return block_fenced ? ORDERED : BETWEEN_BLOCKS;
    for (unsigned i = 0; i < unordered_count; ++i)
        if (then >= unordered[i].first && then <= unordered[i].last) return BETWEEN_OPERATIONS;
    return ORDERED;
}

// Writing what is there already harms nobody: a race of two writes is told when the second value
// is known to differ, that is at the next access.
struct Pending {
    bool set;
    const void* address;
    unsigned bytes;
    unsigned char old[16];
    Json json;
} pending;

void settle_pending() {
    if (!pending.set) return;
    pending.set = false;
    if (memcmp(pending.address, pending.old, pending.bytes)) pending.json.send();
}

void tell_race(Order order, const Allocation& a, uint64_t earlier, uint32_t earlier_pc,
               const char* earlier_how, const void* p, unsigned bytes, const char* how,
               const void* pc) {
    static const char* const kinds[] = {"", "race", "race_between_blocks", "race_between_streams"};
    const void* other_pc = (const void*)(image_base + earlier_pc);
    if (!is_new(kinds[order], pc, other_pc)) return;
    Json& json = fault(kinds[order], pc);
    describe_access(json, p, bytes, how);
    describe(json, a, (uintptr_t)p);
    json.open("other").word("access", earlier_how).number("pc", earlier_pc);
    if (order != BETWEEN_OPERATIONS) json.triple("thread", index_of(thread_of(earlier)));
    if (order == BETWEEN_BLOCKS) json.number("block", block_of(earlier >> 27));
    for (unsigned i = 0; order == BETWEEN_OPERATIONS && i < unordered_count; ++i)
        if (earlier >> 27 >= unordered[i].first && earlier >> 27 <= unordered[i].last)
            json.number("operation", unordered[i].operation);
    json.close();
    bool both_write = how[0] == 'w' && earlier_how[0] == 'w';
    if (!both_write || bytes > sizeof pending.old) return json.send();
    pending.set = true;
    pending.address = p;
    pending.bytes = bytes;
    memcpy(pending.old, p, bytes);
    pending.json = json;
}

inline void check_read(Allocation& a, Cell& c, uint64_t me, uint32_t pc32, const void* p,
                       unsigned bytes, const void* pc) {
    if ((c.write ^ stamp) >> 5 && c.write & me & 15) {
        Order order = order_after(c.write, a);
        if (order) tell_race(order, a, c.write, c.write_pc, c.write & 16 ? "atomic" : "write", p,
                             bytes, "read", pc);
    }
    if (!((c.read1 ^ me) >> 5)) {
        c.read1 |= me;
    } else if (!c.read1 || !order_after(c.read1, a)) {
        c.read1 = me, c.read1_pc = pc32;
        if (c.read2 && !order_after(c.read2, a)) c.read2 = 0;
    } else {
        c.read2 = me, c.read2_pc = pc32;
    }
}

inline void check_write(Allocation& a, Cell& c, uint64_t me, uint32_t pc32, const void* p,
                        unsigned bytes, const void* pc, bool atomic) {
    const char* how = atomic ? "atomic" : "write";
    if ((c.write ^ stamp) >> 5 && c.write & me & 15 && !(atomic && c.write & 16)) {
        Order order = order_after(c.write, a);
        if (order) tell_race(order, a, c.write, c.write_pc, c.write & 16 ? "atomic" : "write", p,
                             bytes, how, pc);
    }
    if (c.read1 && (c.read1 ^ stamp) >> 5 && c.read1 & me & 15) {
        Order order = order_after(c.read1, a);
        if (order) tell_race(order, a, c.read1, c.read1_pc, "read", p, bytes, how, pc);
    }
    if (c.read2 && (c.read2 ^ stamp) >> 5 && c.read2 & me & 15) {
        Order order = order_after(c.read2, a);
        if (order) tell_race(order, a, c.read2, c.read2_pc, "read", p, bytes, how, pc);
    }
    uint64_t kept = (c.write ^ stamp) >> 5 ? 0 : c.write & 15;
    c.write = me | kept, c.write_pc = pc32;
}

void tell_uninitialised(Allocation& a, const void* p, unsigned bytes, const void* pc) {
    if (!is_new("uninitialised_read", pc)) return;
    Json& json = fault("uninitialised_read", pc);
    describe_access(json, p, bytes, "read");
    describe(json, a, (uintptr_t)p);
    json.send();
}

enum How { READ, WRITE, ATOMIC };

void record_touch(const Allocation& a, size_t offset, size_t bytes, How how) {
    if (touch_count >= config.max_touches) return;
    extern unsigned running_block, running_thread;
    touches[touch_count++] = Touch{running.operation, running_block, a.id, running_thread, offset,
                                   (uint16_t)bytes, (uint16_t)how, a.space};
}

template <How how> __attribute__((noinline)) void check(const void* p, size_t bytes, const void* pc) {
    last_pc = pc;
    if (pending.set) settle_pending();
    uintptr_t at = (uintptr_t)p - arena;
    Allocation& a = owner(at);
    size_t offset = (uintptr_t)p - a.begin;
    bool misaligned = bytes <= 16 && !(bytes & (bytes - 1)) && at & (bytes - 1);
    if (__builtin_expect(offset >= a.bytes || bytes > a.bytes - offset || a.state != LIVE ||
                         misaligned, 0))
        return bad_access(p, bytes, how == READ ? "read" : how == WRITE ? "write" : "atomic", pc);
    if (touches) record_touch(a, offset, bytes, how);
    uint32_t pc32 = (uint32_t)((uintptr_t)pc - image_base);
    size_t first = offset / 4, last = (offset + bytes - 1) / 4;
    for (size_t word = first; word <= last; ++word) {
        unsigned mask = 15;
        if (bytes < 4) mask = ((1u << bytes) - 1) << offset % 4 & 15;
        if (a.initialised) {
            if (how != READ) a.initialised[word] |= mask;
            // Of a part of a word nothing is said: it may be padding between a structure's fields.
            if (how != WRITE && !(a.initialised[word] & mask)) {
                tell_uninitialised(a, p, (unsigned)bytes, pc);
                a.initialised[word] |= mask;
            }
        }
        if (!a.cells) continue;
        uint64_t me = stamp | (how == ATOMIC ? 16 : 0) | mask;
        Cell& c = a.cells[word];
        if (how == READ) check_read(a, c, me, pc32, p, (unsigned)bytes, pc);
        else check_write(a, c, me, pc32, p, (unsigned)bytes, pc, how == ATOMIC);
    }
}

}  // namespace
