// cudaMalloc to cudaMemset: what is asked is checked here, and done at once or queued.
#pragma once

namespace {

unsigned long mallocs, frees, copies, launches, calls;  // counted for injection

bool drawn(const char* what, unsigned long number) {
    return config.inject_number == number && !strcmp(config.inject, what);
}

// The end of each API call: keeps an error for cudaGetLastError, and tells it.
cudaError_t finish(const char* call, const void* pc, cudaError_t error, bool injected = false) {
    if (error && !sticky) last_error = error;
    if (!may_tell(error)) return error;
    Json& json = event("call").word("name", call).code("pc", pc).number("error", error);
    if (injected) json.number("injected", 1);
    json.send();
    return error;
}

// Host threads take turns.
pthread_mutex_t api_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
struct Turn {
    Turn() { pthread_mutex_lock(&api_mutex); }
    ~Turn() { pthread_mutex_unlock(&api_mutex); }
};

// The beginning of each: no kernel may call; a sticky error answers all; one may be drawn to fail.
#define ENTER(call, pc)                                         \
    Turn turn;                                                  \
    call_pc = pc;                                               \
    if (in_kernel) return cudaErrorNotSupported;                \
    if (sticky) return finish(call, pc, sticky);                \
    if (drawn("call", ++calls)) return finish(call, pc, cudaErrorUnknown, true)
#define API(name)                           \
    const char* const this_call = name;     \
    const void* const this_pc = PC;         \
    ENTER(this_call, this_pc)
#define DONE_WITH(error) return finish(this_call, this_pc, error)

cudaError_t new_memory(const char* call, void** pointer, size_t bytes, Space space, const void* pc) {
    ENTER(call, pc);
    if (!pointer) return finish(call, pc, cudaErrorInvalidValue);
    if (drawn("malloc", ++mallocs)) return finish(call, pc, cudaErrorMemoryAllocation, true);
    *pointer = nullptr;
    if (!bytes) return finish(call, pc, cudaSuccess);
    Allocation* a = allocate(bytes, space, pc);
    if (!a) {
        if (is_new("out_of_memory", pc))
            fault("out_of_memory", pc).number("asked", (long long)bytes)
                .number("limit", (long long)(config.memory - device_used)).send();
        return finish(call, pc, cudaErrorMemoryAllocation);
    }
    *pointer = (void*)a->begin;
    if (may_tell()) event("allocation").number("id", a->id).word("space", space_names[space])
        .number("bytes", (long long)bytes).code("pc", pc).send();
    return finish(call, pc, cudaSuccess);
}

Operation operation(Kind kind, const void* pc) {
    Operation op{};
    op.kind = kind;
    op.pc = pc;
    return op;
}

cudaError_t tell_bad_free(const char* kind, const void* pointer, const Allocation* a, const void* pc) {
    if (is_new(kind, pc)) {
        Json& json = fault(kind, pc);
        describe_access(json, pointer, 0, "free");
        if (a) describe(json, *a, (uintptr_t)pointer);
        json.send();
    }
    return cudaErrorInvalidValue;
}

// Frees after all work of the device has run, as CUDA does.
cudaError_t free_memory(const char* call, void* pointer, bool host, const void* pc) {
    ENTER(call, pc);
    if (!pointer) return finish(call, pc, cudaSuccess);
    if (drawn("free", ++frees)) return finish(call, pc, cudaErrorInvalidValue, true);
    wait_for_all();
    if (sticky) return finish(call, pc, sticky);
    Allocation* a = find(pointer);
    if (!a || a->space == SHARED) return finish(call, pc, tell_bad_free("bad_free", pointer, in_arena(pointer) ? nearest((uintptr_t)pointer) : nullptr, pc));
    if (a->state == FREED) return finish(call, pc, tell_bad_free("double_free", pointer, a, pc));
    bool right = a->begin == (uintptr_t)pointer && (a->space == PINNED) == host;
    if (!right) return finish(call, pc, tell_bad_free("bad_free", pointer, a, pc));
    release(*a, pc);
    if (may_tell()) event("freed").number("id", a->id).code("pc", pc).send();
    return finish(call, pc, cudaSuccess);
}

// Whether a range lies in one live allocation, or in none: then it is the host's.
bool range_is_good(const char* role, const void* p, size_t bytes, const void* pc) {
    if (!in_arena(p)) {
        const cuda_cpu::Symbol* s = find_symbol(p);
        return !s || (uintptr_t)p + bytes <= (uintptr_t)s->address + s->bytes;
    }
    Allocation* a = nearest((uintptr_t)p);
    size_t offset = a ? (uintptr_t)p - a->begin : 0;
    if (a && a->state == LIVE && offset <= a->bytes && bytes <= a->bytes - offset) return true;
    const char* kind = a && a->state == FREED ? "copy_after_free" : "copy_out_of_bounds";
    if (!is_new(kind, pc, role)) return false;
    Json& json = fault(kind, pc);
    describe_access(json, p, bytes, role);
    if (a) describe(json, *a, (uintptr_t)p);
    json.send();
    return false;
}

bool is_device(const void* p) {
    Allocation* a = find(p);
    return find_symbol(p) || (a && (a->space == DEVICE || a->space == MANAGED));
}
bool is_host(const void* p) {
    Allocation* a = find(p);
    return !find_symbol(p) && (!a || a->space == PINNED || a->space == MANAGED);
}

bool direction_is_right(const void* to, const void* from, cudaMemcpyKind kind) {
    switch (kind) {
        case cudaMemcpyHostToHost: return is_host(to) && is_host(from);
        case cudaMemcpyHostToDevice: return is_device(to) && is_host(from);
        case cudaMemcpyDeviceToHost: return is_host(to) && is_device(from);
        case cudaMemcpyDeviceToDevice: return is_device(to) && is_device(from);
        case cudaMemcpyDefault: return true;
    }
    return true;
}

cudaError_t check_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const void* pc) {
    if (kind < 0 || kind > 4) return cudaErrorInvalidMemcpyDirection;
    if (!to || !from) return cudaErrorInvalidValue;
    if (!direction_is_right(to, from, kind)) {
        if (is_new("wrong_direction", pc))
            fault("wrong_direction", pc).number("direction", kind).number("to_device", is_device(to))
                .number("from_device", is_device(from)).send();
        return cudaErrorInvalidValue;
    }
    bool good = range_is_good("destination", to, bytes, pc);
    return range_is_good("source", from, bytes, pc) && good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t copy(const char* call, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t handle, bool wait, const void* pc) {
    ENTER(call, pc);
    if (drawn("copy", ++copies)) return finish(call, pc, cudaErrorInvalidValue, true);
    if (!bytes) return finish(call, pc, cudaSuccess);
    Stream* stream = find_stream(handle);
    if (!stream) return finish(call, pc, cudaErrorInvalidResourceHandle);
    cudaError_t error = check_copy(to, from, bytes, kind, pc);
    if (error) return finish(call, pc, error);
    Operation op = operation(COPY, pc);
    op.to = to, op.from = from, op.bytes = bytes, op.direction = kind;
    Allocation *target = find(to), *source = find(from);
    bool from_pageable = !source && !find_symbol(from), to_pageable = !target && !find_symbol(to);
    op.pinned = !from_pageable && !to_pageable;
    // From pageable memory a copy is taken at once; to pageable memory the host waits.
    if (from_pageable && !wait) op.staged.assign((const char*)from, (const char*)from + bytes);
    unsigned id = issue(std::move(op), *stream);
    if (wait || to_pageable) wait_for(id);
    return finish(call, pc, sticky);
}

cudaError_t set(const char* call, void* p, int value, size_t bytes, cudaStream_t handle, const void* pc) {
    ENTER(call, pc);
    if (!bytes) return finish(call, pc, cudaSuccess);
    Stream* stream = find_stream(handle);
    if (!stream) return finish(call, pc, cudaErrorInvalidResourceHandle);
    if (!in_arena(p) && !find_symbol(p)) {
        if (is_new("host_pointer", pc)) fault("host_pointer", pc).word("call", call).send();
        return finish(call, pc, cudaErrorInvalidValue);
    }
    if (!range_is_good("destination", p, bytes, pc)) return finish(call, pc, cudaErrorInvalidValue);
    Operation op = operation(SET, pc);
    op.to = p, op.value = value, op.bytes = bytes;
    issue(std::move(op), *stream);
    return finish(call, pc, cudaSuccess);
}

}  // namespace

