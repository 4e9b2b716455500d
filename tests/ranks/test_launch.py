"""What ``launch`` promises of runs that go well, wherever it is called from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
import torch

from course.ranks import launch
from course.ranks.function import CannotTravel
from tests.ranks import jobs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("nprocs", [1, 2, 3, 4, 7])
def test_each_rank_knows_itself_and_collectives_work(nprocs):
    run = launch(jobs.rank_and_size, nprocs)
    assert run.ok
    assert run.values == [(rank, nprocs) for rank in range(nprocs)]
    total = sum(range(1, nprocs + 1))
    assert launch(jobs.summed, nprocs, 1.0, 10.0).values == [[total, 10 * total]] * nprocs


def test_ranks_are_processes_of_their_own():
    run = launch(jobs.pids, 3)
    own = {pid for pid, _ in run.values}
    assert len(own) == 3
    assert os.getpid() not in own


def test_tensors_go_there_and_come_back():
    sent = [torch.arange(6).reshape(2, 3), {"a": (1, None, "é")}]
    back = launch(jobs.give_back, 2, sent).values[1]
    assert torch.equal(back[0], sent[0])
    assert back[1] == sent[1]


def test_each_rank_gets_its_own_arguments():
    run = launch(jobs.give_back, 3, per_rank=[("a",), ("b",), ("c",)])
    assert run.values == ["a", "b", "c"]


def test_a_megabyte_each_way():
    big = torch.rand(1 << 20)
    assert torch.equal(launch(jobs.give_back, 2, big).values[0], big)


def test_lambdas_and_local_functions_travel():
    offset = 5

    def local():
        return offset + int(os.environ["RANK"])

    assert launch(local, 2).values == [5, 6]
    assert launch(lambda: offset, 1).values == [5]


def test_output_is_kept_by_rank_with_and_without_newline_and_from_below_python():
    run = launch(jobs.say, 2)
    for rank, outcome in enumerate(run):
        assert outcome.stdout.replace("raw\n", "") == f"out {rank}\nno newline"
        assert "raw\n" in outcome.stdout
        assert outcome.stderr == f"err {rank}\n"
    assert "[rank 1] out 1" in repr(run)
    assert "[rank 1" in run._repr_html_()


def test_last_words_before_a_hard_exit_are_kept():
    outcome = launch(jobs.say_and_leave, 1)[0]
    assert "last words" in outcome.stdout
    assert "raw words" in outcome.stdout


def test_a_flood_of_output_is_cut_and_counted():
    run = launch(lambda: print("x" * 3_000_000), 1)
    assert run.ok
    assert len(run[0].stdout) == 1_000_000
    assert run[0].dropped_output_bytes == 2_000_001


def test_the_environment_is_that_of_torchrun_whatever_the_caller_carries(monkeypatch):
    for name, value in {
        "RANK": "7",
        "WORLD_SIZE": "99",
        "MASTER_ADDR": "192.0.2.1",
        "MASTER_PORT": "29500",
        "GLOO_SOCKET_IFNAME": "nope0",
        "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
        "TORCHELASTIC_RUN_ID": "x",
        "OMP_NUM_THREADS": "64",
        "KEEP_ME": "kept",
    }.items():
        monkeypatch.setenv(name, value)
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "TORCH_DISTRIBUTED_DEBUG",
             "TORCHELASTIC_RUN_ID", "KEEP_ME")  # fmt: skip
    run = launch(jobs.environment, 2, *names)
    assert run.ok, run.failure
    assert list(run.values[1].values()) == ["1", "1", "2", "127.0.0.1", None, None, "kept"]
    assert launch(jobs.summed, 2, 1.0).ok


def test_a_rank_may_join_by_itself():
    run = launch(jobs.join_by_itself, 3, process_group=False)
    assert run.values == [(0, 3), (1, 3), (2, 3)]


def test_random_generators_are_not_the_servers():
    first, second = launch(jobs.random_numbers, 2).values
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert first[2] == second[2], "torch's default seed is the same in every fresh process"


def test_threads_are_the_cores_divided_by_the_ranks():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert launch(torch.get_num_threads, 1).values == [cores]
    assert launch(torch.get_num_threads, 2).values == [max(1, cores // 2)] * 2


def test_several_launches_at_once_do_not_meet():
    results: list = [None] * 6

    def one(k: int) -> None:
        results[k] = launch(jobs.summed, 2, float(k)).values

    threads = [threading.Thread(target=one, args=(k,), daemon=True) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[[3.0 * k]] * 2 for k in range(6)]


def test_a_forked_caller_gets_a_server_of_its_own():
    launch(jobs.give_back, 1, None)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if launch(jobs.rank_and_size, 2).ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert launch(jobs.rank_and_size, 2).ok


def test_the_caller_is_left_as_it_was():
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    handlers = [signal.getsignal(s) for s in signals]
    environ, directory, path = dict(os.environ), os.getcwd(), list(sys.path)
    launch(jobs.summed, 2, 1.0)
    assert [signal.getsignal(s) for s in signals] == handlers
    assert (dict(os.environ), os.getcwd(), list(sys.path)) == (environ, directory, path)
    assert not torch.cuda.is_initialized()
    assert not torch.distributed.is_initialized()


def test_from_a_script_without_a_main_guard(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
        import torch, torch.distributed as dist
        from course.ranks import launch

        FACTOR = 3

        def work(x):
            t = torch.tensor([x * FACTOR])
            dist.all_reduce(t)
            return t.item()

        print("started")
        print(launch(work, 3, 2).values)
    """)
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == "started\n[18, 18, 18]\n", done.stderr


