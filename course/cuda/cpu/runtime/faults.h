// What a program did wrong, told once for each place in the code, and counted after that.
#pragma once

namespace {

// What runs now. Host code when `in_kernel` is false.
struct Running {
    const cuda_cpu::Kernel* kernel;
    unsigned operation;
    uint3 block, thread;
} running;
__thread bool in_kernel;
const void* call_pc;  // the API call that the host is in
const void* last_pc;  // the last memory access of a kernel

struct Seen {
    const char* kind;
    const void *pc, *other;
    const cuda_cpu::Kernel* kernel;
    unsigned long count;
};
Seen seen[256];
unsigned seen_count;

// Whether this fault is new; counts it in any case.
bool is_new(const char* kind, const void* pc, const void* other = nullptr) {
    const cuda_cpu::Kernel* kernel = in_kernel ? running.kernel : nullptr;
    for (unsigned i = 0; i < seen_count; ++i) {
        Seen& s = seen[i];
        if (s.kind == kind && s.pc == pc && s.other == other && s.kernel == kernel)
            return ++s.count, false;
    }
    if (seen_count == sizeof seen / sizeof *seen) return false;
    seen[seen_count++] = Seen{kind, pc, other, kernel, 1};
    return true;
}

Json& fault(const char* kind, const void* pc) {
    Json& json = event("fault").word("kind", kind).number("id", seen_count - 1).code("pc", pc);
    if (!in_kernel) return json;
    return json.word("kernel", running.kernel->name)
        .number("operation", running.operation)
        .triple("block", running.block)
        .triple("thread", running.thread);
}

void tell_counts() {
    for (unsigned i = 0; i < seen_count; ++i)
        if (seen[i].count > 1) event("repeated").number("id", i).number("count", (long long)seen[i].count).send();
}

void describe(Json& json, const Allocation& a, uintptr_t address) {
    json.open("memory").word("space", space_names[a.space]).number("id", a.id);
    json.number("bytes", (long long)a.bytes).number("offset", (long long)(address - a.begin));
    json.code("pc", a.pc).code("freed_pc", a.freed_pc);
    if (a.name) json.word("name", a.name);
    json.close();
}

void describe(Json& json, const cuda_cpu::Symbol& s, uintptr_t address) {
    json.open("memory").word("space", "symbol").word("name", s.name).number("line", s.line);
    json.number("bytes", (long long)s.bytes);
    json.number("offset", (long long)(address - (uintptr_t)s.address)).close();
}

void describe_access(Json& json, const void* p, size_t bytes, const char* how) {
    char address[32];
    snprintf(address, sizeof address, "0x%lx", (unsigned long)(uintptr_t)p);
    json.word("access", how).number("size", (long long)bytes).word("address", address);
}

// Whether the process has any memory at this address.
bool is_mapped(const void* p) {
    unsigned char in_core;
    return mincore((void*)((uintptr_t)p / PAGE * PAGE), 1, &in_core) == 0;
}

[[noreturn]] void stop_kernel(cudaError_t error);  // threads.h

// An access outside of everything that its code may touch. Ends the kernel.
void bad_access(const void* p, size_t bytes, const char* how, const void* pc) {
    uintptr_t address = (uintptr_t)p;
    Allocation* a = in_arena(p) ? nearest(address) : nullptr;
    // An unsigned index below 0 is 2^32 elements too far.
    uintptr_t far = (uintptr_t)bytes << 32;
    if (!a && in_arena(p) && address - arena > far) a = nearest(address - far);
    const char* kind = "wild_pointer";
    if (a && a->state == FREED && address - a->begin < a->bytes) kind = "use_after_free";
    else if (a && address - a->begin < a->bytes && address - a->begin + bytes <= a->bytes)
        kind = "misaligned";
    else if (a) kind = "out_of_bounds";
    else if (address < 1ul << 20 || -address < 1ul << 20) kind = "null_pointer";
    else if (in_kernel && !in_arena(p) && is_mapped(p)) kind = "host_memory";
    const cuda_cpu::Symbol* s = find_symbol(p);
    if (s) kind = address + bytes > (uintptr_t)s->address + s->bytes ? "out_of_bounds" : "write_to_constant";
    if (is_new(kind, pc)) {
        Json& json = fault(kind, pc);
        describe_access(json, p, bytes, how);
        if (a) describe(json, *a, address);
        if (s) describe(json, *s, address);
        json.send();
    }
    if (in_kernel) stop_kernel(!strcmp(kind, "misaligned") ? cudaErrorMisalignedAddress
                                                           : cudaErrorIllegalAddress);
}

}  // namespace
