"""A run as text and HTML, and every sentence that can be said."""

from __future__ import annotations

import dataclasses
import html
import re

import pytest

from course.cuda import outcome, show
from course.cuda.explain import EXPLAINED, explain
from course.cuda.outcome import CudaRun, Diagnostic, Fault, Launch, Memory, Other

MEMORY = Memory(space="global", bytes=4000, offset=4000, name="d_c", id=3, line=12, freed_line=20)
FAULT = Fault(
    "out_of_bounds",
    "error",
    "",
    line=5,
    kernel="vec_add",
    block=(3, 0, 0),
    thread=(232, 1, 0),
    access="write",
    size=4,
    address="0x7f00",
    memory=MEMORY,
    other=Other("read", 9, (1, 0, 0), 2),
)


def visible(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_a_good_run() -> None:
    launch = Launch("vec_add", 17, (4, 1, 1), (16, 16, 1), dynamic_shared=64)
    run = CudaRun(outcome.EXITED, 0, "hello\n", launches=(launch, launch), seconds=0.25, seed=4)
    assert show.as_text(run) == (
        "hello\nexit code 0 after 0.25 s on the CPU; vec_add<<<4, (16, 16), 64>>>; seed 4"
    )
    assert "hello" in visible(show.as_html(run)) and "✘" not in show.as_html(run)


def test_a_fault_with_its_line_and_what_to_try() -> None:
    run = CudaRun(
        outcome.EXITED,
        0,
        faults=(explain(dataclasses.replace(FAULT, other=None), "    c[i] = 1;"),),
        failure="x",
    )
    text = show.as_text(run)
    assert text.startswith(
        "✘ Thread (232, 1, 0) of block 3 of `vec_add` writes element 1,000 of `d_c`\n"
        "  (4,000 bytes, allocated in line 12), which has no such element. The last one\n"
        "  is element 999.\n  line 5 │ c[i] = 1;\n  Try: Let a thread get there"
    )
    page = visible(show.as_html(run))
    assert "element 1,000 of d_c (4,000 bytes, allocated in line 12)" in page
    assert "line 5 │" in page and "Try: Let a thread get there" in page


def test_foreign_text_is_escaped() -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    fault = dataclasses.replace(FAULT, kernel=evil)
    run = CudaRun(outcome.EXITED, 1, evil, evil, faults=(explain(fault, evil),), failure=evil)
    broken = CudaRun(
        outcome.NOT_COMPILED, None, diagnostics=(Diagnostic("error", evil, 1, 2, evil),)
    )
    for page in (show.as_html(run), show.as_html(broken)):
        assert "<script>" not in page and "\x1b" not in page


def test_many_faults_are_cut_and_errors_come_first() -> None:
    warning = dataclasses.replace(FAULT, kind="leak", kernel=None)
    faults = [explain(f, "") for f in (warning, *[FAULT] * 8)]
    text = show.as_text(CudaRun(outcome.EXITED, 0, faults=tuple(faults), failure="x"))
    assert text.startswith("✘") and "… and 4 more" in text and "never freed" not in text


@pytest.mark.parametrize(
    ("state", "code", "says"),
    [
        (outcome.TIMEOUT, None, "ended at the time limit"),
        (outcome.OUTPUT_LIMIT, None, "ended for its output"),
        (outcome.MEMORY_LIMIT, None, "ended for its memory"),
        (outcome.SIGNALLED, -11, "signal 11"),
        (outcome.EXITED, 3, "exit code 3"),
    ],
)
def test_other_endings(state: str, code: int | None, says: str) -> None:
    run = CudaRun(state, code, failure="It went wrong.", seconds=1.0)
    assert show.as_text(run) == f"✘ It went wrong.\n{says} after 1.00 s on the CPU"
    assert "It went wrong." in visible(show.as_html(run))


def test_compile_errors_show_the_line_and_a_caret_under_the_column() -> None:
    found = Diagnostic("error", "'x' was not declared", 3, 9, "  é = a x;")
    text = show.as_text(CudaRun(outcome.NOT_COMPILED, None, diagnostics=(found,)))
    assert text == (
        "✘ This does not compile: 1 error\n  line 3 │   é = a x;\n         │        ^\n"
        "           'x' was not declared"
    )
    of_harness = dataclasses.replace(found, part="harness", column=None)
    assert "harness line 3 │" in show.diagnostics_text([of_harness])


@pytest.mark.parametrize("kind", sorted(EXPLAINED))
@pytest.mark.parametrize("bare", [False, True])
def test_each_kind_has_a_whole_sentence(kind: str, bare: bool) -> None:
    """Also where next to nothing is known about the fault."""
    fault = Fault(kind, "error", "") if bare else dataclasses.replace(FAULT, kind=kind)
    explained = explain(fault, "text")
    assert explained.severity in ("error", "warning")
    assert explained.message[0].isupper() or explained.message[0] in "`m"
    assert explained.message.endswith((".", "?")) and "  " not in explained.message
    assert not explained.advice or explained.advice.endswith((".", "?", "`"))


def test_an_unknown_kind_is_named() -> None:
    assert "brand_new" in explain(dataclasses.replace(FAULT, kind="brand_new"), "").message


def test_both_lines_of_a_race_are_shown() -> None:
    other = dataclasses.replace(FAULT.other or Other(), text="t = c[i];")
    fault = explain(dataclasses.replace(FAULT, kind="race", other=other), "c[i] = 1;")
    text = show.as_text(CudaRun(outcome.EXITED, 0, faults=(fault,), failure="x"))
    assert "  line 5 │ c[i] = 1;\n  line 9 │ t = c[i];\n  Try: Put `__syncthreads()`" in text