extern "C" {
cudaError_t cudaMalloc(void** p, size_t bytes) { return new_memory("cudaMalloc", p, bytes, DEVICE, PC); }
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t) {
    return new_memory("cudaMallocAsync", p, bytes, DEVICE, PC);
}
cudaError_t cudaMallocHost(void** p, size_t bytes) {
    return new_memory("cudaMallocHost", p, bytes, PINNED, PC);
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
    return new_memory("cudaHostAlloc", p, bytes, PINNED, PC);
}
cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned) {
    return new_memory("cudaMallocManaged", p, bytes, MANAGED, PC);
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    if (!pitch) return finish("cudaMallocPitch", PC, cudaErrorInvalidValue);
    *pitch = round_up(width, 512);
    return new_memory("cudaMallocPitch", p, *pitch * height, DEVICE, PC);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    API("cudaHostGetDevicePointer");
    Allocation* a = find(host);
    if (!device || !a || a->space != PINNED) DONE_WITH(cudaErrorInvalidValue);
    *device = host;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaFree(void* p) { return free_memory("cudaFree", p, false, PC); }
cudaError_t cudaFreeHost(void* p) { return free_memory("cudaFreeHost", p, true, PC); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t handle) {
    API("cudaFreeAsync");
    Stream* stream = find_stream(handle);
    Allocation* a = find(p);
    if (!stream) DONE_WITH(cudaErrorInvalidResourceHandle);
    if (!a || a->begin != (uintptr_t)p || a->space != DEVICE || a->state != LIVE)
        DONE_WITH(tell_bad_free(a && a->state == FREED ? "double_free" : "bad_free", p, a, this_pc));
    Operation op = operation(FREE, this_pc);
    op.to = p;
    issue(std::move(op), *stream);
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    API("cudaMemGetInfo");
    if (!free || !total) DONE_WITH(cudaErrorInvalidValue);
    *total = config.memory;
    *free = config.memory - device_used;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* p) {
    API("cudaPointerGetAttributes");
    if (!out) DONE_WITH(cudaErrorInvalidValue);
    Allocation* a = find(p);
    if (a && a->state != LIVE) a = nullptr;
    *out = cudaPointerAttributes{cudaMemoryTypeUnregistered, a ? 0 : -2, nullptr, (void*)p};
    if (!a) DONE_WITH(cudaSuccess);
    out->type = a->space == PINNED ? cudaMemoryTypeHost
                : a->space == MANAGED ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
    out->devicePointer = (void*)p;
    if (a->space == DEVICE) out->hostPointer = nullptr;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy("cudaMemcpy", to, from, bytes, kind, nullptr, true, PC);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy("cudaMemcpyAsync", to, from, bytes, kind, stream, false, PC);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    if (width > to_pitch || width > from_pitch) return finish("cudaMemcpy2D", PC, cudaErrorInvalidPitchValue);
    for (size_t row = 0; row < height; ++row) {
        cudaError_t error = copy("cudaMemcpy2D", (char*)to + row * to_pitch,
                                 (const char*)from + row * from_pitch, width, kind, nullptr, true, PC);
        if (error) return error;
    }
    return cudaSuccess;
}
cudaError_t cudaMemset(void* p, int value, size_t bytes) {
    return set("cudaMemset", p, value, bytes, nullptr, PC);
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
    return set("cudaMemsetAsync", p, value, bytes, stream, PC);
}
}

namespace cuda_cpu {
cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind) {
    const Symbol* s = find_symbol(symbol);
    if (!s) return finish("cudaMemcpyToSymbol", PC, cudaErrorInvalidSymbol);
    return copy("cudaMemcpyToSymbol", (char*)s->address + offset, from, bytes, kind, nullptr, true, PC);
}
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset,
                             cudaMemcpyKind kind) {
    const Symbol* s = find_symbol(symbol);
    if (!s) return finish("cudaMemcpyFromSymbol", PC, cudaErrorInvalidSymbol);
    return copy("cudaMemcpyFromSymbol", to, (const char*)s->address + offset, bytes, kind, nullptr, true, PC);
}
cudaError_t symbol_address(void** pointer, const void* symbol) {
    API("cudaGetSymbolAddress");
    const Symbol* s = find_symbol(symbol);
    if (!s || !pointer) DONE_WITH(cudaErrorInvalidSymbol);
    *pointer = (void*)s->address;
    DONE_WITH(cudaSuccess);
}
}  // namespace cuda_cpu
