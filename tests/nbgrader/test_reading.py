"""Files that students hand in: what is read of them, and what is said of those that cannot be."""

from __future__ import annotations

import json
import random
from pathlib import Path

import nbformat
import pytest

from autograder.nbgrader.reading import expect_lesson_name, read
from tests.nbgrader.submissions import LESSON

NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": ["a = 'ä'\n", "b"], "metadata": {}, "outputs": []}],
    "metadata": {"language": 3},
    "nbformat": 4,
}


def written(folder: Path, content: bytes) -> Path:
    path = folder / "lesson.ipynb"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = json.dumps(NOTEBOOK, ensure_ascii=False)
    reading = read(written(tmp_path, text.encode(encoding)))
    assert not reading.trouble
    assert [cell.source for cell in reading.notebook.cells] == ["a = 'ä'\nb"]


def test_a_cut_is_reported_wherever_it_is(tmp_path: Path) -> None:
    whole = json.dumps(NOTEBOOK, indent=1, ensure_ascii=False).encode()
    for length in range(1, len(whole) - 1):
        reading = read(written(tmp_path, whole[:length]))
        assert "ends in the middle" in reading.trouble or "not text" in reading.trouble
        assert reading.notebook.cells == []


def test_whatever_bytes_come_a_valid_notebook_is_read(tmp_path: Path) -> None:
    """Whole files with bytes changed: some stay notebooks, and none may raise."""
    chosen = random.Random(1)
    whole = json.dumps(NOTEBOOK).encode()
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(chosen.randrange(1, 5)):
            data[chosen.randrange(len(data))] = chosen.randrange(256)
        nbformat.validate(read(written(tmp_path, bytes(data))).notebook)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\n \n", "empty (3 bytes)"),
        (b"null", "no cells"),
        (b'{"cells": 3}', "no cells"),
        (b'{"worksheets": [{"cells": []}]}', "before 2015"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "cannot be read"),
        (b"import torch", "line 1, character 1"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"%PDF-1.7", "PDF"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: bytes, says: str) -> None:
    assert says in read(written(tmp_path, content)).trouble


def test_a_folder_and_a_dead_link_are_no_notebooks(tmp_path: Path) -> None:
    folder, link = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    folder.mkdir()
    link.symlink_to(tmp_path / "nowhere")
    assert "could not be opened" in read(folder).trouble
    assert read(link).trouble


def test_one_notebook_of_another_name_is_read_and_of_two_none(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(NOTEBOOK).encode())
    wanted = tmp_path / "wanted.ipynb"
    reading = read(wanted)
    assert len(reading.notebook.cells) == 1
    assert "`lesson.ipynb` was graded as `wanted.ipynb`" in reading.note
    (tmp_path / "other.ipynb").write_bytes(path.read_bytes())
    assert "of `lesson.ipynb`, `other.ipynb`, it is not clear" in read(wanted).trouble


def test_hook_expects_a_lesson_under_its_name() -> None:
    right = [f"/s/{LESSON.name}.ipynb", "/s/more.ipynb"]
    for given, expected in [
        (list(right), right),
        (["/s/x.ipynb", "/s/y.ipynb"], right[:1]),
    ]:
        expect_lesson_name(LESSON.name, "*", given)
        assert given == expected
    own = ["/s/problem1.ipynb"]
    expect_lesson_name("an instructor's own", "*", own)
    assert own == ["/s/problem1.ipynb"]
