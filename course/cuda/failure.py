"""Why a run did not end well, in one sentence."""

from __future__ import annotations

import signal

from course.cuda import outcome
from course.cuda.outcome import CudaRun
from course.cuda.process import Limits

_SIGNALS = {
    signal.SIGSEGV: "it used memory that it has not got (segmentation fault)",
    signal.SIGBUS: "it used memory that is not there (bus error)",
    signal.SIGABRT: "it aborted itself (`abort`, a failed `assert`, or an uncaught C++ exception)",
    signal.SIGFPE: "a division by zero in host code",
    signal.SIGILL: "it came to an instruction that is none",
    signal.SIGKILL: "something ended it from outside",
    signal.SIGXFSZ: "it wrote a file that is too large",
}


def sentence(run: CudaRun, limits: Limits) -> str:
    """Empty for a run that is ``ok``."""
    if run.ok:
        return ""
    ending = _ending(run, limits)
    first = run.errors[0].message if run.errors else ""
    if run.fault("never_ends") and run.state == outcome.TIMEOUT:
        return first
    return first or ending


def _ending(run: CudaRun, limits: Limits) -> str:
    if run.state == outcome.TIMEOUT:
        return f"The program did not end within {limits.seconds:g} seconds, and was ended."
    if run.state == outcome.OUTPUT_LIMIT:
        return f"The program printed more than {_size(limits.output)}, and was ended."
    if run.state == outcome.MEMORY_LIMIT:
        return f"The program used more than {_size(limits.memory)} of memory, and was ended."
    if run.state == outcome.SIGNALLED:
        return _signalled(run, limits)
    if run.exit_code:
        return f"The program ended with exit code {run.exit_code}."
    return ""


def _signalled(run: CudaRun, limits: Limits) -> str:
    number = -(run.exit_code or 0)
    if number == signal.SIGABRT and "bad_alloc" in run.stderr:
        return (
            f"The program asked for more host memory than it may use ({_size(limits.memory)}): "
            "`new` failed, and nobody caught that."
        )
    why = _SIGNALS.get(signal.Signals(number)) if number in signal.valid_signals() else None
    return f"The program was ended by signal {number}: {why or 'no exit code, no result'}."


def _size(count: int) -> str:
    for unit, of in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= of:
            return f"{count / of:g} {unit}"
    return f"{count} bytes"
