"""The cell magic ``%%cuda``: ``%load_ext course.cuda.magic`` makes it known.

A cell with a ``main`` is compiled and run; one without is compiled, so that its errors show.
Lines in messages are those of the cell, the magic's own line being the first.
"""

from __future__ import annotations

import argparse
import shlex
import threading
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

from course.cuda import builder, card, runner
from course.cuda.builder import CompileError, Program
from course.cuda.outcome import NOT_COMPILED, CudaRun
from course.cuda.toolchain import ToolMissing

CARDS = {"a100": card.A100, "l4": card.L4, "h100": card.H100}


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%cuda: {message}. `%cuda` lists what there is.")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError(message or "")


def _parser() -> _Arguments:
    parser = _Arguments(prog="%%cuda", description="Compile CUDA C++ and run it.", add_help=False)
    add = parser.add_argument
    add("--help", action="store_true", help="show this")
    add("--seed", type=int, default=0, help="order of threads and blocks; 0 is the natural one")
    for kind in runner.INJECTIONS:
        add(f"--fail-{kind}", type=int, metavar="K", help=f"make the K-th {kind} fail")
    add("--time", type=float, default=10.0, metavar="SECONDS", help="time limit")
    add("--card", choices=sorted(CARDS), default="a100", help="the card that the CPU plays")
    add(
        "--cpu",
        action="store_true",
        help="the CPU, even where there is a GPU; so do --seed, --touches, --fail-…",
    )
    add("--arch", help="architecture for nvcc, such as sm_90")
    add("--touches", action="store_true", help="note which thread touched which element")
    add("--name", metavar="VARIABLE", help="keep the run in this variable")
    add("--args", default="", metavar="WORDS", help="the program's arguments, in quotes")
    return parser


def run_cell(line: str, cell: str) -> CudaRun | str:
    """What the magic does, without a notebook: the run, or a sentence if nothing was run.

    ``cell`` is what stands below the magic's line.

    Raises:
        UsageError: the options are wrong.
    """
    options = _options(line)
    if options.help:
        return _parser().format_help()
    source = "\n" + cell  # the magic's line is the first of the cell
    runs = builder.has_main(source)
    of_cpu = options.cpu or options.seed or options.touches or _injection(options)
    backend = "cpu" if of_cpu else None
    try:
        harness = "" if runs else "int main() { return 0; }"
        program = builder.build(source, harness=harness, backend=backend, arch=options.arch)
        if not runs:
            return _compiled(program)
        return runner.run(
            program,
            args=shlex.split(options.args),
            seed=options.seed,
            inject=_injection(options),
            time_limit=options.time,
            card=CARDS[options.card],
            touches=options.touches,
        )
    except CompileError as error:
        return CudaRun(NOT_COMPILED, None, diagnostics=error.diagnostics, failure=str(error))
    except ToolMissing as error:
        return str(error)


def _compiled(program: Program) -> str:
    kernels = [f"{name} (line {line})" for name, line in program.kernels.items()]
    what = f"Compiled: {', '.join(kernels)}" if kernels else "Compiled"
    return f"{what}. There is no main in this cell, so nothing was run."


def _options(line: str) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%cuda: {error}.") from None
    return _parser().parse_args(words)


def _injection(options: argparse.Namespace) -> tuple[str, int] | None:
    given = [(kind, getattr(options, f"fail_{kind}")) for kind in runner.INJECTIONS]
    chosen = [(kind, number) for kind, number in given if number is not None]
    if len(chosen) > 1:
        raise UsageError("%%cuda: one call at a time can be made to fail.")
    if chosen and chosen[0][1] < 1:
        raise UsageError("%%cuda: calls are counted from 1.")
    return chosen[0] if chosen else None


def start_warming_up() -> None:
    """Compile the runtime while the learner reads, so that the first cell need not wait for it."""

    def work() -> None:
        try:
            builder.warm_up()
        except (ToolMissing, OSError):
            return  # the first cell says so, where somebody looks

    threading.Thread(target=work, daemon=True).start()


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext course.cuda.magic``."""

    def cuda(line: str, cell: str) -> None:
        """Compile this cell's CUDA C++ and run it. ``%cuda`` lists the options."""
        chosen = _options(line)
        found = run_cell(line, cell)
        if isinstance(found, str):
            print(found)
            return
        display(found)
        if chosen.name:
            shell.user_ns[chosen.name] = found

    def options(line: str) -> None:
        """List the options of ``%%cuda``."""
        print(_parser().format_help())

    shell.register_magic_function(cuda, "cell", "cuda")
    shell.register_magic_function(options, "line", "cuda")
    start_warming_up()
