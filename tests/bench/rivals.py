"""The same test of the same answer under mp.spawn and under torchrun, as one would write it."""

from __future__ import annotations

import os
import pickle
import random
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from autograder.exercise import Case, Exercise, Lesson
from course.machine import LOOPBACK

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Test:
    """All that the rivals' processes need: they get it by pickle."""

    prelude: str
    text: str
    name: str
    call: Callable[..., Any]
    case: Case

    def run(self, rank: int) -> None:
        namespace: dict[str, Any] = {}
        exec(self.prelude, namespace)
        exec(self.text, namespace)
        result = self.call(namespace[self.name], *self.case.inputs[rank])["returned"]
        total = torch.stack(list(self.case.expected)).sum(0)
        assert torch.equal(result, total), (result, total)


def the_test(lesson: Lesson, exercise: Exercise, text: str) -> Test:
    case = exercise.cases(random.Random(1))[0]
    return Test(lesson.prelude, text, exercise.name, exercise.call, case)


# mp.spawn


def spawn(test: Test) -> None:
    ranks = test.case.world_size
    mp.spawn(_spawned, (ranks, _free_port(), test), nprocs=ranks)


def _spawned(rank: int, world_size: int, port: int, test: Test) -> None:
    _join(rank, world_size, port)
    test.run(rank)
    dist.destroy_process_group()


def _join(rank: int, world_size: int, port: int) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = LOOPBACK
    torch.set_num_threads(1)
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world_size)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# torchrun


def torchrun(test: Test) -> None:
    """torchrun on this file, with the test in another."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "test.pickle"
        data.write_bytes(pickle.dumps(test))
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone",
                   "--nproc-per-node", str(test.case.world_size), __file__, str(data)]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=_environ())


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": LOOPBACK}


def _under_torchrun(data: str) -> None:
    # As a script, this file is __main__; the pickle knows its classes by the module's name.
    from tests.bench import rivals

    test: rivals.Test = pickle.loads(Path(data).read_bytes())
    dist.init_process_group("gloo")
    test.run(dist.get_rank())
    dist.destroy_process_group()


# memory and growth


def reduce_ones() -> None:
    dist.all_reduce(torch.ones(10))


def memory_mib() -> float:
    """Proportional set size of this process after one all_reduce, in MiB (Linux)."""
    reduce_ones()
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel gives no Pss")


def spawn_memory(ranks: int) -> float:
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(_spawned_memory, (ranks, _free_port(), queue), nprocs=ranks)
    return statistics.mean(queue.get() for _ in range(ranks))


def _spawned_memory(rank: int, ranks: int, port: int, queue: Any) -> None:
    _join(rank, ranks, port)
    mine = memory_mib()
    dist.barrier()  # all are still there: shared pages are divided among as many
    queue.put(mine)
    dist.destroy_process_group()


if __name__ == "__main__":
    _under_torchrun(sys.argv[1])
