// Device memory: one reserved range of addresses, closed to the host, where each allocation
// stands alone among unmapped pages. Addresses are never used twice.
#pragma once

namespace {

enum Space { NOTHING, DEVICE, SHARED, PINNED, MANAGED, SYMBOL };
const char* const space_names[] = {"nothing", "global", "shared", "pinned", "managed", "symbol"};
enum State { EMPTY, LIVE, FREED };

// Who last wrote a word and which two threads last read it (see check.h).
struct Cell {
    uint64_t write, read1, read2;
    uint32_t write_pc, read1_pc, read2_pc, unused;
};

struct Allocation {
    uintptr_t begin;
    size_t bytes;
    Space space;
    State state;
    unsigned id;
    const void *pc, *freed_pc;
    const char* name;
    uint8_t* initialised;  // four bits a word; null: all of it is
    Cell* cells;           // null: races are not looked for
    size_t mapped;
};

const size_t GRANULE = 64 * 1024, PAGE = 4096;
const size_t SHARED_WINDOW = 64ul << 20;  // the first addresses: shared variables of a block
const unsigned SHARED_SLOTS = 128, MAX_ALLOCATIONS = 1 << 20;
const size_t POISONED = 4ul << 20;       // at the beginning of each allocation
const size_t MOST_CELLS = 400ul << 20;   // bytes; races are looked for in what has cells

uintptr_t arena;
size_t arena_bytes;
uint32_t* granules;  // of each granule, the index of the allocation that owns it, or 0
Allocation* allocations;
unsigned allocation_count = SHARED_SLOTS + 1;  // 0 is nothing, then the shared slots
size_t next_address = SHARED_WINDOW, device_used, cells_used;
bool device_open;

void* reserve(size_t bytes, int protection) {
    // Shared mappings: RLIMIT_DATA then counts what the host code allocates, and only that.
    int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    void* p = mmap(nullptr, bytes, protection, flags, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

void open_arena() {
    for (arena_bytes = 1ul << 38; arena_bytes >= 1ul << 30; arena_bytes /= 2)
        if ((arena = (uintptr_t)reserve(arena_bytes, PROT_NONE))) break;
    granules = (uint32_t*)reserve(arena_bytes / GRANULE * sizeof *granules, PROT_READ | PROT_WRITE);
    allocations = (Allocation*)reserve(MAX_ALLOCATIONS * sizeof *allocations,
                                       PROT_READ | PROT_WRITE);
    if (arena && granules && allocations) return;
    fprintf(stderr, "CUDA on the CPU needs 1 GiB of addresses, and this machine gives none.\n");
    _exit(97);
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// A pattern that is no number: a float NaN, and an integer that nobody expects.
void poison(void* p, size_t bytes) {
    const uint32_t pattern = 0x7fbadbad;
    uint32_t* words = (uint32_t*)p;
    for (size_t i = 0; i < bytes / 4; ++i) words[i] = pattern;
    memset((char*)p + bytes / 4 * 4, 0xad, bytes % 4);
}

void protect(const Allocation& a, bool open) {
    mprotect((void*)a.begin, a.mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// While kernels and copies run, device memory is open; while host code runs it is closed.
void open_device(bool open) {
    if (open == device_open) return;
    device_open = open;
    for (unsigned i = SHARED_SLOTS + 1; i < allocation_count; ++i) {
        const Allocation& a = allocations[i];
        if (a.state == LIVE && a.space == DEVICE) protect(a, open);
    }
}

void add_shadow(Allocation& a) {
    size_t words = a.bytes / 4 + 2;
    int both = PROT_READ | PROT_WRITE;
    if (a.space == DEVICE || a.space == SHARED) a.initialised = (uint8_t*)reserve(words, both);
    size_t cells = words * sizeof(Cell);
    if (a.space != SHARED && cells_used + cells > MOST_CELLS) return;
    a.cells = (Cell*)reserve(cells, both);
    if (a.cells) cells_used += cells;
}

void claim_granules(const Allocation& a, unsigned index) {
    size_t first = (a.begin - arena) / GRANULE;
    for (size_t i = 0; i < round_up(a.bytes, GRANULE) / GRANULE; ++i) granules[first + i] = index;
}

Allocation* allocate(size_t bytes, Space space, const void* pc) {
    if (space != PINNED && bytes > config.memory - device_used) return nullptr;
    // A granule of nothing before and after each, and further away the larger it is.
    size_t room = round_up(bytes, GRANULE) + GRANULE + round_up(bytes / 8, GRANULE);
    if (bytes > arena_bytes || next_address + room > arena_bytes) return nullptr;
    if (allocation_count == MAX_ALLOCATIONS) return nullptr;
    next_address += GRANULE;
    unsigned index = allocation_count++;
    Allocation& a = allocations[index];
    a = Allocation{arena + next_address, bytes, space, LIVE, index - SHARED_SLOTS, pc, nullptr,
                   nullptr, nullptr, nullptr, round_up(bytes, PAGE)};
    next_address += room - GRANULE;
    claim_granules(a, index);
    add_shadow(a);
    protect(a, true);
    if (space != MANAGED) poison((void*)a.begin, std::min(bytes, POISONED));
    if (space == DEVICE && !device_open) protect(a, false);
    if (space != PINNED) device_used += bytes;
    return &a;
}

void release(Allocation& a, const void* pc) {
    a.state = FREED;
    a.freed_pc = pc;
    if (a.space != PINNED) device_used -= a.bytes;
    protect(a, false);
    madvise((void*)a.begin, a.mapped, MADV_REMOVE);
    size_t words = a.bytes / 4 + 2;
    if (a.initialised) munmap(a.initialised, words);
    if (a.cells) munmap(a.cells, words * sizeof(Cell)), cells_used -= words * sizeof(Cell);
    a.initialised = nullptr;
    a.cells = nullptr;
}

bool in_arena(const void* p) { return (uintptr_t)p - arena < arena_bytes; }

// The allocation whose granule this address is in; index 0, nothing, has no bytes.
Allocation& owner(uintptr_t offset) { return allocations[granules[offset / GRANULE]]; }

Allocation* find(const void* p) {
    if (!in_arena(p)) return nullptr;
    Allocation& a = owner((uintptr_t)p - arena);
    return a.space != NOTHING && (uintptr_t)p - a.begin < a.bytes ? &a : nullptr;
}

// For an address that belongs to nobody: the allocation whose edge is nearest, or null.
Allocation* nearest(uintptr_t address) {
    size_t at = (address - arena) / GRANULE, last = arena_bytes / GRANULE;
    for (size_t far = 0; far < 4096; ++far) {
        if (far <= at && granules[at - far]) return &allocations[granules[at - far]];
        if (at + far < last && granules[at + far]) return &allocations[granules[at + far]];
    }
    return nullptr;
}

void mark_initialised(Allocation& a, size_t offset, size_t bytes) {
    if (!a.initialised || !bytes) return;
    size_t first = offset / 4, last = (offset + bytes) / 4;
    unsigned from = 0xfu << offset % 4 & 0xf, until = 0xfu >> (4 - (offset + bytes) % 4);
    if (first == last) {
        a.initialised[first] |= from & until;
        return;
    }
    a.initialised[first] |= from;
    memset(a.initialised + first + 1, 0xf, last - first - 1);
    if (until) a.initialised[last] |= until;
}

// The first byte of a range that nobody has written, or -1.
long long first_uninitialised(const Allocation& a, size_t offset, size_t bytes) {
    if (!a.initialised) return -1;
    for (size_t i = offset; i < offset + bytes;) {
        if (i % 4 == 0 && a.initialised[i / 4] == 0xf) {
            i += 4;
            continue;
        }
        if (!(a.initialised[i / 4] >> i % 4 & 1)) return (long long)i;
        ++i;
    }
    return -1;
}

// __device__, __constant__ and __managed__ variables.
const cuda_cpu::Symbol* symbols;
uintptr_t symbols_begin = ~(uintptr_t)0, symbols_end;

const cuda_cpu::Symbol* find_symbol(const void* p) {
    if ((uintptr_t)p - symbols_begin >= symbols_end - symbols_begin) return nullptr;
    for (const cuda_cpu::Symbol* s = symbols; s; s = s->next)
        if ((uintptr_t)p - (uintptr_t)s->address < s->bytes) return s;
    return nullptr;
}

}  // namespace

cuda_cpu::Symbol::Symbol(const void* address, size_t bytes, const char* name, int line,
                         bool managed, bool constant)
    : address(address), bytes(bytes), name(name), line(line), managed(managed), constant(constant),
      next(symbols) {
    symbols = this;
    if ((uintptr_t)address < symbols_begin) symbols_begin = (uintptr_t)address;
    if ((uintptr_t)address + bytes > symbols_end) symbols_end = (uintptr_t)address + bytes;
}
