"""From an answer's text to a verdict: bad input, blame, points, and the same road twice."""

from __future__ import annotations

import dataclasses
import json

import pytest

from autograder import judge as judging
from autograder.exercise import Case, Exercise, Lesson, Property
from autograder.exercises import UnknownExercise
from autograder.judge import answer_key, judge, judge_as, normalised
from autograder.verdict import (
    FAILED,
    INFRASTRUCTURE,
    NOT_ATTEMPTED,
    PARTIAL,
    PASSED,
    Finding,
    Verdict,
)
from course.ranks import LaunchFailed

# An exercise of its own: add one to a number, on every rank; negative numbers count extra.


def cases(generator):
    number = generator.randint(1, 10**9)
    return [
        Case(((number,), (number + 1,)), (number + 1, number + 2), "2 ranks"),
        Case(((-5,),), (-4,), "a negative number"),
    ]


def examine(case, run):
    for rank, (value, wanted) in enumerate(zip(run.values, case.expected, strict=True)):
        if value != wanted:
            right = "negative" if wanted < 0 else "positive"
            yield Finding(f"wrong_{right}", f"rank {rank} got {value}", property=right)


LESSON = Lesson("00_test", "Test", "import os\nONE = 1\n", ())
ADD_ONE = Exercise(
    name="add_one",
    title="Add one",
    properties=(Property("positive", 2), Property("negative", 1)),
    cases=cases,
    examine=examine,
    hint="One is 1.",
    difficulty=1,
    minutes=1,
    seconds=2,
)
RIGHT = "def add_one(n):\n    return n + ONE\n"


def verdict_on(text, **changes):
    return judge_as(LESSON, dataclasses.replace(ADD_ONE, **changes), text)


def only(verdict):
    assert len(verdict.findings) == 1, verdict
    return verdict.findings[0]


def test_a_right_answer_gets_all_points_and_sees_the_prelude():
    verdict = verdict_on(RIGHT)
    assert (verdict.state, verdict.points, verdict.max_points) == (PASSED, 3, 3)
    assert [c.passed for c in verdict.checked] == [True, True]
    assert verdict.hint == ""


@pytest.mark.parametrize("text", ["", "  \n\n", "def add_one(n):\n    raise NotImplementedError\n",
    'def add_one(n):\n    """Doc."""\n    # YOUR CODE HERE\n    raise NotImplementedError("x")\n',
    "def add_one(n):\n    if True:\n        raise NotImplementedError\n"])  # fmt: skip
def test_nothing_written_yet_is_its_own_state(text):
    verdict = verdict_on(text)
    assert (verdict.state, verdict.points) == (NOT_ATTEMPTED, 0)
    assert only(verdict).code == "stub"
    assert verdict.hint == "One is 1."


def test_a_stub_starts_no_process(monkeypatch):
    monkeypatch.setattr(judging, "launch", None)
    assert verdict_on("def add_one(n):\n    raise NotImplementedError\n").state == NOT_ATTEMPTED


def test_a_syntax_error_has_line_and_caret_in_the_cells_own_numbering():
    finding = only(verdict_on("# first line\ndef add_one(n):\n    return n + + * 1\n"))
    assert finding.code == "syntax"
    place = finding.places[0]
    assert (place.line, place.text) == (3, "    return n + + * 1")
    assert place.text[place.column - 1] == "*"
    assert "line 3" in finding.message


def test_notebook_commands_are_explained():
    assert "commands to the notebook" in only(verdict_on("%time\n" + RIGHT)).advice


@pytest.mark.parametrize("text", ["x = '\0'\n", "(" * 5000, "\ufeff" * 3 + "§"])
def test_text_that_is_no_python_is_a_finding(text):
    assert only(verdict_on(text)).code == "syntax"


def test_a_null_byte_is_reported_at_its_line():
    assert only(verdict_on(RIGHT + "\n# \0\n")).places[0].line == 4


def test_an_endless_text_is_refused():
    assert only(verdict_on("# " + "x" * 300_000)).code == "too_long"


def test_a_cell_that_does_not_define_the_exercise_says_what_it_defines():
    finding = only(verdict_on("def add_onr(n):\n    return n + 1\n"))
    assert finding.code == "missing"
    assert "add_onr" in finding.message


@pytest.mark.parametrize("text", ["add_one = lambda n: n + 1\n", "add_one = (1).__add__\n",
    "class add_one:\n    def __new__(cls, n):\n        return n + 1\n",
    "if ONE:\n    def add_one(n):\n        return n + 1\n"])  # fmt: skip
def test_other_ways_to_define_it_are_accepted(text):
    assert verdict_on(text).passed


def test_a_name_that_holds_no_function_is_told():
    assert "not a function" in only(verdict_on("add_one = 5\n")).message


def test_a_name_of_another_cell_is_a_clear_message():
    finding = only(verdict_on("def add_one(n):\n    return helper(n)\n"))
    assert finding.code == "name"
    assert "same cell" in finding.advice
    assert (finding.places[0].line, finding.places[0].text) == (2, "    return helper(n)")


