"""Answers in CUDA C++: from the text of a %%cuda cell to a verdict, in judge and kernel."""

from __future__ import annotations

import struct

import pytest

from autograder import cuda_answer, notebooks
from autograder.judge import judge
from autograder.nbgrader.clear import ClearSolutions
from autograder.verdict import FAILED, INFRASTRUCTURE, NOT_ATTEMPTED, PASSED
from course import cuda
from course.cuda import cells
from course.cuda.source import parse
from tests.autograder.test_notebook import Notebook

RIGHT = notebooks.reference("vec_add")


@pytest.fixture(scope="module", autouse=True)
def warm():
    cuda.warm_up()


def codes(verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


# --- the text of a cell -------------------------------------------------------------------------


def test_the_magics_line_is_left_empty_so_that_lines_stay_where_they_are():
    assert cells.cpp("%%cuda --seed 1\nint x;\n") == "\nint x;\n"
    assert cells.cpp("\n\n%%cuda\nint x;") == "\n\n\nint x;"
    assert cells.cpp("%%cuda") == ""
    assert cells.cpp("int x;") == "int x;"


@pytest.mark.parametrize(
    ("cell", "defined"),
    [
        ("%%cuda\n__global__ void f(int n) { }", True),
        ("%%cuda\n__device__\nfloat f(float x)\n{\n return x; }", True),
        ("%%cuda\n#define f(x) x", True),
        ("%%cuda\n__global__ void f(int n);", False),
        ("%%cuda\nint main() { f<<<1, 2>>>(3); }", False),
        ("%%cuda\n// f(int n) { }", False),
        ("%%cudax\nvoid f() { }", False),
    ],
)
def test_what_a_cell_defines(cell, defined):
    assert (cells.is_cuda(cell) and cells.defines("f", cell)) is defined


def test_a_macro_is_known_as_one():
    assert cells.is_macro("f", "%%cuda\n#define f(x) { x; }")
    assert not cells.is_macro("f", "%%cuda\nvoid f() { }")
    assert not cells.is_macro("f", "%%cuda\n")


@pytest.mark.parametrize(
    "text", ["", "%%cuda", "%%cuda\n// only words\n", notebooks.stub("vec_add")]
)
def test_a_cell_without_code_has_not_been_started(text):
    verdict = judge("vec_add", text)
    assert (verdict.state, codes(verdict)) == (NOT_ATTEMPTED, ["stub"])


def test_given_code_beside_a_stub_is_no_answer():
    """Its cell has a kernel that was given, and no macro yet."""
    stub = notebooks.stub("CUDA_CHECK")
    assert cells.defined(parse(cells.cpp(stub).encode())) == ["multiply", "scale"]
    assert judge("CUDA_CHECK", stub).state == NOT_ATTEMPTED


def test_with_and_without_the_magics_line_the_verdict_is_the_same():
    assert judge("vec_add", RIGHT).state == PASSED
    assert judge("vec_add", RIGHT.split("\n", 1)[1]).state == PASSED


def test_a_compile_error_is_told_at_the_cells_own_line():
    verdict = judge("vec_add", RIGHT.replace("threadIdx.x;", "threadIdx.x"))
    (finding,) = verdict.findings
    assert finding.code == "syntax"
    assert finding.places[0].line in (4, 5)  # the magic's line is 1
    assert verdict.state == FAILED


def test_a_fault_is_told_at_the_cells_own_line():
    verdict = judge("vec_add", RIGHT.replace("if (i < n) ", ""))
    (finding,) = verdict.findings
    assert finding.code == "out_of_bounds"
    assert [place.line for place in finding.places] == [5]
    assert finding.places[0].text.strip() == "c[i] = a[i] + b[i];"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("while (true) { }", "never_ends"),
        ("__trap();", "trap"),
        ('for (int i = 0; i < 4000000; ++i) printf("%d %d\\n", i, n);', "output_limit"),
    ],
)
def test_programs_that_do_not_end_well_get_one_finding(body, code):
    text = "#include <cstdio>\n" + RIGHT.split("\n", 1)[1].replace(
        "if (i < n)", body + " if (i < n)"
    )
    verdict = judge("vec_add", text)
    assert (verdict.state, codes(verdict)) == (FAILED, [code])


def test_an_answer_that_ends_the_program_has_no_result():
    text = notebooks.reference("vec_add_host").replace("if (n == 0) return;", "exit(0);")
    verdict = judge("vec_add_host", text)
    assert (verdict.points, codes(verdict)) == (0, ["not_on_device"])


