// What the card allows a launch: sizes, shared memory, registers; and how many blocks fit an SM.
#pragma once

namespace {

struct Resources {  // of one kernel, from ptxas (see course/cuda/ptxas.py)
    char symbol[256], name[96];
    int registers, shared, constant, local;
};
FIRST std::vector<Resources> resources;
FIRST std::map<const cuda_cpu::Kernel*, size_t> dynamic_allowed;  // cudaFuncSetAttribute

void read_resources() {
    FILE* file = *config.resources ? fopen(config.resources, "r") : nullptr;
    if (!file) return;
    Resources r;
    while (fscanf(file, "%255s %95s %d %d %d %d", r.symbol, r.name, &r.registers, &r.shared,
                  &r.constant, &r.local) == 6)
        resources.push_back(r);
    fclose(file);
}

const char* symbol_at(const void* code) {
    Dl_info info;
    return code && dladdr(code, &info) ? info.dli_sname : nullptr;
}

// By the symbol, which tells a template's instances apart; else by the name, if only one has it.
const Resources* resources_of(const char* symbol, const char* name) {
    const Resources* only = nullptr;
    for (const Resources& r : resources) {
        if (symbol && !strcmp(r.symbol, symbol)) return &r;
        if (strcmp(r.name, name)) continue;
        if (only) return nullptr;
        only = &r;
    }
    return only;
}

size_t shared_limit(const cuda_cpu::Kernel* kernel) {
    auto allowed = dynamic_allowed.find(kernel);
    return allowed == dynamic_allowed.end() ? 48 * 1024 : std::max<size_t>(48 * 1024, allowed->second);
}

// Registers are given out by warp, in units of 256.
unsigned long registers_of(const Resources* r, unsigned long threads) {
    return r ? (threads + 31) / 32 * round_up((size_t)r->registers * 32, 256) : 0;
}

struct { const char *kernel, *file; int line; } launching;  // what check_launch looks at

cudaError_t refuse(const char* reason, long long asked, long long limit, cudaError_t error) {
    if (is_new(reason, (const void*)(uintptr_t)launching.line, launching.file))
        fault(reason, nullptr).word("name", launching.kernel).place(launching.file, launching.line)
            .number("asked", asked).number("limit", limit).number("error", error).send();
    return error;
}

// Why a launch cannot be: the error that CUDA gives, told with the number that is too large.
cudaError_t check_launch(const Launch& l, const Resources* r) {
    const cudaError_t bad = cudaErrorInvalidConfiguration;
    unsigned long threads = (unsigned long)l.threads.x * l.threads.y * l.threads.z;
    if (!l.grid.x || !l.grid.y || !l.grid.z) return refuse("empty_grid", 0, 1, bad);
    if (!threads) return refuse("empty_block", 0, 1, bad);
    if (l.threads.x > 1024 || l.threads.y > 1024 || threads > 1024)
        return refuse("block_too_large", (long long)threads, 1024, bad);
    if (l.threads.z > 64) return refuse("block_too_deep", l.threads.z, 64, bad);
    if (l.grid.x > 0x7fffffffu) return refuse("grid_too_large", l.grid.x, 0x7fffffff, bad);
    unsigned flat = std::max(l.grid.y, l.grid.z);
    if (flat > 65535) return refuse("grid_too_large", flat, 65535, bad);
    size_t limit = shared_limit(l.kernel), shared = l.dynamic_bytes + (r ? (size_t)r->shared : 0);
    if (shared > limit)
        return refuse("too_much_shared", (long long)shared, (long long)limit, cudaErrorInvalidValue);
    int bound = l.kernel->max_threads;
    if (bound && threads > (unsigned long)bound)
        return refuse("launch_bounds", (long long)threads, bound, cudaErrorInvalidValue);
    if (registers_of(r, threads) > 65536)
        return refuse("too_many_registers", r->registers, (long long)(65536 / threads),
                      cudaErrorLaunchOutOfResources);
    return cudaSuccess;
}

int blocks_per_sm(const Resources* r, unsigned long threads, size_t dynamic) {
    if (!threads || threads > 1024) return 0;
    unsigned long warps = (threads + 31) / 32;
    unsigned long blocks = std::min(config.blocks_sm, config.threads_sm / 32 / warps);
    size_t shared = dynamic + (r ? (size_t)r->shared : 0);
    blocks = std::min(blocks, config.shared_sm / round_up(shared + 1024, 128));
    if (r && r->registers) {  // each of an SM's four parts has a quarter of the registers
        unsigned long by_warp = round_up((size_t)r->registers * 32, 256);
        if (round_up(warps, 4) * by_warp > 65536) return 0;
        blocks = std::min(blocks, 65536 / 4 / by_warp * 4 / warps);
    }
    return (int)blocks;
}

}  // namespace
