"""Programs that do what no program should: each ends, with one clear message, and leaves nothing."""
# ruff: noqa: E501 - programs in C++ keep their lines

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from course import cuda
from course.cuda import builder, outcome, toolchain
from course.cuda.process import Limits, run_guarded

pytestmark = pytest.mark.usefixtures("nothing_left")


def run(text: str, **how: object) -> cuda.CudaRun:
    return cuda.run(text, backend="cpu", **how)  # type: ignore[arg-type]


def test_a_hundred_megabytes_of_output() -> None:
    ended = run(
        '#include <cstdio>\nint main() { for (int i = 0; i < 10000000; ++i) printf("%09d\\n", i); }'
    )
    assert ended.state == outcome.OUTPUT_LIMIT and not ended.ok
    assert ended.failure == "The program printed more than 1 MiB, and was ended."
    assert len(ended.stdout) == 1 << 20 and ended.stdout.startswith("000000000\n000000001\n")
    assert len(repr(ended)) < 20_000 and len(ended._repr_html_()) < 20_000


def test_output_on_stderr_counts_too() -> None:
    ended = run(
        '#include <cstdio>\nint main() { for (;;) fputs("x", stderr); }', output_limit=10_000
    )
    assert ended.state == outcome.OUTPUT_LIMIT and len(ended.stderr) == 10_000


def test_it_reads_stdin_in_each_way() -> None:
    for includes, read in [
        ("#include <cstdio>", 'int x; return scanf("%d", &x) == 1;'),
        ("#include <cstdio>", "return getchar() != EOF;"),
        ("#include <iostream>", "int x = 0; std::cin >> x; return bool(std::cin);"),
        ("#include <unistd.h>", "char c; return read(0, &c, 1) != 0;"),
    ]:
        ended = run(f"{includes}\nint main() {{ {read} }}")
        assert ended.exit_code == 0 and ended.seconds < 5
        assert ended.failure.startswith("The program reads its standard input"), ended


@pytest.mark.parametrize(
    "start",
    ["fork()", 'system("true")', 'popen("true", "r")', 'execl("/bin/true", "true", nullptr)'],
)
def test_it_starts_a_process(start: str) -> None:
    ended = run(
        f"#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\nint main() {{ {start}; }}"
    )
    assert ended.failure.startswith("The program calls `"), ended
    assert "may start no other process" in ended.failure


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="SYS_fork is a number of x86-64 only")
def test_the_kernel_itself_refuses_processes_and_allows_threads() -> None:
    text = """
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
static int nothing(void*) { return 0; }
int main() {
    static char stack[65536];
    int made = (syscall(SYS_fork) != -1) + (syscall(SYS_vfork) != -1);
    made += clone(nothing, stack + 65536, SIGCHLD, nullptr) != -1;
    std::thread thread([&] { made += 10; });
    thread.join();
    return made;
}
"""
    ended = run("#include <csignal>" + text)
    assert (ended.state, ended.exit_code, ended.left_processes) == ("exited", 10, 0), ended


def test_signals_go_to_itself_only() -> None:
    text = """#include <csignal>
#include <unistd.h>
int main() { return (kill(getppid(), SIGKILL) == 0) + (kill(0, SIGTERM) == 0) + (kill(1, 0) == 0)
    + (kill(-1, SIGCONT) == 0) + (kill(getpid(), 0) == 0 ? 0 : 50); }"""
    ended = run(text)
    assert (ended.state, ended.exit_code) == ("exited", 0), ended


def test_host_recursion_without_end() -> None:
    text = """int deep(int n) { volatile char much[1000]; much[0] = n; return deep(n + 1) + much[0]; }
int main() { return deep(0); }"""
    ended = run(text)
    assert ended.exit_code == -11 and ended.failure == "Host code has used up its stack."


def test_many_host_threads_take_turns() -> None:
    text = """#include <thread>
#include <vector>
__global__ void k(int* d) { *d = 1; }
void work() { for (int i = 0; i < 50; ++i) { int *d, h; cudaMalloc(&d, 4); k<<<1, 1>>>(d);
cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); if (h != 1) abort(); cudaFree(d); } }
int main() { std::vector<std::thread> all; for (int i = 0; i < 8; ++i) all.emplace_back(work);
for (auto& one : all) one.join(); }"""
    ended = run(text)
    assert ended.ok and not ended.faults and len(ended.launches) == 400, ended


