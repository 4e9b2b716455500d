"""``check``: what the cell below an exercise calls."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from typing import Any

from autograder.exercise import CUDA
from autograder.exercises import UnknownExercise, find
from autograder.judge import judge
from autograder.verdict import Verdict
from course.cuda.cells import NoCell, last_cell, last_mention
from course.ranks import warm_up

warm_up()  # torch takes seconds to import: let that happen while the lesson is being read


class CannotCheck(ValueError):
    """There is nothing that could be checked; the message says what to do."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence alone. No frame of ours would help."""
        return [str(self)]


def check(answer: Any) -> Verdict:
    """Check the exercise that ``answer`` is written for.

    Args:
        answer: the function that was written, or its name; of CUDA C++ always its name. The text
            of the notebook cell that defined it is what is checked, alone, in fresh processes.

    Returns:
        The verdict. As the last line of a cell it is shown below it.

    Raises:
        CannotCheck: no exercise has this name, or the cell that defines it cannot be found.
    """
    if isinstance(answer, str) and _is_cuda(answer):
        return judge(answer, _cuda_cell(answer))
    function, name = _named(answer)
    _must_exist(name)
    return judge(name, _cell_text(function, name))


def _is_cuda(name: str) -> bool:
    try:
        return find(name)[1].language == CUDA
    except UnknownExercise:
        return False


def _cuda_cell(name: str) -> str:
    try:
        return last_cell(name)
    except NoCell as error:
        mentions = last_mention(name)  # a stub of a macro defines nothing yet
        if mentions is None:
            raise CannotCheck(str(error)) from None
        return mentions


def _named(answer: Any) -> tuple[Any, str]:
    if isinstance(answer, str):
        shell = _shell()
        if shell is None or answer not in shell.user_ns:
            _must_exist(answer)
            raise CannotCheck(f"{answer} is not defined yet: run the cell that defines it first.")
        return shell.user_ns[answer], answer
    if not callable(answer) or not hasattr(answer, "__name__"):
        raise CannotCheck(
            f"check() takes the function that you wrote, as in check(ring_all_reduce); "
            f"this is a {type(answer).__name__}."
        )
    return answer, answer.__name__


def _must_exist(name: str) -> None:
    try:
        find(name)
    except UnknownExercise as error:
        raise CannotCheck(str(error)) from None


def _cell_text(function: Any, name: str) -> str:
    """The text of the cell, or of the file, that defined the function."""
    try:
        file = inspect.unwrap(_function_of(function)).__code__.co_filename
    except (AttributeError, ValueError):
        raise CannotCheck(
            f"{name} is no function that was written with def, nor a class."
        ) from None
    text = _broken_later(name, file) or _typed_text(file) or "".join(linecache.getlines(file))
    if not text:
        raise CannotCheck(f"The cell that defined {name} is gone: run it again, then check.")
    return text


def _function_of(answer: Any) -> Any:
    """The function itself, or a class's first method: a class keeps no name of its file."""
    if not inspect.isclass(answer):
        return answer
    return next((m for m in vars(answer).values() if inspect.isfunction(m)), None)


def _broken_later(name: str, file: str) -> str | None:
    """A cell for this name that was run after the one in ``file``, and that Python cannot read.

    It left the old function in place: to judge that one would answer a question nobody asked.
    """
    shell = _shell()
    name_of = getattr(getattr(shell, "compile", None), "get_code_name", None)
    if shell is None or name_of is None:
        return None
    for raw in reversed(shell.history_manager.input_hist_raw):
        if name_of(raw, raw, 0) == file:
            return None
        if re.search(rf"^(def|class) {name}\b", raw, re.MULTILINE) and not _parses(shell, raw):
            return str(raw)
    return None


def _parses(shell: Any, raw: str) -> bool:
    try:
        ast.parse(shell.transform_cell(raw))
    except SyntaxError:
        return False
    return True


def _typed_text(file: str) -> str | None:
    """The cell as it was typed. What Python keeps has the notebook's % and ! lines rewritten."""
    shell = _shell()
    name_of = getattr(getattr(shell, "compile", None), "get_code_name", None)
    if shell is None or name_of is None:
        return None
    for raw in reversed(shell.history_manager.input_hist_raw):
        if name_of(raw, raw, 0) == file:
            return str(raw)
    return None


def _shell() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()
