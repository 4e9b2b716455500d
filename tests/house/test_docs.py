"""README, CONTRIBUTING and CHANGELOG say what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "release/START.md"]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):[^#\n]*## ", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings(text), target
        elif "://" not in target:
            assert (ROOT / page).parent.joinpath(target).is_file(), target


def headings(text: str) -> set[str]:
    """The anchors that GitHub and JupyterLab make of headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_every_make_command_exists(page: str) -> None:
    named = set(
        re.findall(r"(?:^|`)make ([a-z-]+)", code_of((ROOT / page).read_text()), re.MULTILINE)
    )
    assert named <= TARGETS, named - TARGETS


def code_of(text: str) -> str:
    """What is set as code: blocks and `spans`."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def test_the_readme_names_every_target() -> None:
    readme = (ROOT / "README.md").read_text()
    for target in TARGETS:
        assert f"| `make {target}` |" in readme, target


def test_the_house_names_only_rooms_that_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    [table] = re.findall(r"^## The house\n\n(.*?)\n\n", readme, re.DOTALL | re.MULTILINE)
    rooms = [row.split("|")[1] for row in table.splitlines()[2:]]
    for room in re.findall(r"`([^`]+)`", " ".join(rooms)):
        if "NN" not in room:
            beside = [ROOT / room, ROOT / "autograder" / room]
            assert any(path.exists() for path in beside), room


def test_the_start_page_lists_each_released_lesson_once() -> None:
    start = (ROOT / "release" / "START.md").read_text()
    released = sorted((ROOT / "release").glob("*/*.ipynb"))
    for notebook in released:
        link = notebook.relative_to(ROOT / "release").as_posix()
        assert start.count(f"({link})") == 1, link
