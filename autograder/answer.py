"""What a rank does with an answer: run its text in a fresh namespace, and call it."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

FILE = "<answer>"  # the file name in every traceback; line 1 is the first line of the cell


class NotDefined(NameError):
    """The answer's text ran, and did not define the exercise's function."""


def run_answer(prelude: str, text: str, name: str, call: Callable[..., Any], *inputs: Any) -> Any:
    """The value of ``call(answer, *inputs)``, where ``answer`` is what ``text`` calls ``name``."""
    namespace: dict[str, Any] = {"__name__": "answer"}
    exec(compile(prelude, "<prelude>", "exec"), namespace)
    # Tracebacks quote source lines from here.
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    exec(compile(text, FILE, "exec"), namespace)
    if not callable(namespace.get(name)):
        raise NotDefined(f"the cell ran, but {name} is not a function afterwards")
    return call(namespace[name], *(_on_device(value) for value in inputs))


def _on_device(value: Any) -> Any:
    """The input where this rank's backend can send it from: NCCL moves GPU memory only."""
    if isinstance(value, torch.Tensor) and dist.get_backend() == "nccl":
        return value.cuda()
    return value
