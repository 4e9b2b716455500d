"""Functions that ranks run in these tests: good ones, and one for each way to end badly."""

from __future__ import annotations

import builtins
import ctypes
import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def rank_and_size() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def summed(*values: float) -> list[float]:
    total = torch.tensor(values) * (dist.get_rank() + 1)
    dist.all_reduce(total)
    return total.tolist()


def give_back(value):
    return value


def environment(*names: str) -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in names}


def say() -> None:
    rank = dist.get_rank()
    print("out", rank)
    print("no newline", end="")
    print("err", rank, file=sys.stderr)
    os.write(1, b"raw\n")


def say_and_leave() -> None:
    print("last words", end="")
    os.write(1, b"raw words")
    os._exit(0)


# bad endings; each leaves some rank waiting


def raise_in_one() -> None:
    if dist.get_rank() == 0:
        raise ValueError("boo")
    dist.barrier()


def exit_in_one() -> None:
    if dist.get_rank() == 0:
        sys.exit(3)
    dist.barrier()


def hard_exit_in_one() -> None:
    if dist.get_rank() == 0:
        os._exit(0)
    dist.barrier()


def killed_in_one() -> None:
    if dist.get_rank() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def segfault_in_one() -> None:
    if dist.get_rank() == 0:
        ctypes.string_at(0)
    dist.barrier()


def abort_in_one() -> None:
    if dist.get_rank() == 0:
        os.abort()
    dist.barrier()


def sizes_differ() -> None:
    dist.all_reduce(torch.ones(100 * (dist.get_rank() + 1)))


def loops_alone() -> None:
    while dist.get_rank() == 0:
        pass


def touch_while_under_way(how: str) -> None:
    tensor = torch.ones(4)
    work = dist.all_reduce(tensor, async_op=True)
    if how == "before":
        tensor /= 2
    work.wait()
    if how == "after":
        tensor /= 2


def raise_this(kind: str, message: str) -> None:
    raise getattr(builtins, kind)(message)


def never_joins() -> None:
    """With process_group=False: rank 0 never comes."""
    if int(os.environ["RANK"]) != 0:
        dist.init_process_group("gloo")


def send_first() -> None:
    rank, size = rank_and_size()
    buffer = torch.ones(4)
    dist.send(buffer, (rank + 1) % size)
    dist.recv(buffer, (rank - 1) % size)


def one_in_barrier() -> None:
    if dist.get_rank() == 0:
        dist.barrier()


def endless_loop() -> None:
    if dist.get_rank() == 0:
        while True:
            pass
    dist.barrier()


def deaf_to_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def leave_children() -> None:
    """Children in other sessions, with and without a living parent; then wait for ever."""
    for _ in range(2):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(300)
            os._exit(0)
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    one_in_barrier()


def forked_child_returns_too() -> int:
    """The child comes out of the function as well; it must not be taken for the rank."""
    if os.fork() == 0:
        return -1
    time.sleep(0.1)
    return dist.get_rank()


def garbage_on_the_channel() -> None:
    """Write nonsense to every descriptor that the rank has: one is its channel."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    time.sleep(300)


def unplain() -> object:
    return torch.nn.Linear(2, 2)


def join_by_itself() -> tuple[int, int]:
    dist.init_process_group("gloo")
    return rank_and_size()


def take_the_port() -> None:
    """As if somebody else had been faster: listen on MASTER_PORT, then try to use it."""
    import socket

    if os.environ["RANK"] == "0":
        taken = socket.socket()
        taken.bind(("127.0.0.1", int(os.environ["MASTER_PORT"])))
        taken.listen()
    dist.init_process_group("gloo")


def log_of_calls() -> None:
    rank, size = rank_and_size()
    work = dist.isend(torch.ones(3), (rank + 1) % size)
    dist.recv(torch.empty(3), (rank - 1) % size)
    work.wait()
    dist.all_gather_object([None] * size, rank)
    dist.broadcast(torch.zeros(2, dtype=torch.int64), src=1)


def batched_ring() -> None:
    rank, size = rank_and_size()
    ops = [
        dist.P2POp(dist.isend, torch.ones(5), (rank + 1) % size),
        dist.P2POp(dist.irecv, torch.empty(5), (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()


def random_numbers() -> list[float]:
    import random

    import numpy as np

    return [random.random(), float(np.random.rand()), torch.rand(1).item()]


def pids() -> tuple[int, int]:
    return os.getpid(), os.getppid()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def send_past_the_end() -> None:
    rank, size = rank_and_size()
    if rank == size - 1:
        dist.send(torch.ones(1), dst=size)
