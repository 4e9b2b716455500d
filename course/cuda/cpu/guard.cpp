// guard STATUS MILLISECONDS RESIDENT ADDRESSES FILE ALONE FOLDER PROGRAM ARGUMENT...
//
// Runs a program that nobody trusts, and sees to it that nothing of it is left: no process, also
// none that has left its group or whose parent has ended. 0 means no limit; sizes are bytes.
// RESIDENT limits the memory in use, ADDRESSES the addresses of each process, FILE a file's size.
// With ALONE 1 the program can start no process, only threads, and send signals to itself only:
// the kernel refuses all else.
// FOLDER (or -) is removed when the caller dies: nobody else would do it then.
// Writes one line to the file descriptor STATUS:
//
//     exit CODE | signal NUMBER | time 0 | memory 0 | failed ERRNO, then LEFTOVERS RESIDENT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void limit(int what, unsigned long bytes) {
    rlimit both = {bytes, bytes};
    setrlimit(what, &both);
}

static long resident_bytes(pid_t pid) {
    char path[64], text[128] = "";
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    long pages = 0;
    if (n > 0) sscanf(text, "%*s %ld", &pages);
    return pages * sysconf(_SC_PAGESIZE);
}

// Ends all children, and theirs, which become ours when their parents end.
static int end_all(pid_t known) {
    int others = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (double give_up = now() + 5; now() < give_up;) {
        if (FILE* list = fopen(path, "re")) {
            int pid;
            while (fscanf(list, "%d", &pid) == 1) kill(pid, SIGKILL);
            fclose(list);
        }
        if (known > 0) kill(known, SIGKILL);
        pid_t gone = waitpid(-1, nullptr, WNOHANG);
        if (gone < 0 && errno == ECHILD) break;
        if (gone > 0 && gone != known) ++others;
        if (gone == 0) usleep(500);
    }
    return others;
}

// A filter of system calls. Where the machine has no such filters the runtime's own refusal of
// fork and its like (runtime/system.h) is what there is.
static void forbid_processes(unsigned own) {
#if defined(__x86_64__)
    const unsigned machine = AUDIT_ARCH_X86_64;
#else
    const unsigned machine = AUDIT_ARCH_AARCH64;
#endif
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)
    sock_filter rules[] = {
        LOAD(arch),
        IS(machine, 1, 0),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        LOAD(nr),
#if defined(__x86_64__)
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 11, 0),  // the x32 way in
        IS(SYS_fork, 10, 0),
        IS(SYS_vfork, 9, 0),
#endif
        IS(SYS_clone3, 9, 0),  // glibc then uses clone
        IS(SYS_kill, 4, 0),
        IS(SYS_tgkill, 3, 0),
        IS(SYS_clone, 0, 4),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 2, 3),
        LOAD(args[0]),  // of kill: to whom
        IS(own, 0, 1),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
    };
    sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int remove_one(const char* path, const struct stat*, int, FTW*) { return remove(path); }

static void close_others(int kept) {
#ifdef SYS_close_range
    bool done = (kept <= 0 || !syscall(SYS_close_range, 0u, (unsigned)kept - 1, 0u)) &&
                !syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0u);
    if (done) return;
#endif
    for (int file = 0; file < 1024; ++file)
        if (file != kept) close(file);
}

int main(int count, char** words) {
    if (count < 9) return 2;
    int status = atoi(words[1]);
    double most_seconds = 1e-3 * atof(words[2]);
    long most_resident = atol(words[3]);
    unsigned long addresses = strtoul(words[4], nullptr, 10), file = strtoul(words[5], nullptr, 10);
    pid_t caller = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getppid() != caller) return 2;
    fcntl(status, F_SETFD, FD_CLOEXEC);

    sigset_t watched, before;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigprocmask(SIG_BLOCK, &watched, &before);
    pid_t me = getpid(), child = fork();
    if (child < 0) return dprintf(status, "failed %d 0 0\n", errno), 1;
    if (child == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != me) _exit(2);
        sigemptyset(&before);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        limit(RLIMIT_CORE, 0);
        if (file) limit(RLIMIT_FSIZE, file);
        if (addresses) limit(RLIMIT_AS, addresses);
        if (words[6][0] == '1') forbid_processes((unsigned)getpid());
        execv(words[8], words + 8);
        dprintf(status, "failed %d 0 0\n", errno);
        _exit(127);
    }
    close_others(status);

    double end = now() + most_seconds;
    long resident = 0;
    for (;;) {
        siginfo_t ended = {};
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
        const char* reason = nullptr;
        if (ended.si_pid == child) break;
        long in_use = resident_bytes(child);
        if (in_use > resident) resident = in_use;
        if (most_resident && in_use > most_resident) reason = "memory";
        if (most_seconds > 0 && now() > end) reason = "time";
        if (reason) {
            int others = end_all(child);
            return dprintf(status, "%s 0 %d %ld\n", reason, others, resident), 0;
        }
        timespec wait = {0, 5 * 1000 * 1000};
        if (sigtimedwait(&watched, nullptr, &wait) != SIGTERM) continue;
        end_all(child);
        bool orphaned = getppid() != caller;
        if (orphaned && words[7][0] == '/') nftw(words[7], remove_one, 8, FTW_DEPTH | FTW_PHYS);
        return 3;
    }
    int how = 0;
    waitpid(child, &how, 0);
    int others = end_all(0);
    if (WIFSIGNALED(how)) dprintf(status, "signal %d %d %ld\n", WTERMSIG(how), others, resident);
    else dprintf(status, "exit %d %d %ld\n", WEXITSTATUS(how), others, resident);
    return 0;
}
