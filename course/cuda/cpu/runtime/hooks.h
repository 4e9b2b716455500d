// What g++ calls before each memory access (-fsanitize=thread) and at each index out of range or
// overflow (-fsanitize=bounds,signed-integer-overflow). libtsan and libubsan are not linked:
// these are ours.
#pragma once

namespace {

void host_touches_device(const void* p, size_t bytes, const char* how, const void* pc) {
    Allocation* a = nearest((uintptr_t)p);
    if (!is_new("host_touches_device", pc)) return;
    Json& json = fault("host_touches_device", pc);
    describe_access(json, p, bytes, how);
    if (a) describe(json, *a, (uintptr_t)p);
    json.send();
}

bool overlap(const void* a, size_t n, const void* b, size_t m) {
    return (uintptr_t)a < (uintptr_t)b + m && (uintptr_t)b < (uintptr_t)a + n;
}

// Pinned and managed memory is the host's as well, but not while the device has work on it.
void check_not_in_use(const Allocation& a, const void* p, size_t bytes, bool write, const void* pc) {
    for (auto& entry : pending_operations) {
        Operation& op = entry.second;
        const char* kind = nullptr;
        if (op.kind == LAUNCH && a.space == MANAGED) kind = "managed_in_use";
        if (op.kind == COPY && overlap(p, bytes, op.to, op.bytes)) kind = "read_before_ready";
        if (op.kind == COPY && write && overlap(p, bytes, op.from, op.bytes) && op.staged.empty())
            kind = "changed_before_copied";
        if (!kind || !is_new(kind, pc)) continue;
        Json& json = fault(kind, pc);
        describe_access(json, p, bytes, write ? "write" : "read");
        describe(json, a, (uintptr_t)p);
        json.open("other").number("operation", op.id).code("pc", op.pc).close().send();
        return;
    }
}

void host_access(const void* p, size_t bytes, bool write, const void* pc) {
    Allocation* a = find(p);
    if (a && a->state == LIVE && (a->space == PINNED || a->space == MANAGED)) {
        if (!pending_operations.empty()) check_not_in_use(*a, p, bytes, write, pc);
        if (write && a->initialised) mark_initialised(*a, (uintptr_t)p - a->begin, bytes);
        return;
    }
    if (a && a->state == LIVE) return host_touches_device(p, bytes, write ? "write" : "read", pc);
    bad_access(p, bytes, write ? "write" : "read", pc);
}

void host_touches_symbol(const void* p, size_t bytes, bool write, const void* pc) {
    const cuda_cpu::Symbol* s = find_symbol(p);
    if (!s || s->managed || !is_new("host_touches_device", pc)) return;
    Json& json = fault("host_touches_device", pc);
    describe_access(json, p, bytes, write ? "write" : "read");
    describe(json, *s, (uintptr_t)p);
    json.send();
}

uintptr_t constants_begin[4], constants_end[4];  // what the program's image has that none can write
unsigned constants_count;

// A kernel's access outside of device memory and outside of its stack.
void foreign_access(const void* p, size_t bytes, const char* how, const void* pc) {
    if (const cuda_cpu::Symbol* s = find_symbol(p)) {
        bool inside = (uintptr_t)p + bytes <= (uintptr_t)s->address + s->bytes;
        if (inside && (how[0] == 'r' || !s->constant)) return;
    }
    for (unsigned i = 0; i < constants_count && how[0] == 'r'; ++i)
        if ((uintptr_t)p - constants_begin[i] < constants_end[i] - constants_begin[i]) return;
    bad_access(p, bytes, how, pc);
}

template <How how> inline void access(const void* p, size_t bytes, const void* pc) {
    if ((uintptr_t)p - arena < arena_bytes) {
        if (__builtin_expect(in_kernel, 1)) check<how>(p, bytes, pc);
        else host_access(p, bytes, how != READ, pc);
    } else if (in_kernel) {
        if ((uintptr_t)p - stacks >= stacks_bytes)
            foreign_access(p, bytes, how == READ ? "read" : how == WRITE ? "write" : "atomic", pc);
    } else if ((uintptr_t)p - symbols_begin < symbols_end - symbols_begin) {
        host_touches_symbol(p, bytes, how != READ, pc);
    }
}

}  // namespace

void cuda_cpu::atomic(void* address, unsigned bytes, void* pc) {
    access<ATOMIC>(address, bytes, pc);
    if (in_kernel) breathe(pc);
}

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, unsigned long n) { if (n) access<READ>(p, n, PC); }
void __tsan_write_range(void* p, unsigned long n) { if (n) access<WRITE>(p, n, PC); }