def test_a_killed_server_is_replaced():
    from course.ranks import launch as module  # the function; its module is beside it

    assert module is launch
    server = sys.modules["course.ranks.launch"]._current
    os.kill(server._process.pid, signal.SIGKILL)
    assert launch(jobs.rank_and_size, 2).ok


def test_start_up_is_measured_from_the_launch():
    run = launch(jobs.sleep, 2, 0.2)
    for outcome in run:
        assert 0 < outcome.began < outcome.ended - 0.19
        assert outcome.ended <= run.seconds


# refusals


@pytest.mark.parametrize(
    ("nprocs", "kind", "words"),
    [
        (0, ValueError, "nprocs is 0"),
        (-1, ValueError, "nprocs is -1"),
        (10_000, ValueError, "nprocs is 10,000; from 1 to 64"),
        (2.0, TypeError, "an int"),
        (True, TypeError, "an int"),
        ("4", TypeError, "an int"),
    ],
)
def test_a_senseless_number_of_processes_is_refused_in_one_sentence(nprocs, kind, words):
    with pytest.raises(kind, match=words) as refused:
        launch(jobs.rank_and_size, nprocs)
    assert "\n" not in str(refused.value)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="launch\\(\\) runs a function, and 'work' is a str"):
        launch("work", 2)


def test_senseless_timeouts_and_arguments_are_refused():
    with pytest.raises(ValueError, match="timeout is 0"):
        launch(jobs.rank_and_size, 2, timeout=0)
    with pytest.raises(ValueError, match="per_rank has 1 entries for 2 ranks"):
        launch(jobs.give_back, 2, per_rank=[(1,)])


def test_what_cannot_be_sent_is_refused_before_anything_starts():
    lock = threading.Lock()
    with pytest.raises(CannotTravel, match="cannot be sent to another process"):
        launch(lambda: lock.acquire(), 2)
    with pytest.raises(CannotTravel, match="cannot be sent"):
        launch(jobs.give_back, 2, (n for n in range(3)))


def test_nccl_without_gpus_is_refused_before_anything_starts():
    too_many = torch.cuda.device_count() + 1
    with pytest.raises(ValueError, match="NCCL needs a GPU for each"):
        launch(jobs.rank_and_size, too_many, backend="nccl")


def test_a_long_run_is_not_taken_for_a_deadlock():
    def one_computes_while_the_others_wait():
        import torch.distributed as dist

        if dist.get_rank() == 0:
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                pass
        dist.barrier()

    assert launch(one_computes_while_the_others_wait, 3).ok