def test_a_grid_too_large_to_end() -> None:
    text = "__global__ void k() { }\nint main() { k<<<2147483647, 1>>>(); return cudaDeviceSynchronize(); }"
    ended = run(text, time_limit=0.5)
    assert ended.state == outcome.TIMEOUT and "of `k` did not come to an end" in ended.failure


def test_what_a_program_started_is_ended_with_it(tmp_path: Path) -> None:
    """Where processes are allowed, as to compilers: also those that have left their group."""
    script = "sleep 99 & (setsid sleep 98 & setsid setsid sleep 97 &); exit 7"
    command = ["/bin/sh", "-c", script]
    guard = builder.guard(toolchain.cpu_compiler())
    ended = run_guarded(guard, command, cwd=tmp_path, env=dict(os.environ), limits=Limits())
    assert (ended.how, ended.number) == ("exit", 7) and ended.left >= 3 and ended.seconds < 5
    slow = ["/bin/sh", "-c", "setsid sleep 99 & sleep 99"]
    ended = run_guarded(guard, slow, cwd=tmp_path, env=dict(os.environ), limits=Limits(seconds=0.3))
    assert ended.how == "time" and ended.seconds < 5


def test_host_memory_without_end() -> None:
    for grow in (
        "std::vector<std::vector<char>> all; for (;;) all.emplace_back(10 << 20, 'x');",
        "for (;;) { volatile char* p = new char[10 << 20]; for (int i = 0; i < 10 << 20; i += 4096) p[i] = 1; }",
    ):
        ended = run(f"#include <vector>\nint main() {{ {grow} }}", memory_limit=300 << 20)
        assert ended.state in (outcome.MEMORY_LIMIT, outcome.SIGNALLED), ended
        assert "300 MiB" in ended.failure and "memory" in ended.failure, ended.failure


def test_device_memory_without_end() -> None:
    text = """#include <cstdio>
int main() { void* p; int n = 0;
while (cudaMalloc(&p, (size_t)1 << 30) == cudaSuccess) ++n;
printf("%d\\n", n); }"""
    ended = run(text, memory_limit=6 << 30)
    assert ended.stdout == "40\n"  # GiB of an A100
    assert ended.failure.startswith(
        "The allocation of 1,073,741,824 bytes failed: 0 bytes are left"
    )


def test_device_memory_that_this_machine_has_not() -> None:
    text = """int main() { void* p; for (;;) { cudaMalloc(&p, 100 << 20);
cudaMemset(p, 1, 100 << 20); cudaDeviceSynchronize(); } }"""
    ended = run(text, memory_limit=400 << 20)
    assert ended.state == outcome.MEMORY_LIMIT
    assert ended.failure == "The program used more than 400 MiB of memory, and was ended."


@pytest.mark.parametrize(
    "endless", ["for (;;) { }", "volatile int x = 1; while (x) { }", "sleep(1000);"]
)
def test_host_code_without_end(endless: str) -> None:
    ended = run(f"#include <unistd.h>\nint main() {{ {endless} }}", time_limit=0.5)
    assert ended.state == outcome.TIMEOUT and ended.exit_code is None
    assert "did not come to an end within 0.5 seconds" in ended.failure


def test_a_program_that_ignores_the_alarm() -> None:
    text = """#include <signal.h>
int main() { sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); for (;;) { } }"""
    ended = run(text, time_limit=0.5)
    assert ended.state == outcome.TIMEOUT and ended.seconds < 10
    assert ended.failure == "The program did not end within 0.5 seconds, and was ended."


def test_a_signal() -> None:
    ended = run("#include <csignal>\nint main() { raise(SIGKILL); }")
    assert (ended.state, ended.exit_code) == (outcome.SIGNALLED, -9)
    assert ended.failure == "The program was ended by signal 9: something ended it from outside."


def test_an_uncaught_exception() -> None:
    ended = run('#include <stdexcept>\nint main() { throw std::runtime_error("ouch"); }')
    assert ended.exit_code == -6 and "ouch" in ended.stderr and "uncaught" in ended.failure


