"""``launch`` and ``check`` in a real kernel, cell by cell."""

from __future__ import annotations

import time

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from autograder import notebooks
from autograder.exercises.collectives import PRELUDE

RIGHT = notebooks.reference("pass_along")


class Notebook:
    """A kernel, and its answer to one cell after the other."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3", startup_timeout=60)
        self.run(PRELUDE)
        self.run("from autograder.check import check\nfrom course.ranks import launch")

    def run(self, source: str) -> dict:
        """What the cell showed: text/plain and text/html of its result, its prints, its error."""
        shown: dict = {"stdout": ""}

        def note(message):
            content = message["content"]
            if message["msg_type"] == "execute_result":
                shown.update(content["data"])
            elif message["msg_type"] == "stream":
                shown["stdout"] += content["text"]
            elif message["msg_type"] == "error":
                shown.update(error=content["ename"], traceback="\n".join(content["traceback"]))

        self.client.execute_interactive(source, timeout=60, output_hook=note)
        return shown

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def notebook():
    opened = Notebook()
    yield opened
    opened.close()


def test_a_function_of_a_cell_runs_on_ranks_and_shows_what_they_print(notebook):
    shown = notebook.run(
        "def hello(x):\n"
        "    print('hello from', dist.get_rank())\n"
        "    return x + dist.get_rank()\n"
        "launch(hello, 2, 40)"
    )
    assert "[rank 1] hello from 1" in shown["text/plain"]
    assert "hello from 1" in shown["text/html"]


def test_a_failure_names_the_cells_own_line(notebook):
    shown = notebook.run("def bad():\n\n    return 1 / dist.get_rank()\nlaunch(bad, 2)")
    assert "ZeroDivisionError" in shown["text/plain"]
    assert "line 3" in shown["text/plain"]
    assert "return 1 / dist.get_rank()" in shown["text/plain"]


def test_check_judges_the_text_of_the_cell_that_defines_the_function(notebook):
    notebook.run(RIGHT)
    shown = notebook.run("check(pass_along)")
    assert float(shown["text/plain"]) == 2
    assert "2 of 2" in shown["text/html"]


def test_check_by_name(notebook):
    notebook.run(RIGHT)
    assert float(notebook.run("check('pass_along')")["text/plain"]) == 2


def test_a_helper_of_another_cell_does_not_count(notebook):
    notebook.run("def plus(a, b):\n    return a + b")
    notebook.run(RIGHT.replace("total += number", "total = plus(total, number)"))
    shown = notebook.run("check(pass_along)")
    assert shown["text/plain"] == "0"
    assert "plus" in shown["text/html"]
    assert "same cell" in shown["text/html"].replace("\n", " ")


def test_a_cell_with_a_notebook_command_is_judged_as_it_was_typed(notebook):
    notebook.run("%time\n" + RIGHT)
    shown = notebook.run("check(pass_along)")
    assert "commands to the notebook" in shown["text/html"]


def test_a_newer_cell_that_python_cannot_read_is_what_is_checked(notebook):
    notebook.run(RIGHT)
    notebook.run(RIGHT.replace("return", "retrun", 1))
    shown = notebook.run("check(pass_along)")
    assert shown["text/plain"] == "0" and "Python cannot read line" in shown["text/html"]
    notebook.run(RIGHT)
    assert float(notebook.run("check(pass_along)")["text/plain"]) == 2


def test_the_stub_of_a_macro_is_not_written_yet(notebook):
    notebook.run("%load_ext course.cuda.magic")
    notebook.run("%%cuda\n// The macro CUDA_CHECK(call).\n// YOUR CODE HERE\nvoid scale() { }")
    shown = notebook.run("check('CUDA_CHECK')")
    assert "not written yet" in shown["text/html"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("check(len)", "There is no exercise 'len'"),
        ("def ring_al_reduce(x): pass\ncheck(ring_al_reduce)", "Did you mean 'ring_all_reduce'?"),
        ("check(5)", "check() takes the function that you wrote"),
        ("check('broadcast_tree')", "broadcast_tree is not defined yet"),
        ("pass_along = print\ncheck('pass_along')", "no function that was written with def"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(notebook, call, sentence):
    shown = notebook.run(call)
    assert sentence in shown["traceback"]
    assert len(shown["traceback"].splitlines()) == 1


def test_an_interrupted_cell_leaves_no_process_and_the_next_one_works(notebook):
    notebook.run("import time\ndef forever():\n    while True: time.sleep(0.1)")
    kernel = psutil.Process(notebook.manager.provisioner.pid)
    settled = len(kernel.children(recursive=True))
    asked = notebook.client.execute("launch(forever, 3, timeout=100)")
    give_up = time.monotonic() + 20
    while len(kernel.children(recursive=True)) < settled + 4:  # keeper and three ranks
        assert time.monotonic() < give_up
        time.sleep(0.05)
    notebook.manager.interrupt_kernel()
    reply = notebook.client.get_shell_msg(timeout=20)
    assert reply["parent_header"]["msg_id"] == asked
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    while len(kernel.children(recursive=True)) > settled:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    shown = notebook.run("launch(dist.get_rank, 2).values")
    assert shown.get("text/plain") == "[0, 1]", shown


def test_a_dead_kernel_takes_its_server_along():
    opened = Notebook()
    family = psutil.Process(opened.manager.provisioner.pid).children(recursive=True)
    assert family
    opened.close()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
