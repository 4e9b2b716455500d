"""A run as a learner sees it: what it printed, how it ended, what went wrong where."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from course.cuda import outcome
from course.cuda.outcome import CudaRun, Diagnostic, Fault, Launch
from course.ranks import markup
from course.ranks.markup import Spot

_MOST_LINES = 200
_MOST_FAULTS = 5


def as_text(run: CudaRun) -> str:
    if run.state == outcome.NOT_COMPILED:
        return diagnostics_text(run.diagnostics)
    parts = [markup.tidy(output, _MOST_LINES) for output in (run.stdout, run.stderr) if output]
    parts += [_fault_text(fault) for fault in _told(run)]
    if rest := _rest(run):
        parts.append(f"  … {rest}")
    if not run.ok and not run.errors:
        parts.append(markup.prose_text(run.failure, "✘ "))
    parts.append(summary(run))
    return "\n".join(part for part in parts if part)


def as_html(run: CudaRun) -> str:
    if run.state == outcome.NOT_COMPILED:
        return diagnostics_html(run.diagnostics)
    body = ""
    if run.stdout:
        body += markup.pre_html(html.escape(markup.tidy(run.stdout, _MOST_LINES)))
    if run.stderr:
        said = html.escape(markup.tidy(run.stderr, _MOST_LINES))
        body += markup.pre_html(f'<span style="color:{markup.RED}">{said}</span>')
    body += "".join(map(_fault_html, _told(run)))
    if rest := _rest(run):
        body += f"<div>… {html.escape(rest)}</div>"
    if not run.ok and not run.errors:
        body += f"<div>{_cross()} <strong>{markup.prose_html(run.failure)}</strong></div>"
    body += f'<div style="color:{markup.MUTED}">{html.escape(summary(run))}</div>'
    return _framed(body)


def summary(run: CudaRun) -> str:
    """``exit code 0 after 0.31 s on the CPU; vecAdd<<<3907, 256>>>``"""
    endings = {
        outcome.EXITED: f"exit code {run.exit_code}",
        outcome.SIGNALLED: f"signal {-(run.exit_code or 0)}",
        outcome.TIMEOUT: "ended at the time limit",
        outcome.OUTPUT_LIMIT: "ended for its output",
        outcome.MEMORY_LIMIT: "ended for its memory",
    }
    where = "GPU" if run.backend == "gpu" else "CPU"
    text = f"{endings.get(run.state, run.state)} after {run.seconds:.2f} s on the {where}"
    launched = list(dict.fromkeys(map(launch_text, run.launches)))
    if launched:
        more = f", … {len(launched) - 4} more" if len(launched) > 4 else ""
        text += "; " + ", ".join(launched[:4]) + more
    if run.seed:
        text += f"; seed {run.seed}"
    failed = [(c.name, c.line) for c in run.calls if c.injected]
    failed += [(f"the launch of {x.kernel}", x.line) for x in run.launches if x.injected]
    for what, line in failed[:1]:
        text += f"; made to fail: {what}" + (f" in line {line}" if line else "")
    return text


def launch_text(launch: Launch) -> str:
    """``vecAdd<<<3907, 256>>>``"""
    sizes = ", ".join(_size(triple) for triple in (launch.grid, launch.block))
    shared = f", {launch.dynamic_shared}" if launch.dynamic_shared else ""
    return f"{launch.kernel}<<<{sizes}{shared}>>>"


def _size(triple: outcome.Triple) -> str:
    x, y, z = triple
    if z != 1:
        return f"({x}, {y}, {z})"
    return f"({x}, {y})" if y != 1 else f"{x}"


# ------------------------------------------------------------------ compile errors


def diagnostics_text(found: Iterable[Diagnostic]) -> str:
    found = list(found)
    text = f"✘ {_count(found)}\n" + markup.spots_text(map(_diagnostic_spot, found), "  ")
    tips = [markup.prose_text(tip, "  Try: ") for tip in _tips(found)]
    return "\n".join([text, *tips])


def diagnostics_html(found: Iterable[Diagnostic]) -> str:
    found = list(found)
    return _framed(
        f"<div>{_cross()} <strong>{_count(found)}</strong></div>"
        + markup.spots_html(map(_diagnostic_spot, found))
        + "".join(f"<div><b>Try:</b> {markup.prose_html(tip)}</div>" for tip in _tips(found))
    )


def _tips(found: Iterable[Diagnostic]) -> list[str]:
    """The first two: what comes after them is often a consequence."""
    return list(dict.fromkeys(d.advice for d in found if d.advice))[:2]


def _count(found: list[Diagnostic]) -> str:
    errors = sum(d.severity == "error" for d in found)
    if not errors:
        return f"{len(found)} warning{'s' * (len(found) != 1)}"
    return f"This does not compile: {errors} error{'s' * (errors != 1)}"


def _diagnostic_spot(found: Diagnostic) -> Spot:
    note = found.message if found.severity == "error" else f"{found.severity}: {found.message}"
    column = None
    if found.column is not None:  # compilers count bytes, Spot counts characters
        before = found.text.encode("utf-8", "replace")[: found.column - 1]
        column = len(before.decode("utf-8", "replace")) + 1
    return Spot(_where(found.part, found.line), found.text, note, column=column)


# ------------------------------------------------------------------ faults


def _told(run: CudaRun) -> list[Fault]:
    """Errors first; no more than can be read."""
    ordered = sorted(run.faults, key=lambda fault: fault.severity != "error")
    return ordered[:_MOST_FAULTS]


def _rest(run: CudaRun) -> str:
    more = len(run.faults) - _MOST_FAULTS
    return f"and {more} more" if more > 0 else ""


def _where(part: str, line: int | None) -> str:
    if line is None:
        return ""
    return f"line {line}" if part == "cell" else f"{part} line {line}"


def _spots(fault: Fault) -> Iterator[Spot]:
    """The fault's line, and the other side's where it is another."""
    other = fault.other
    both = other is not None and other.line and (other.part, other.line) != (fault.part, fault.line)
    if fault.line is not None:
        yield Spot(_where(fault.part, fault.line), fault.text, "")
    if both and other is not None:
        yield Spot(_where(other.part, other.line), other.text, "")


def _counted(fault: Fault) -> str:
    times = f" ({fault.count:,} times; this is the first.)" if fault.count > 1 else ""
    return fault.message + times


def _fault_text(fault: Fault) -> str:
    mark = "✘ " if fault.severity == "error" else "! "
    parts = [
        markup.prose_text(_counted(fault), mark),
        markup.spots_text(_spots(fault), "  "),
        markup.prose_text(fault.advice, "  Try: ") if fault.advice else "",
    ]
    return "\n".join(part for part in parts if part)


def _fault_html(fault: Fault) -> str:
    error = fault.severity == "error"
    mark = _cross() if error else '<span title="warning">⚠</span>'
    said = markup.prose_html(_counted(fault))
    advice = f"<div><b>Try:</b> {markup.prose_html(fault.advice)}</div>" if fault.advice else ""
    return (
        f'<div title="{html.escape(fault.kind)}" style="margin-top:6px">{mark} '
        f"{f'<strong>{said}</strong>' if error else said}</div>"
        f"{markup.spots_html(_spots(fault))}{advice}"
    )


def _cross() -> str:
    return f'<span style="color:{markup.RED}" title="failed">✘</span>'


def _framed(body: str) -> str:
    # mathjax_ignore: a printed "$a$" is no formula.
    style = f"color:{markup.INK};max-width:60em;margin:4px 0"
    return f'<div class="mathjax_ignore" style="{style}">{body}</div>'
