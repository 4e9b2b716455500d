"""Run a CUDA program: in a folder of its own, under limits, all that it did written down."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from course.cuda import events, failure, outcome, toolchain
from course.cuda.builder import CompileError, Program, build, guard, text_file
from course.cuda.card import A100, Card
from course.cuda.outcome import CudaRun
from course.cuda.process import Ended, Limits, run_guarded
from course.cuda.toolchain import ToolMissing, cpu_compiler

INJECTIONS = ("malloc", "free", "copy", "launch", "sync", "call")
_STATES = {
    "exit": outcome.EXITED,
    "signal": outcome.SIGNALLED,
    "time": outcome.TIMEOUT,
    "memory": outcome.MEMORY_LIMIT,
    "output": outcome.OUTPUT_LIMIT,
}
_LATE = 124  # the exit status with which the runtime ends a program that is late
_OF_CHECKS = 512 << 20  # what the runtime may need for itself (MOST_CELLS in memory.h, and more)
_LARGEST_FILE = 256 << 20


def run(
    program: Program | str,
    *,
    args: Sequence[str] = (),
    inputs: Mapping[str, bytes] | None = None,
    outputs: Sequence[str] = (),
    cwd: str | os.PathLike[str] | None = None,
    seed: int = 0,
    inject: tuple[str, int] | None = None,
    time_limit: float = 10.0,
    output_limit: int = 1 << 20,
    memory_limit: int = 1 << 30,
    touches: bool = False,
    max_touches: int = 1 << 20,
    card: Card = A100,
    resources: Iterable[Any] | None = None,
    prelude: str = "",
    harness: str = "",
    backend: str | None = None,
) -> CudaRun:
    """Run a program, or build a text and run it.

    ``args`` are ``argv[1:]``. ``inputs`` are files of the program's working folder, which is a
    fresh one unless ``cwd`` names another; ``outputs`` are read back into ``files``. ``seed``
    chooses the order of threads, blocks and streams: 0 is the natural one. ``inject=("malloc",
    2)`` makes the second allocation fail; other kinds are copy, launch, sync (an accepted launch
    that fails when it runs) and call (any call of the API). ``resources`` are figures of kernels
    from ptxas, with attributes symbol, name, registers, shared, constant, local. Limits are
    seconds and bytes. On a GPU there are no seeds, touches, cards and injections.

    A text that does not compile gives a run whose state is ``"not_compiled"``.

    Raises:
        ToolMissing: there is no compiler, or it does not work.
        ValueError: an argument makes no sense.
    """
    if inject is not None and (inject[0] not in INJECTIONS or inject[1] < 1):
        raise ValueError(f"inject is {inject!r}: it is one of {INJECTIONS} and a number from 1.")
    if isinstance(program, str):
        try:
            program = build(program, prelude=prelude, harness=harness, backend=backend)
        except CompileError as error:
            return CudaRun(
                outcome.NOT_COMPILED, None, diagnostics=error.diagnostics, failure=str(error)
            )
    if inject is not None and program.backend != "cpu":
        raise ValueError("Calls can be made to fail on the CPU only: build with backend='cpu'.")
    limits = Limits(time_limit, output_limit, memory_limit)
    config = [f"seed={seed}", f"time_limit_ms={int(time_limit * 1000)}", card.as_config()]
    config += [f"max_touches={max_touches}", f"host_bytes={memory_limit}"]
    if inject is not None:
        config += [f"inject={inject[0]}", f"inject_number={inject[1]}"]
    with ExitStack() as stack:
        own = stack.enter_context(_folder())
        folder = Path(cwd).resolve() if cwd is not None else Path(own)
        _put(folder, inputs or {})
        if resources is not None:
            config.append(f"resources={_put_resources(resources)}")
        ended = _start(program, args, folder, own, limits, config, touches)
        files = _take(folder, outputs)
    return _outcome(program, ended, limits, seed, files, touches)


def run_seeds(
    program: Program | str, *, seeds: Sequence[int] = (0, 1, 2, 3), **how: Any
) -> list[CudaRun]:
    """The same program under several schedules. See :func:`run` for ``how``."""
    if isinstance(program, str):
        parts = {key: how.pop(key) for key in ("prelude", "harness", "backend") if key in how}
        try:
            program = build(program, **parts)
        except CompileError:
            return [run(program, **parts)]
    return [run(program, seed=seed, **how) for seed in seeds]


def touched(run: CudaRun, allocation: str | int) -> Any:
    """The rows of ``run.touches`` about one allocation, by its id or its pointer's name."""
    if run.touches is None:
        raise ValueError("Touches were not recorded: run with touches=True.")
    names = {a.name: a.id for a in run.allocations}
    wanted = names.get(allocation, -1) if isinstance(allocation, str) else allocation
    return run.touches[run.touches["allocation"] == wanted]


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cuda-", ignore_cleanup_errors=True)


