// Errors, devices, streams, events, launches.
#pragma once

namespace {

struct Configured { const char* file; int line; dim3 grid, threads; size_t shared; cudaStream_t stream; };
thread_local std::vector<Configured> configured;  // a stack: a launch's arguments may launch
const cuda_cpu::Kernel** asked;      // set while a kernel is only asked what it is

cudaError_t new_stream(cudaStream_t* out, bool blocking) {
    if (!out) return cudaErrorInvalidValue;
    unsigned number = ++stream_count;
    *out = (cudaStream_t)(uintptr_t)(0x1000 + number);
    streams[*out] = Stream{number, blocking, true, 0};
    streams_in_use = true;
    return cudaSuccess;
}

Event* find_event(cudaEvent_t handle) {
    auto found = events.find(handle);
    return found == events.end() || !found->second.alive ? nullptr : &found->second;
}

// Who polls must see the device get on: each look runs one operation.
cudaError_t poll(unsigned id) {
    if (!is_pending(id)) return sticky;
    for (unsigned a : pending_operations[id].ancestors)
        if (is_pending(a) && can_run(pending_operations[a])) return run_all({a}), cudaErrorNotReady;
    return run_all({id}), cudaErrorNotReady;
}

}  // namespace

namespace cuda_cpu {

void configure(const char* file, int line, dim3 grid, dim3 block, size_t shared,
               cudaStream_t stream) {
    configured.push_back(Configured{file, line, grid, block, shared, stream});
}

static cudaError_t launch(const Kernel& kernel, void (*entry)(void*), const void* closure,
                          size_t bytes, const Configured& c, const void* pc) {
    Turn turn;
    call_pc = pc;
    if (sticky) return sticky;
    Operation op = operation(LAUNCH, pc);
    op.symbol = symbol_at(pc);
    op.file = c.file, op.line = c.line;
    op.launch = Launch{&kernel, entry, nullptr, bytes, c.grid, c.threads, c.shared};
    op.closure.assign((const char*)closure, (const char*)closure + bytes);
    ++launches;
    if (drawn("sync", launches)) op.fails = cudaErrorIllegalAddress;
    bool injected = drawn("launch", launches);
    launching = {kernel.name, c.file, c.line};
    cudaError_t error = injected ? cudaErrorLaunchOutOfResources
                                 : check_launch(op.launch, resources_of(op.symbol, kernel.name));
    Stream* stream = find_stream(c.stream);
    if (!error && !stream) error = cudaErrorInvalidResourceHandle;
    if (!error) return issue(std::move(op), *stream), cudaSuccess;
    Json& json = event("refused").word("kernel", kernel.name).place(c.file, c.line).number("error", error);
    json.triple("grid", c.grid).triple("threads", c.threads).number("dynamic", (long long)c.shared);
    if (injected) json.number("injected", 1);
    if (may_tell(true)) json.send();
    if (!unread_launch_error) unread_launch_error = &kernel;
    return error;
}

void enqueue(const Kernel& kernel, void (*entry)(void*), const void* closure, size_t bytes) {
    if (asked) {
        *asked = &kernel;
        return;
    }
    if (in_kernel || configured.empty()) {
        const char* kind = in_kernel ? "launch_in_kernel" : "not_configured";
        if (is_new(kind, PC)) {
            Json& json = fault(kind, configured.empty() ? PC : nullptr).word("name", kernel.name);
            if (!configured.empty()) json.place(configured.back().file, configured.back().line);
            json.send();
        }
        if (in_kernel) stop_kernel(cudaErrorNotSupported);
        finish(kernel.name, PC, cudaErrorMissingConfiguration);
        return;
    }
    Configured c = configured.back();
    configured.pop_back();
    cudaError_t error = launch(kernel, entry, closure, bytes, c, PC);
    if (error && !sticky) last_error = error;
}

const Kernel* ask(void (*call)(void*), void* function) {
    const Kernel* kernel = nullptr;
    asked = &kernel;
    call(function);
    asked = nullptr;
    return kernel;
}

cudaError_t attributes(cudaFuncAttributes* out, const Kernel* kernel, const void* function) {
    API("cudaFuncGetAttributes");
    if (!out || !kernel) DONE_WITH(kernel ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
    const Resources* r = resources_of(symbol_at(function), kernel->name);
    *out = cudaFuncAttributes{};
    out->maxThreadsPerBlock = kernel->max_threads ? kernel->max_threads : 1024;
    out->ptxVersion = out->binaryVersion = (int)config.cc;
    out->maxDynamicSharedSizeBytes = (int)shared_limit(kernel) - (r ? r->shared : 0);
    if (!r) DONE_WITH(cudaSuccess);
    out->numRegs = r->registers;
    out->sharedSizeBytes = (size_t)r->shared;
    out->constSizeBytes = (size_t)r->constant;
    out->localSizeBytes = (size_t)r->local;
    while (registers_of(r, (unsigned long)out->maxThreadsPerBlock) > 65536) out->maxThreadsPerBlock -= 32;
    DONE_WITH(cudaSuccess);
}

cudaError_t set_attribute(const Kernel* kernel, cudaFuncAttribute attribute, int value) {
    API("cudaFuncSetAttribute");
    if (!kernel) DONE_WITH(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) DONE_WITH(cudaSuccess);
    if (value < 0 || (unsigned long)value > config.shared_optin) DONE_WITH(cudaErrorInvalidValue);
    dynamic_allowed[kernel] = (size_t)value;
    DONE_WITH(cudaSuccess);
}

cudaError_t active_blocks(int* blocks, const Kernel* kernel, const void* function, int threads,
                          size_t dynamic) {
    API("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!blocks || !kernel || threads < 1) DONE_WITH(cudaErrorInvalidValue);
    *blocks = blocks_per_sm(resources_of(symbol_at(function), kernel->name), (unsigned long)threads, dynamic);
    DONE_WITH(cudaSuccess);
}

cudaError_t best_block(int* min_grid, int* block, const Kernel* kernel, const void* function,
                       size_t dynamic, int limit) {
    API("cudaOccupancyMaxPotentialBlockSize");
    if (!min_grid || !block || !kernel) DONE_WITH(cudaErrorInvalidValue);
    const Resources* r = resources_of(symbol_at(function), kernel->name);
    int most = kernel->max_threads ? kernel->max_threads : 1024, best = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int threads = most / 32 * 32; threads > 0; threads -= 32) {
        int blocks = blocks_per_sm(r, (unsigned long)threads, dynamic);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *min_grid = blocks * (int)config.sms;
    }
    DONE_WITH(best ? cudaSuccess : cudaErrorInvalidConfiguration);
}
}  // namespace cuda_cpu

extern "C" {
const char* cudaGetErrorName(cudaError_t error) {
    switch ((int)error) {
#define CUDA_CPU_ENTRY(code, name, text) case code: return #name;
        CUDA_CPU_ERRORS(CUDA_CPU_ENTRY)
#undef CUDA_CPU_ENTRY
    }
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
    switch ((int)error) {
#define CUDA_CPU_ENTRY(code, name, text) case code: return text;
        CUDA_CPU_ERRORS(CUDA_CPU_ENTRY)
#undef CUDA_CPU_ENTRY
    }
    return "unrecognized error code";
}
cudaError_t cudaGetLastError() {
    Turn turn;
    cudaError_t error = sticky ? sticky : last_error;
    last_error = cudaSuccess;
    unread_launch_error = nullptr;
    if (may_tell()) event("call").word("name", "cudaGetLastError").code("pc", PC).number("error", error).send();
    return error;
}
cudaError_t cudaPeekAtLastError() {
    Turn turn;
    unread_launch_error = nullptr;
    cudaError_t error = sticky ? sticky : last_error;
    if (may_tell()) event("call").word("name", "cudaPeekAtLastError").code("pc", PC).number("error", error).send();
    return error;
}
cudaError_t cudaDeviceSynchronize() {
    API("cudaDeviceSynchronize");
    wait_for_all();
    DONE_WITH(sticky);
}
cudaError_t cudaDeviceReset() {
    API("cudaDeviceReset");
    wait_for_all();
    for (unsigned i = SHARED_SLOTS + 1; i < allocation_count; ++i)
        if (allocations[i].state == LIVE) release(allocations[i], this_pc);
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaGetDeviceCount(int* count) {
    API("cudaGetDeviceCount");
    if (!count) DONE_WITH(cudaErrorInvalidValue);
    *count = 1;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
    API("cudaGetDevice");
    if (!device) DONE_WITH(cudaErrorInvalidValue);
    *device = 0;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
    API("cudaSetDevice");
    DONE_WITH(device ? cudaErrorInvalidDevice : cudaSuccess);
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    API("cudaGetDeviceProperties");
    if (!p) DONE_WITH(cudaErrorInvalidValue);
    if (device) DONE_WITH(cudaErrorInvalidDevice);
    *p = cudaDeviceProp{};
    snprintf(p->name, sizeof p->name, "%s", config.card);
    p->totalGlobalMem = config.memory, p->sharedMemPerBlock = 48 * 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536, p->warpSize = 32;
    p->memPitch = 0x7fffffff, p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 64 * 1024, p->major = (int)config.cc / 10, p->minor = (int)config.cc % 10;
    p->textureAlignment = 512, p->multiProcessorCount = (int)config.sms, p->canMapHostMemory = 1;
    p->concurrentKernels = 1, p->asyncEngineCount = 2, p->unifiedAddressing = 1, p->managedMemory = 1;
    p->memoryBusWidth = (int)config.bus_bits, p->l2CacheSize = (int)config.l2;
    p->maxThreadsPerMultiProcessor = (int)config.threads_sm, p->sharedMemPerMultiprocessor = config.shared_sm;
    p->sharedMemPerBlockOptin = config.shared_optin, p->maxBlocksPerMultiProcessor = (int)config.blocks_sm;
    p->reservedSharedMemPerBlock = 1024;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    API("cudaDeviceGetAttribute");
    if (!value) DONE_WITH(cudaErrorInvalidValue);
    if (device) DONE_WITH(cudaErrorInvalidDevice);
    const struct { int attribute; unsigned long value; } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, 1024}, {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024}, {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 0x7fffffff}, {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535}, {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
        {cudaDevAttrTotalConstantMemory, 64 * 1024}, {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMaxRegistersPerBlock, 65536}, {cudaDevAttrClockRate, config.clock_khz},
        {cudaDevAttrMultiProcessorCount, config.sms}, {cudaDevAttrMemoryClockRate, config.memory_khz},
        {cudaDevAttrGlobalMemoryBusWidth, config.bus_bits}, {cudaDevAttrL2CacheSize, config.l2},
        {cudaDevAttrMaxThreadsPerMultiProcessor, config.threads_sm},
        {cudaDevAttrComputeCapabilityMajor, config.cc / 10},
        {cudaDevAttrComputeCapabilityMinor, config.cc % 10},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, config.shared_sm},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536}, {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, config.shared_optin},
        {cudaDevAttrMaxBlocksPerMultiprocessor, config.blocks_sm},
        {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    };
    *value = 0;
    for (auto& k : known)
        if (k.attribute == attribute) *value = (int)k.value;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaDriverGetVersion(int* v) { return v ? *v = CUDART_VERSION, cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaRuntimeGetVersion(int* v) { return v ? *v = CUDART_VERSION, cudaSuccess : cudaErrorInvalidValue; }

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    API("cudaStreamCreate");
    DONE_WITH(new_stream(stream, true));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    API("cudaStreamCreateWithFlags");
    DONE_WITH(new_stream(stream, flags != cudaStreamNonBlocking));
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    API("cudaStreamDestroy");
    Stream* stream = handle ? find_stream(handle) : nullptr;
    if (!stream) DONE_WITH(cudaErrorInvalidResourceHandle);
    stream->alive = false;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    API("cudaStreamSynchronize");
    Stream* stream = find_stream(handle);
    if (!stream) DONE_WITH(cudaErrorInvalidResourceHandle);
    wait_for(stream->last);
    if (stream->number == 0)
        for (auto& other : streams)
            if (other.second.blocking) wait_for(other.second.last);
    DONE_WITH(sticky);
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
    API("cudaStreamQuery");
    Stream* stream = find_stream(handle);
    if (!stream) DONE_WITH(cudaErrorInvalidResourceHandle);
    return poll(stream->last);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t which, unsigned) {
    API("cudaStreamWaitEvent");
    Stream* stream = find_stream(handle);
    Event* waited = find_event(which);
    if (!stream || !waited) DONE_WITH(cudaErrorInvalidResourceHandle);
    Operation op = operation(WAIT, this_pc);
    op.event = waited;
    issue(std::move(op), *stream);
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, void (*function)(void*), void* data) {
    API("cudaLaunchHostFunc");
    Stream* stream = find_stream(handle);
    if (!stream) DONE_WITH(cudaErrorInvalidResourceHandle);
    Operation op = operation(HOST_FUNCTION, this_pc);
    op.function = function, op.data = data;
    issue(std::move(op), *stream);
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
    API("cudaEventCreate");
    if (!out) DONE_WITH(cudaErrorInvalidValue);
    *out = (cudaEvent_t)(uintptr_t)(0x2000 + events.size());
    events[*out] = Event{!(flags & cudaEventDisableTiming), true, 0, 0};
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t which) {
    API("cudaEventDestroy");
    Event* e = find_event(which);
    if (!e) DONE_WITH(cudaErrorInvalidResourceHandle);
    e->alive = false;
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t which, cudaStream_t handle) {
    API("cudaEventRecord");
    Stream* stream = find_stream(handle);
    Event* e = find_event(which);
    if (!stream || !e) DONE_WITH(cudaErrorInvalidResourceHandle);
    Operation op = operation(RECORD, this_pc);
    op.event = e;
    issue(std::move(op), *stream);
    DONE_WITH(cudaSuccess);
}
cudaError_t cudaEventSynchronize(cudaEvent_t which) {
    API("cudaEventSynchronize");
    Event* e = find_event(which);
    if (!e) DONE_WITH(cudaErrorInvalidResourceHandle);
    wait_for(e->operation);
    DONE_WITH(sticky);
}
cudaError_t cudaEventQuery(cudaEvent_t which) {
    API("cudaEventQuery");
    Event* e = find_event(which);
    if (!e) DONE_WITH(cudaErrorInvalidResourceHandle);
    return poll(e->operation);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
    API("cudaEventElapsedTime");
    Event *a = find_event(start), *b = find_event(end);
    if (!ms) DONE_WITH(cudaErrorInvalidValue);
    if (!a || !b || !a->operation || !b->operation || !a->timing || !b->timing)
        DONE_WITH(cudaErrorInvalidResourceHandle);
    if (is_pending(a->operation) || is_pending(b->operation)) DONE_WITH(cudaErrorNotReady);
    *ms = (float)(1e3 * (b->time - a->time));
    DONE_WITH(cudaSuccess);
}
}