def test_an_exceptions_line_is_the_cells_own():
    finding = only(verdict_on("\n\ndef add_one(n):\n    return n / 0\n"))
    assert (finding.code, finding.places[0].line) == ("exception", 4)
    assert "ZeroDivisionError" in finding.message
    assert "return n / 0" in finding.detail


def test_all_or_nothing_and_partial_credit():
    half = "def add_one(n):\n    return abs(n) + 1\n"
    whole = verdict_on(half)
    assert (whole.state, whole.points) == (FAILED, 0)
    part = verdict_on(half, partial=True)
    assert (part.state, part.points) == (PARTIAL, 2)
    assert [(c.passed, c.points) for c in part.checked] == [(True, 2), (False, 0)]


def test_without_partial_credit_what_follows_a_failed_property_is_not_reached():
    verdict = verdict_on("def add_one(n):\n    return n\n")
    assert [c.passed for c in verdict.checked] == [False, None]


def test_a_finding_names_its_case():
    assert only(verdict_on("def add_one(n):\n    return abs(n) + 1\n")).message == (
        "With a negative number: rank 0 got 6"
    )


def test_partial_credit_is_none_when_a_run_failed():
    verdict = verdict_on("def add_one(n):\n    assert n > 0\n    return n + 1\n", partial=True)
    assert (verdict.state, verdict.points) == (FAILED, 0)
    assert [c.passed for c in verdict.checked] == [None, None]


def test_inputs_depend_on_the_answer_and_are_the_same_each_time():
    seen = "def add_one(n):\n    print(n)\n    return n + 1\n"
    first, again = verdict_on(seen), verdict_on(seen)
    other = verdict_on("# changed\n" + seen)
    lines = [sorted(verdict.output.splitlines()) for verdict in (first, again, other)]
    assert lines[0] == lines[1] != lines[2]
    assert first.answer_digest == again.answer_digest != other.answer_digest


def test_hard_coded_results_do_not_survive_the_next_change():
    printed = verdict_on("def add_one(n):\n    print(n)\n").output
    numbers = [int(line.split("] ")[1]) for line in printed.splitlines()] + [-5]
    forged = f"def add_one(n):\n    return { {n: n + 1 for n in numbers} }.get(n)\n"
    verdict = verdict_on(forged)
    assert len(numbers) == 3
    assert {f.code for f in verdict.findings} == {"wrong_positive"}


def test_a_limit_ends_an_endless_answer():
    verdict = verdict_on("def add_one(n):\n    while True:\n        pass\n", seconds=1)
    finding = only(verdict)
    assert finding.code == "timeout"
    assert finding.places[0].line in (2, 3)
    assert verdict.seconds < 5


def test_the_machinery_is_never_blamed_on_the_answer(monkeypatch):
    def fails(*args, **kwargs):
        raise LaunchFailed("no processes")

    with monkeypatch.context() as patch:
        patch.setattr(judging, "launch", fails)
        verdict = verdict_on(RIGHT)
    assert verdict.state == INFRASTRUCTURE

    def broken(case, run):
        raise RuntimeError("bug")

    verdict = verdict_on(RIGHT, examine=broken)
    assert verdict.state == INFRASTRUCTURE
    assert "RuntimeError: bug" in verdict.findings[0].detail


def test_an_unknown_exercise_names_the_nearest():
    with pytest.raises(UnknownExercise, match="Did you mean 'ring_all_reduce'"):
        judge("ring_allreduce", "")


def test_a_verdict_survives_json():
    for text in (RIGHT, "def add_one(n):\n    return abs(n) + 1\n", "def (", ""):
        verdict = verdict_on(text)
        assert Verdict.from_json(verdict.to_json()) == verdict
        json.loads(verdict.to_json())


def test_line_ends_and_blanks_at_the_end_mean_nothing():
    windows = RIGHT.replace("\n", "\r\n") + "\r\n \r\n"
    assert normalised(windows) == RIGHT
    assert answer_key("add_one", windows) == answer_key("add_one", RIGHT)
    assert answer_key("add_one", RIGHT) != answer_key("add_two", RIGHT)
    assert answer_key("add_one", RIGHT) != answer_key("add_one", "#\n" + RIGHT)


def test_lone_surrogates_do_not_break_anything():
    assert verdict_on("# \ud800\n" + RIGHT).state in (PASSED, FAILED)


def test_nbgrader_reads_the_points_from_the_plain_text():
    shown = verdict_on(RIGHT)._repr_mimebundle_()
    assert float(shown["text/plain"]) == 3.0
    assert "add_one" in shown["text/html"]
    half = verdict_on("def add_one(n):\n    return abs(n) + 1\n", partial=True)
    assert float(half._repr_mimebundle_()["text/plain"]) == 2.0


def test_the_core_imports_with_torch_numpy_and_the_standard_library_alone():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "import autograder.judge, course.ranks\n"
        "bad = {'IPython', 'nbgrader', 'jupyter_core', 'rich', 'typer', 'matplotlib',"
        " 'ipywidgets', 'cloudpickle', 'psutil', 'jupytext'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
