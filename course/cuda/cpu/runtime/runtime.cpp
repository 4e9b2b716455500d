// CUDA's runtime on the CPU: one translation unit, compiled once and linked to each program.
#include "cuda_runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#define FIRST __attribute__((init_priority(101)))

// The order is that of use: each file builds on those before it.
#include "report.h"

#include "memory.h"

#include "faults.h"

#include "check.h"

#include "threads.h"

#include "barriers.h"

#include "grid.h"

#include "queue.h"

#include "hooks.h"

#include "limits.h"

#include "signals.h"

#include "system.h"

#include "api_memory.h"

#include "api_device.h"

namespace {

int find_constants(dl_phdr_info* info, size_t, void*) {
    if (info->dlpi_addr != image_base) return 0;
    for (int i = 0; i < info->dlpi_phnum && constants_count < 4; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || part.p_flags & PF_W) continue;
        constants_begin[constants_count] = info->dlpi_addr + part.p_vaddr;
        constants_end[constants_count++] = info->dlpi_addr + part.p_vaddr + part.p_memsz;
    }
    return 1;
}

void tell_leaks() {
    for (unsigned i = SHARED_SLOTS + 1; i < allocation_count; ++i) {
        const Allocation& a = allocations[i];
        if (a.state != LIVE) continue;
        if (may_tell(true)) event("leak").number("id", a.id).word("space", space_names[a.space])
            .number("bytes", (long long)a.bytes).code("pc", a.pc).send();
    }
}

void tell_touches() {
    const char* data = (const char*)touches;
    size_t left = touch_count * sizeof(Touch);
    while (left && config.touches >= 0) {
        ssize_t n = write(config.touches, data, left);
        if (n <= 0) return;
        data += n, left -= (size_t)n;
    }
}

void at_end() {
    settle_pending();
    for (auto& op : pending_operations)
        if (op.second.kind == LAUNCH && !sticky && !current_launch && is_new("never_synchronised", op.second.launch.kernel))
            fault("never_synchronised", nullptr).word("kernel", op.second.launch.kernel->name)
                .place(op.second.file, op.second.line).send();
    if (!sticky) tell_leaks();  // with a sticky error nothing can be freed
    tell_counts();
    tell_touches();
    if (unread_launch_error) {
        const auto* kernel = (const cuda_cpu::Kernel*)unread_launch_error;
        event("unread").word("kernel", kernel->name).send();
    }
    event("end").number("last_error", sticky ? sticky : last_error).send();
}

// Before any constructor of the program.
__attribute__((constructor(102))) void begin() {
    Dl_info here;
    dladdr((void*)begin, &here);
    image_base = (uintptr_t)here.dli_fbase;
    read_config();
    unsetenv("CUDA_CPU");
    random_state = config.seed * 0x9e3779b97f4a7c15ull + 0x1234567;
    open_arena();
    open_stacks();
    block_starts = (uint64_t*)reserve(MAX_BLOCK_STARTS * 8, PROT_READ | PROT_WRITE);
    if (config.touches >= 0)
        touches = (Touch*)reserve(config.max_touches * sizeof(Touch), PROT_READ | PROT_WRITE);
    dl_iterate_phdr(find_constants, nullptr);
    if (config.host_bytes) {
        rlimit limit{config.host_bytes, config.host_bytes};
        setrlimit(RLIMIT_DATA, &limit);
    }
    catch_signals();
    watch_stdin();
    streams[nullptr] = Stream{0, false, true, 0};
    read_resources();
    atexit(at_end);
}

}  // namespace
