// The faults that the processor finds (in code that g++ did not instrument), and the time limit.
#pragma once

namespace {

cudaError_t signal_error;
void leave_signal() { stop_kernel(signal_error); }

// Makes the interrupted kernel stop as soon as the handler has returned.
void stop_after(ucontext_t* context, cudaError_t error) {
    signal_error = error;
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RSP] = (context->uc_mcontext.gregs[REG_RSP] & ~15ll) - 8;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)leave_signal;
#else
    context->uc_mcontext.sp &= ~15ull;
    context->uc_mcontext.pc = (uintptr_t)leave_signal;
#endif
}

const void* code_of(ucontext_t* context) {
#if defined(__x86_64__)
    return (const void*)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (const void*)(uintptr_t)context->uc_mcontext.pc;
#endif
}

bool is_near_stack(ucontext_t* context, const void* p) {
#if defined(__x86_64__)
    uintptr_t stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
    uintptr_t stack = (uintptr_t)context->uc_mcontext.sp;
#endif
    return (uintptr_t)p - (stack - (64 << 10)) < 128 << 10;
}

// Below the last page of a fiber's stack lies a closed one.
bool is_stack_guard(const void* p) {
    uintptr_t at = (uintptr_t)p - stacks - PAGE;
    return at < stacks_bytes - PAGE && at % (STACK + PAGE) < PAGE;
}

void tell_stopped(const char* kind, const void* p, const void* pc) {
    if (!is_new(kind, pc)) return;
    Json& json = fault(kind, pc);
    describe_access(json, p, 0, "access");
    json.code("call_pc", in_kernel ? last_pc : call_pc);
    Allocation* a = in_arena(p) ? nearest((uintptr_t)p) : nullptr;
    if (a) describe(json, *a, (uintptr_t)p);
    json.send();
}

void on_signal(int number, siginfo_t* info, void* raw) {
    ucontext_t* context = (ucontext_t*)raw;
    const void *p = info->si_addr, *pc = (const char*)code_of(context) + 1;
    bool by_itself = info->si_code > 0;  // not sent by kill()
    if (in_kernel && by_itself) {
        if (number == SIGFPE) tell_stopped("division_by_zero", p, pc);
        else if (number == SIGILL) tell_stopped("trap", p, pc);
        else if (is_stack_guard(p)) tell_stopped("stack_overflow", p, pc);
        else if (in_arena(p)) tell_stopped("out_of_bounds", p, pc);
        else tell_stopped((uintptr_t)p < 1ul << 20 ? "null_pointer" : "wild_pointer", p, pc);
        return stop_after(context, cudaErrorIllegalAddress);
    }
    if (by_itself && number != SIGILL) {
        Allocation* a = in_arena(p) ? nearest((uintptr_t)p) : nullptr;
        bool ours = a && (uintptr_t)p - a->begin < round_up(a->bytes, PAGE);
        bool known = false;
        for (unsigned i = 0; i < seen_count && ours; ++i)
            known = known || !strcmp(seen[i].kind, "host_touches_device");
        const char* kind = ours ? "host_touches_device" : number == SIGFPE ? "host_division_by_zero"
                           : is_near_stack(context, p) ? "stack_overflow" : "host_crash";
        if (!known) tell_stopped(kind, p, pc);
    }
    signal(number, SIG_DFL);
    if (!by_itself) raise(number);
}

void on_time_limit(int, siginfo_t*, void* raw) {
    in_kernel = current_launch;  // also between two of its blocks
    const void* pc = (const char*)code_of((ucontext_t*)raw) + 1;
    Json& json = fault("never_ends", pc).code("call_pc", in_kernel ? last_pc : call_pc);
    json.number("limit_ms", (long long)config.time_limit_ms).send();
    _exit(124);
}

void catch_signals() {
    static char stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
    if (!config.time_limit_ms) return;
    action.sa_sigaction = on_time_limit;
    sigaction(SIGALRM, &action, nullptr);
    long ms = (long)config.time_limit_ms;
    itimerval timer{{0, 0}, {ms / 1000, ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

extern "C" {
// assert() in a kernel ends the kernel, in host code the process.
void __assert_fail(const char* expression, const char* file, unsigned line, const char* function) noexcept {
    if (!in_kernel) {
        fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
        if (is_new("host_assert", PC)) fault("host_assert", PC).word("expression", expression).place(file, (int)line).send();
        abort();
    }
    const uint3 &b = running.block, &t = running.thread;
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
            line, running.kernel->name, b.x, b.y, b.z, t.x, t.y, t.z, expression);
    if (is_new("assert", PC)) fault("assert", PC).word("expression", expression).place(file, (int)line).send();
    stop_kernel(cudaErrorAssert);
}
}