#define HOOKS(N)                                                                     \
    void __tsan_read##N(void* p) { access<READ>(p, N, PC); }                         \
    void __tsan_write##N(void* p) { access<WRITE>(p, N, PC); }                       \
    void __tsan_unaligned_read##N(void* p) { access<READ>(p, N, PC); }               \
    void __tsan_unaligned_write##N(void* p) { access<WRITE>(p, N, PC); }             \
    void __tsan_volatile_read##N(void* p) {                                          \
        access<READ>(p, N, PC);                                                      \
        if (in_kernel) breathe(PC);                                                  \
    }                                                                                \
    void __tsan_volatile_write##N(void* p) { access<WRITE>(p, N, PC); }              \
    void __tsan_unaligned_volatile_read##N(void* p) { access<READ>(p, N, PC); }      \
    void __tsan_unaligned_volatile_write##N(void* p) { access<WRITE>(p, N, PC); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
#undef HOOKS

// The host's own atomics (std::atomic, std::shared_ptr) come as calls, too.
#define ATOMICS(BITS, T)                                                                      \
    T __tsan_atomic##BITS##_load(const volatile T* p, int) { return __atomic_load_n(p, 5); }  \
    void __tsan_atomic##BITS##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, 5); }  \
    T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) { return __atomic_exchange_n(p, v, 5); } \
    T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) { return __atomic_fetch_add(p, v, 5); } \
    T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int) { return __atomic_fetch_sub(p, v, 5); } \
    T __tsan_atomic##BITS##_fetch_and(volatile T* p, T v, int) { return __atomic_fetch_and(p, v, 5); } \
    T __tsan_atomic##BITS##_fetch_or(volatile T* p, T v, int) { return __atomic_fetch_or(p, v, 5); }   \
    T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T v, int) { return __atomic_fetch_xor(p, v, 5); } \
    T __tsan_atomic##BITS##_fetch_nand(volatile T* p, T v, int) { return __atomic_fetch_nand(p, v, 5); } \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {   \
        return __atomic_compare_exchange_n(p, e, v, false, 5, 5);                             \
    }                                                                                         \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* e, T v, int, int) {     \
        return __atomic_compare_exchange_n(p, e, v, true, 5, 5);                              \
    }                                                                                         \
    T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T e, T v, int, int) {         \
        __atomic_compare_exchange_n(p, &e, v, false, 5, 5);                                   \
        return e;                                                                             \
    }
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long)
#undef ATOMICS
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(5); }
void __tsan_atomic_signal_fence(int) {}

// The descriptions that g++ hands over begin with the place in the source.
struct SourcePlace { const char* file; unsigned line, column; };
struct TypeName { unsigned short kind, info; char name[1]; };
struct OutOfBounds { SourcePlace place; const TypeName *array, *index; };
struct Overflow { SourcePlace place; const TypeName* type; };

static long long as_number(const TypeName* type, unsigned long value) {
    unsigned bits = 1u << (type->info >> 1);
    if (bits > 64) return *(const long long*)value;
    if (!(type->info & 1)) return (long long)(bits == 64 ? value : value & ((1ul << bits) - 1));
    return (long long)(value << (64 - bits)) >> (64 - bits);
}

static Json& at_place(Json& json, const SourcePlace& place) {
    return json.place(place.file, (int)place.line).number("column", place.column);
}

void __ubsan_handle_out_of_bounds(OutOfBounds* data, unsigned long index) {
    if (!is_new("index_out_of_range", data)) return;
    at_place(fault("index_out_of_range", nullptr), data->place).number("index", as_number(data->index, index))
        .word("type", data->array->name).send();
}
static void overflow(Overflow* data, const char* sign, unsigned long a, unsigned long b) {
    if (!is_new("integer_overflow", data)) return;
    at_place(fault("integer_overflow", nullptr), data->place).number("left", as_number(data->type, a))
        .word("operator", sign).number("right", as_number(data->type, b))
        .word("type", data->type->name).send();
}
void __ubsan_handle_add_overflow(Overflow* d, unsigned long a, unsigned long b) { overflow(d, "+", a, b); }
void __ubsan_handle_sub_overflow(Overflow* d, unsigned long a, unsigned long b) { overflow(d, "-", a, b); }
void __ubsan_handle_mul_overflow(Overflow* d, unsigned long a, unsigned long b) { overflow(d, "*", a, b); }
void __ubsan_handle_divrem_overflow(Overflow* d, unsigned long a, unsigned long b) { overflow(d, "/", a, b); }
void __ubsan_handle_negate_overflow(Overflow* d, unsigned long a) { overflow(d, "-", 0, a); }
}