def _put(folder: Path, inputs: Mapping[str, bytes]) -> None:
    for name, data in inputs.items():
        if name != os.path.basename(name):
            raise ValueError(f"an input's name is {name!r}; it is the name of a file, not a path.")
        (folder / name).write_bytes(data)


def _put_resources(resources: Iterable[Any]) -> str:
    """Kept by content beside the builds: the program's own folder is the program's to write to."""
    rows = []
    for found in resources:
        figures = found if isinstance(found, Mapping) else vars(found)
        numbers = [
            str(int(figures.get(k, 0))) for k in ("registers", "shared", "constant", "local")
        ]
        rows.append(" ".join([figures.get("symbol") or "-", figures["name"], *numbers]))
    return str(text_file("resources", "\n".join(rows) + "\n"))


def _take(folder: Path, outputs: Sequence[str]) -> dict[str, bytes]:
    """Plain files only, and no more than what a file may have: a program made them."""
    found = {}
    for name in outputs:
        path = folder / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            continue
        found[name] = path.read_bytes()
    return found


def _start(
    program: Program,
    args: Sequence[str],
    folder: Path,
    temporary: str,
    limits: Limits,
    config: Sequence[str],
    touches: bool,
) -> Ended:
    env, channels = toolchain.environment(), ["report"]
    if program.backend == "cpu":
        channels += ["touches"] * touches
        env["CUDA_CPU"] = ";".join([*config, *(f"{name}={{{name}}}" for name in channels)])
        # The runtime's own limit comes first: it can name the line.
        limits = dataclasses.replace(
            limits, seconds=limits.seconds + 0.5, memory=limits.memory + _OF_CHECKS, alone=True
        )
    else:
        env |= {k: v for k, v in os.environ.items() if k.startswith(("CUDA_", "NVIDIA_"))}
        limits = dataclasses.replace(
            limits, memory=0
        )  # the driver's mappings are not the program's
    command = [str(program.executable), *args]
    guarded = guard(cpu_compiler())
    try:
        ended = run_guarded(
            guarded,
            command,
            cwd=folder,
            env=env,
            limits=limits,
            channels=channels,
            temporary=temporary,
        )
    except OSError as error:
        raise ToolMissing(f"The program cannot be started: {error}") from error
    if ended.how == "failed":
        raise ToolMissing(f"The program cannot be started: {os.strerror(ended.number)}.")
    return ended


def _outcome(
    program: Program,
    ended: Ended,
    limits: Limits,
    seed: int,
    files: Mapping[str, bytes],
    touches: bool,
) -> CudaRun:
    story = events.read(ended.channels[0], program) if program.backend == "cpu" else events.Story()
    state = _STATES[ended.how]
    late = any(fault.kind == "never_ends" for fault in story.faults)
    if ended.how == "exit" and ended.number == _LATE and late:
        state = outcome.TIMEOUT
    codes = {"exit": ended.number, "signal": -ended.number}
    found = CudaRun(
        state=state,
        exit_code=codes.get(ended.how) if state != outcome.TIMEOUT else None,
        stdout=ended.stdout.decode("utf-8", "replace"),
        stderr=ended.stderr.decode("utf-8", "replace"),
        faults=story.faults,
        launches=story.launches,
        operations=story.operations,
        calls=story.calls,
        allocations=story.allocations,
        leaks=story.leaks,
        touches=events.touches(ended.channels[1]) if touches and len(ended.channels) > 1 else None,
        seconds=ended.seconds,
        build_seconds=program.seconds,
        seed=seed,
        backend=program.backend,
        dropped_output_bytes=ended.dropped,
        last_error=story.last_error,
        unread_launch_error=story.unread_launch_error,
        files=files,
        left_processes=ended.left,
    )
    return dataclasses.replace(found, failure=failure.sentence(found, limits))
