"""A lesson's text to its notebook, and answers out of one."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.preprocessors import ClearSolutions

from autograder import notebooks
from autograder.exercise import Exercise, Lesson, Property
from autograder.notebooks import LessonError, find_answers, source_notebook

EXERCISES = tuple(
    Exercise(
        name=name,
        title=name.upper(),
        properties=(Property("it holds", 1.5), Property("it scales", 0.5)),
        cases=lambda random: [],
        examine=lambda case, run: [],
        hint="Think *twice*.",
        difficulty=difficulty,
        minutes=7,
    )
    for name, difficulty in (("gather", 2), ("scatter", 5))
)
LESSON = Lesson("99_test", "Test", "import torch\nimport math", EXERCISES)

TEXT = """\
# %% [markdown]
# # Title

# %% prelude

# %% tags=["hide"]
1 + 1

# %%
1 + 1

# %% [markdown] exercise gather
# Gather them.

# %% answer gather
def gather(x):
    ### BEGIN SOLUTION
    return [x]
    ### END SOLUTION


# %% check gather

# %% [markdown] exercise scatter

# %% answer scatter
def scatter(x):
    return helper(x)


### BEGIN SOLUTION
def helper(x):
    return x
### END SOLUTION

# %% check scatter
"""


def made(text: str = TEXT) -> nbformat.NotebookNode:
    return source_notebook(text, LESSON)


def cell(name: str, text: str = TEXT) -> nbformat.NotebookNode:
    return next(c for c in made(text).cells if c.id == name)


def test_exercise_gets_its_headline_and_hint() -> None:
    assert cell("exercise-gather").source == (
        "### Exercise 1: GATHER\n\n●●○○○ · about 7 minutes · 2 points\n\nGather them.\n\n"
        "<details><summary>Hint</summary>\n\nThink *twice*.\n\n</details>"
    )
    assert cell("exercise-scatter").source.startswith("### Exercise 2: SCATTER\n\n●●●●● · ")


def test_nbgrader_metadata_comes_from_the_exercise() -> None:
    answer, check = cell("answer-gather"), cell("check-gather")
    assert answer.metadata.nbgrader == {
        "grade_id": "gather", "schema_version": 3, "task": False,
        "grade": False, "solution": True, "locked": False,
    }  # fmt: skip
    assert check.metadata.nbgrader == {
        "grade_id": "check-gather", "schema_version": 3, "task": False,
        "grade": True, "solution": False, "locked": True, "points": 2.0,
    }  # fmt: skip
    assert check.source == "check(gather)"


def test_prelude_is_filled_in_and_locked() -> None:
    prelude = cell("prelude")
    assert prelude.source == LESSON.prelude
    assert prelude.metadata.nbgrader.locked
    written = TEXT.replace("# %% prelude\n", f"# %% prelude\n{LESSON.prelude}\n")
    assert made(written) == made()


def test_plain_cells_keep_tags_and_have_stable_ids() -> None:
    first, second = (c for c in made().cells if c.source == "1 + 1")
    assert (first.metadata, second.metadata) == ({"tags": ["hide"]}, {})
    assert second.id == f"{first.id}-2"
    assert nbformat.writes(made()) == nbformat.writes(made())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("answer gather", "answer gathr", "no exercise 'gathr' in this lesson. Did you mean 'gath"),
        ("answer gather", "anwser gather", "'# %% anwser gather' is no directive"),
        ("answer gather", "answer", "'# %% answer' is no directive"),
        ("# %% check gather", "# %%", "there is no cell 'check gather'"),
        ("# %% check gather", "# %% check scatter", "there is no cell 'check gather'"),
        ("# %% prelude", "# %%", "there is no cell 'prelude'"),
        ("# %% prelude", "# %% prelude\nimport os", "the prelude cell differs"),
        ("# %% check scatter", "# %% check gather", "there is more than one cell 'check gather'"),
        ("# %% check gather", "# %% check gather\nprint()", "is filled in by the builder"),
        ("    ### BEGIN SOLUTION\n", "", "must have one line '### BEGIN SOLUTION'"),
        ("def gather(x):\n    ### BEGIN SOLUTION", "### BEGIN SOLUTION\ndef gather(x):",
         "gather is not named outside the solution"),
        ("1 + 1", "def gather(x): ...", "a plain cell defines gather"),
        ("# Gather them.\n", "# %%\ndef scatter(x): ...\n", "a plain cell defines scatter"),
        ("def helper(x)", "def gather(x)", "the answer to scatter defines gather"),
        ("[markdown] exercise scatter", "exercise scatter", "must be a markdown cell"),
        ("# %% prelude\n", "# %% check gather\n\n# %% prelude\n", "more than one"),
    ],
)  # fmt: skip
def test_bad_text_is_refused_in_one_sentence(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(LessonError, match=r"^99_test: ") as raised:
        made(TEXT.replace(old, new, 1))
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_order_matters() -> None:
    swapped = TEXT.replace("answer gather", "X gather").replace("check gather", "Y gather")
    swapped = swapped.replace("X gather\ndef", "check gather\n# %%\ndef")
    swapped = swapped.replace("Y gather", 'answer gather\n"gather"\n### BEGIN SOLUTION\n'
                              "### END SOLUTION").replace("def gather", "def gather2")  # fmt: skip
    with pytest.raises(LessonError, match="in this order: exercise, answer, check"):
        made(swapped)


@pytest.mark.parametrize("name", ["gather", "scatter"])
def test_stub_is_what_nbgrader_makes(name: str) -> None:
    notebook = made()
    text = next(c.source for c in notebook.cells if c.id == f"answer-{name}")
    released, _ = ClearSolutions().preprocess(notebook, {})
    stub = next(c.source for c in released.cells if c.id == f"answer-{name}")
    assert notebooks.stub_of(text) == stub
    assert "raise NotImplementedError" in stub


# --- answers ---

STUB = "def gather(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
OTHER = "def scatter(x):\n    raise NotImplementedError()"
ONE = "def gather(x):\n    return 1"
TWO = "def gather(x):\n    return 2"
MISSING = "The answer cell was not in the notebook that was handed in."


def tagged(source: str, grade_id: str = "gather") -> nbformat.NotebookNode:
    return new_code_cell(source, metadata={"nbgrader": {"grade_id": grade_id}})


@pytest.mark.parametrize(
    ("cells", "text", "notes"),
    [
        ([tagged(ONE)], ONE, ()),
        ([tagged(STUB + "  \n\n")], STUB, ()),
        ([tagged(" \n")], STUB, ()),
        ([], STUB, (MISSING,)),
        ([tagged(ONE, "scatter")], ONE, ("taken from cell 1",)),
        ([tagged(ONE), tagged(STUB)], ONE, ()),
        ([tagged(ONE), tagged(ONE)], ONE, ()),
        ([tagged(ONE), tagged(TWO)], TWO, ("twice (cells 1, 2): cell 2 was graded",)),
        ([tagged(TWO), tagged(ONE), tagged(TWO)], TWO, ("(cells 2, 3): cell 3 was graded",)),
        ([tagged(ONE), new_code_cell(TWO)], ONE, ("(cells 1, 2): cell 1 was graded",)),
        ([tagged(STUB), new_code_cell(TWO)], TWO, ("taken from cell 2",)),
        ([tagged(STUB), new_markdown_cell(TWO)], STUB, ()),
        ([tagged(ONE), tagged("helper = 1")], ONE, ("twice",)),
        ([tagged(ONE.replace("\n", "\r\n"))], ONE, ()),
        ([new_markdown_cell(ONE, metadata=tagged("").metadata)], ONE, ("become a markdown cell",)),
        ([new_code_cell(ONE, metadata={"nbgrader": "?"})], ONE, ("taken from cell 1",)),
        ([new_code_cell("# def gather(x)")], STUB, (MISSING,)),
    ],
)
def test_which_cell_answers(
    cells: list[nbformat.NotebookNode], text: str, notes: tuple[str, ...]
) -> None:
    answer = find_answers(new_notebook(cells=cells), {"gather": STUB, "scatter": OTHER})["gather"]
    assert answer.text == text
    assert len(answer.notes) == len(notes)
    assert all(want in note for want, note in zip(notes, answer.notes))
