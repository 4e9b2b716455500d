"""Every way a run can end badly: explained by its cause, and nothing left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from course.ranks import launch, outcome
from tests.ranks import jobs
from tests.ranks.leftovers import nothing_left

ROOT = Path(__file__).resolve().parents[2]

# job, code of the failure, ranks to blame, words of the message
ENDINGS = {
    "exception": (jobs.raise_in_one, "exception", (0,), ["Rank 0 raised ValueError: boo at line"]),
    "sys.exit": (jobs.exit_in_one, "left_early", (0,), ["sys.exit(3) at line", "waits in barrier"]),
    "os._exit": (jobs.hard_exit_in_one, "left_early", (0,), ["exit code 0", "waits in barrier"]),
    "SIGKILL": (jobs.killed_in_one, "signal", (0,), ["SIGKILL", "memory"]),
    "segfault": (jobs.segfault_in_one, "signal", (0,), ["SIGSEGV"]),
    "abort": (jobs.abort_in_one, "abort", (0,), ["SIGABRT"]),
    "sizes": (jobs.sizes_differ, "sizes_differ", (0, 1, 2), ["rank 0: float32[100]"]),
    "sends": (jobs.send_first, "send_send", (0, 1, 2), ["every waiting rank is in a send"]),
    "past the end": (jobs.send_past_the_end, "no_such_rank", (2,), ["there is no rank 3"]),
    "barrier": (jobs.one_in_barrier, "missing_peer", (0,), ["ranks 1 and 2 have already returned"]),
    "children": (jobs.leave_children, "missing_peer", (0,), ["rank 0 still waits."]),
    "not plain": (jobs.unplain, "not_plain", (0, 1, 2), ["value is a Linear"]),
    "garbage": (jobs.garbage_on_the_channel, None, None, []),
}  # fmt: skip
TIMED = {
    "loop": (jobs.endless_loop, "timeout", (0,), ["rank 0 was still busy at line"]),
    "deaf": (jobs.deaf_to_sigterm, "timeout", (0, 1, 2), ["had not returned after 1 s"]),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_names_its_cause_and_leaves_nothing(name):
    job, code, blamed, words = ENDINGS[name]
    with nothing_left():
        began = time.monotonic()
        run = launch(job, 3, timeout=20)
        assert time.monotonic() - began < 6
    assert not run.ok
    if code is not None:
        assert (run.failure.code, run.failure.ranks) == (code, blamed), run.failure
    for word in words:
        assert word in run.failure.message
    shown = " ".join(repr(run).split())
    assert " ".join(run.failure.message.split())[:60] in shown


@pytest.mark.parametrize("name", TIMED)
def test_a_time_limit_says_who_was_busy_and_where(name):
    job, code, blamed, words = TIMED[name]
    with nothing_left():
        run = launch(job, 3, timeout=1)
    assert (run.failure.code, run.failure.ranks) == (code, blamed), run.failure
    for word in words:
        assert word in run.failure.message
    assert run.seconds < 4


def test_a_time_limit_says_who_had_returned():
    run = launch(jobs.loops_alone, 3, timeout=1)
    assert "Ranks 1 and 2 had returned." in run.failure.message
    assert "Does rank 0 wait there for ranks 1 and 2?" in run.failure.advice


def test_a_rank_that_skips_a_collective_is_told_to_enter_it():
    run = launch(jobs.one_in_barrier, 2)
    assert "look for a return before this line" in run.failure.advice


@pytest.mark.parametrize(
    ("kind", "message", "advice"),
    [
        ("AttributeError", "'NoneType' object has no attribute 'wait'", "without async_op=True"),
        ("AttributeError", "'NoneType' object has no attribute 'flatten'", "parameter's .grad"),
        ("ValueError", "optimizer got an empty parameter list", "at least one parameter"),
        ("TypeError", "iter() returned non-iterator of type 'list'", "must return an iterator"),
        ("ValueError", "something else", None),
    ],
)
def test_an_exception_whose_cause_is_known_comes_with_advice(kind, message, advice):
    failure = launch(jobs.raise_this, 1, kind, message).failure
    assert failure.code == "exception"
    assert (advice in failure.advice) if advice else failure.advice == ""


def test_a_long_exception_is_cut_in_the_sentence_and_whole_in_the_traceback():
    failure = launch(jobs.raise_this, 1, "RuntimeError", "one line.\n" * 40 + "the end").failure
    assert len(failure.message) < 400
    assert "\n" not in failure.message
    assert len(failure.lines[0].note) < 170
    assert "the end" in failure.traceback


def test_a_rank_that_never_joins():
    with nothing_left():
        run = launch(jobs.never_joins, 3, process_group=False, timeout=20)
    assert run.failure.code in ("missing_peer", "deadlock")
    assert [line.note for line in run.failure.lines] == ["waits in init_process_group"] * 2
    assert run.seconds < 6


def test_a_deadlock_is_a_verdict_within_three_seconds():
    launch(jobs.give_back, 1, None)
    began = time.monotonic()
    run = launch(jobs.send_first, 4, timeout=60)
    assert time.monotonic() - began < 3
    assert [o.state for o in run] == [outcome.STUCK] * 4
    notes = [(line.rank, line.note) for line in run.failure.lines]
    assert notes == [(r, f"waits in send to rank {(r + 1) % 4}") for r in range(4)]
    lines = {line.line for line in run.failure.lines}
    assert len(lines) == 1
    source = Path(jobs.__file__).read_text().splitlines()
    assert "dist.send(buffer" in source[lines.pop() - 1]


def test_the_line_and_text_of_an_exception_are_the_users():
    failure = launch(jobs.raise_in_one, 2).failure
    source = Path(jobs.__file__).read_text().splitlines()
    assert failure.lines[0].text == 'raise ValueError("boo")'
    assert source[failure.lines[0].line - 1].strip() == failure.lines[0].text
    assert "ValueError: boo" in failure.traceback


def test_exit_codes_and_signals_are_kept():
    assert launch(jobs.exit_in_one, 1)[0].exit_code == 3
    assert launch(jobs.killed_in_one, 1)[0].exit_code == -signal.SIGKILL
    assert launch(jobs.abort_in_one, 1)[0].exit_code == -signal.SIGABRT
    ended = launch(jobs.raise_in_one, 2)
    assert ended[0].state == outcome.RAISED


def test_a_forked_child_that_comes_back_is_not_the_rank():
    with nothing_left():
        run = launch(jobs.forked_child_returns_too, 2)
    assert run.values == [0, 1]


def test_a_taken_port_is_named():
    run = launch(jobs.take_the_port, 2, process_group=False, timeout=20)
    assert run.failure.code == "port_in_use"
    assert "MASTER_PORT" in run.failure.advice


def test_an_interrupt_ends_the_run_and_reaches_the_caller():
    with nothing_left():
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            launch(jobs.deaf_to_sigterm, 3, timeout=60)
        assert time.monotonic() - began < 3
        timer.join()
    assert launch(jobs.rank_and_size, 2).ok


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_killed_caller_takes_everything_with_it(tmp_path):
    script = tmp_path / "caller.py"
    script.write_text(
        textwrap.dedent("""
        from course.ranks import launch
        from tests.ranks import jobs
        print("ready", flush=True)
        launch(jobs.leave_children, 3, timeout=100)
        launch(jobs.deaf_to_sigterm, 3, timeout=100)
    """)
    )
    caller = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert caller.stdout.readline() == b"ready\n"
    give_up = time.monotonic() + 30
    family: list[psutil.Process] = []
    while len(family) < 5:  # server, keeper and three ranks
        assert time.monotonic() < give_up
        time.sleep(0.05)
        family = psutil.Process(caller.pid).children(recursive=True)
    caller.kill()
    caller.wait()
    caller.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []


@pytest.mark.slow
def test_a_hundred_launches_leave_nothing_behind():
    failing = [(job, 20) for job, *_ in ENDINGS.values()]
    failing += [(job, 0.5) for job, *_ in TIMED.values()]
    with nothing_left():
        for k in range(100):
            if k % 3 == 2:
                job, limit = failing[k // 3 % len(failing)]
                assert not launch(job, 3, timeout=limit).ok
            else:
                assert launch(jobs.summed, 2, float(k)).values == [[3.0 * k]] * 2
