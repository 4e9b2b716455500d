"""The warm server: has imported torch, and forks a keeper for each launch.

It runs in a process of its own, started by :mod:`course.ranks.launch`, and does nothing but
import and fork: CUDA must never be initialised here (it cannot be used in a fork afterwards),
and no OpenMP region may run (its threads do not survive one). It ends when its caller does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys

READY = b"+"


def main(descriptor: int, preload: list[str]) -> None:
    """Serve launches asked for on the socket ``descriptor`` until its other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the caller's to handle
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    control = socket.socket(fileno=descriptor)
    from course.ranks import calls, keeper, wire

    calls.install()
    for module in preload:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page that holds an object
    control.sendall(READY)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        caller = socket.socket(fileno=descriptors[0])
        if os.fork() == 0:
            control.close()
            try:
                _, header = wire.receive(caller)
                keeper.Keeper(caller, json.loads(header)).run()
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        caller.close()