def test_without_a_compiler_nothing_is_decided(monkeypatch):
    def missing(*arguments, **named):
        raise cuda.ToolMissing("no compiler here")

    monkeypatch.setattr(cuda, "build", missing)
    verdict = judge("vec_add", RIGHT)
    assert (verdict.state, verdict.points) == (INFRASTRUCTURE, 0)
    assert "no compiler here" in verdict.findings[0].message


def test_the_same_text_meets_the_same_inputs():
    wrong = RIGHT.replace("a[i] + b[i]", "a[i] - b[i]")
    assert judge("vec_add", wrong).findings == judge("vec_add", wrong).findings


# --- what a program hands back ------------------------------------------------------------------


def record(data: bytes, size: int = 4) -> bytes:
    return struct.pack("QQ", size, len(data) // size) + data


def test_records_are_read_in_order_and_what_was_cut_off_is_left_out():
    whole = record(b"abcd" * 3) + record(b"x", 1)
    assert list(cuda_answer._records(whole)) == [b"abcd" * 3, b"x"]
    assert list(cuda_answer._records(whole[:-1])) == [b"abcd" * 3]
    assert list(cuda_answer._records(whole[:20])) == []
    assert list(cuda_answer._records(struct.pack("QQ", 1 << 62, 1 << 62))) == []
    assert list(cuda_answer._records(b"")) == []


def test_a_result_of_odd_length_is_read_as_far_as_it_goes():
    ran = cuda_answer.Ran(run=None, results=(b"\0\0\x80?abc",))  # type: ignore[arg-type]
    assert ran.array(0).tolist() == [1.0]
    assert ran.array(1) is None


# --- notebooks ----------------------------------------------------------------------------------


def test_nbgrader_and_the_builder_make_the_same_stub():
    from nbformat.v4 import new_code_cell

    from autograder.exercises.cuda import LESSON

    for name, text in notebooks._answer_texts(LESSON).items():
        metadata = {"nbgrader": {"grade_id": name, "solution": True, "grade": False}}
        cell = new_code_cell(text, metadata=metadata)
        cell, _ = ClearSolutions().preprocess_cell(cell, {"language": "python"}, 0)
        assert cell.source == notebooks.stub(name)
        assert ("// YOUR CODE HERE" in cell.source) == cells.is_cuda(text)


def test_the_text_of_a_lesson_marks_cuda_cells_as_jupytext_does():
    from autograder.exercises.cuda import LESSON

    text = '# %% magic_args="--seed 3" language="cuda"\n# int x;\n#\n# #define Y\n'
    (cell,) = notebooks.lesson_cells(text, LESSON)
    assert cell.source == "%%cuda --seed 3\nint x;\n\n#define Y"
    assert notebooks._kept(cell) == {}


# --- in a kernel --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebook():
    opened = Notebook()
    opened.run("%load_ext course.cuda.magic")
    yield opened
    opened.close()


def test_check_takes_the_cell_that_was_run_last(notebook):
    shown = notebook.run('check("vec_add")')
    assert "vec_add is not defined yet" in shown["traceback"]
    notebook.run(RIGHT.replace("i < n", "i <= n"))
    assert notebook.run('check("vec_add")')["text/plain"] == "0"
    notebook.run(RIGHT)
    notebook.run("vec_add = 'a Python variable of this name is something else'")
    notebook.run("%%cuda\n__global__ void other() { }")
    shown = notebook.run('check("vec_add")')
    assert float(shown["text/plain"]) == 4


def test_a_cell_that_does_not_compile_is_judged_all_the_same(notebook):
    notebook.run(RIGHT.replace("if (i < n)", "if (i < n"))
    shown = notebook.run('check("vec_add")')
    assert shown["text/plain"] == "0"
    assert "The compiler refuses this cell" in shown["text/html"]


def test_where_all_must_hold_what_holds_earns_nothing_by_itself() -> None:
    path = notebooks.ROOT / "tests" / "answers" / "grid_stride" / "wrong_chunks.cu"
    verdict = judge("grid_stride", path.read_text(encoding="utf-8"))
    assert [c.passed for c in verdict.checked] == [True, True, False]
    assert verdict.points == sum(c.points for c in verdict.checked) == 0
    assert "The points are given when everything below holds." in str(verdict)