def test_exit_codes_arrive_and_args_are_passed() -> None:
    ended = run(
        "#include <cstdlib>\nint main(int n, char** words) { return n + atoi(words[1]); }",
        args=["40"],
    )
    assert ended.exit_code == 42 and ended.failure == "The program ended with exit code 42."


def test_a_file_that_is_too_large() -> None:
    text = """#include <cstdio>
#include <cstring>
int main() { FILE* f = fopen("big", "w"); static char many[1 << 20]; while (fwrite(many, 1, sizeof many, f)); }"""
    ended = run(text, time_limit=60)
    assert ended.exit_code == -25 and "a file that is too large" in ended.failure


def test_files_go_in_and_come_out(tmp_path: Path) -> None:
    text = """#include <cstdio>
int main() { char b[6] = {}; FILE* in = fopen("in.bin", "rb"); if (!in || fread(b, 1, 5, in) != 5) return 1;
FILE* out = fopen("out.bin", "wb"); fwrite(b, 1, 5, out); fclose(out); }"""
    ended = run(text, inputs={"in.bin": b"12\x0045"}, outputs=["out.bin", "missing"])
    assert ended.files == {"out.bin": b"12\x0045"}
    (tmp_path / "in.bin").write_bytes(b"there")
    assert run(text, cwd=tmp_path).ok and (tmp_path / "out.bin").read_bytes() == b"there"
    with pytest.raises(ValueError, match="not a path"):
        run(text, inputs={"../x": b""})


def test_a_link_is_no_output(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"1")
    text = f'#include <unistd.h>\nint main() {{ return symlink("{secret}", "out"); }}'
    ended = run(text, outputs=["out"])
    assert ended.ok and ended.files == {}


def test_odd_bytes_of_output() -> None:
    ended = run('#include <cstdio>\nint main() { fwrite("\\xff\\0<b>\\x1b[31m", 1, 10, stdout); }')
    assert ended.stdout == "\ufffd\0<b>\x1b[31m" and "<b>" not in ended._repr_html_()


def test_many_at_once() -> None:
    program = cuda.build("int main(int n, char**) { return n; }", backend="cpu")
    codes = []
    threads = [
        threading.Thread(target=lambda: codes.append(cuda.run(program).exit_code))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [1] * 12


def test_a_killed_caller_takes_the_program_with_it() -> None:
    text = "#include <unistd.h>\nint main() { for (;;) pause(); }"
    program = cuda.build(text, backend="cpu")
    child = os.fork()
    if child == 0:
        cuda.run(program, time_limit=100)
        os._exit(0)
    name = str(program.executable)
    mine = psutil.Process(child)
    while not any(name in p.cmdline() for p in mine.children(recursive=True)):
        time.sleep(0.02)
    started = mine.children(recursive=True)
    os.kill(child, 9)
    os.waitpid(child, 0)
    _, alive = psutil.wait_procs(started, timeout=5)
    assert not alive


def test_very_many_calls_are_cut_and_nothing_is_lost_that_matters() -> None:
    text = """__global__ void k(int* d) { *d = 1; }
int main() { int* d; for (int i = 0; i < 8000; ++i) { cudaMalloc(&d, 4); k<<<1, 1>>>(d);
cudaDeviceSynchronize(); cudaGetLastError(); if (i != 7990) cudaFree(d); } }"""
    ended = run(text, time_limit=30)
    (leak,) = ended.faults
    assert ended.ok and leak.kind == "leak" and leak.line == 2
    assert 10_000 < len(ended.operations) + len(ended.calls) + len(ended.allocations) <= 20_000


def test_an_error_in_an_endless_loop() -> None:
    text = "int main() { void* p; for (;;) cudaMemcpy(p, nullptr, 4, cudaMemcpyHostToDevice); }"
    ended = run(text, time_limit=0.5)
    assert ended.state == outcome.TIMEOUT and len(ended.calls) == 2000


def test_large_arrays_fit_beside_what_the_checks_need() -> None:
    """120 MB of data; to look for races in all of it would take 1.2 GB."""
    text = (Path(__file__).parent / "programs" / "vec_add.cu").read_text()
    ended = run(text, args=["10000000"], time_limit=60)
    assert ended.ok and ended.stdout == "ok\n", ended
