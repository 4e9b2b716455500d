"""The Makefile: what it offers, and how it says no."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = ["lab", "test", "test-gpu", "lint", "notebooks", "exercises", "bench", "lock", "clean"]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str, folder: Path = ROOT, **environment: str) -> tuple[int, str]:
    """Run make as from a fresh terminal, and return its exit code and all that it said."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "CONDA"))}
    done = subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=clean | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


def test_make_alone_lists_every_target_with_a_line_each() -> None:
    code, said = make()
    assert code == 0
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == {"help", *TARGETS}
    for target in TARGETS:
        assert re.search(rf"^ +{target} +\S", said, re.MULTILINE), target


def test_windows_is_told_to_use_wsl2() -> None:
    code, said = make("lab", OS="Windows_NT")
    assert code != 0
    assert "WSL2" in said


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `make lab` looks at before there is an environment."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "house", tmp_path / "house")
    return tmp_path


def fake_python(folder: Path, script: str) -> str:
    path = folder / "fake-python"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


def test_an_old_python_is_refused_in_one_sentence(clone: Path) -> None:
    old = fake_python(clone, 'case $1 in -V) echo "Python 3.9.2";; *) exit 1;; esac\n')
    code, said = make("lab", f"PYTHON={old}", folder=clone)
    assert code != 0
    assert "needs Python 3.11 or newer" in said
    assert "Python 3.9.2" in said
    assert not (clone / ".venv").exists()


def test_a_python_that_is_not_there_is_named(clone: Path) -> None:
    code, said = make("lab", "PYTHON=no-such-python", folder=clone)
    assert code != 0
    assert "There is no 'no-such-python' here" in said


def test_a_missing_venv_module_names_the_debian_package(clone: Path) -> None:
    bare = fake_python(clone, 'case "$2" in *ensurepip*) exit 1;; *) exit 0;; esac\n')
    code, said = make("lab", f"PYTHON={bare}", folder=clone)
    assert code != 0
    assert "sudo apt-get install python3-venv" in said


def test_an_activated_conda_environment_is_used_and_no_other_made(clone: Path) -> None:
    ours = {"CONDA_DEFAULT_ENV": "multi-gpu-course", "CONDA_PREFIX": "/c"}
    _, said = make("-n", "lab", folder=clone, **ours)
    assert "/c/bin/python house/lab.py" in said
    assert ".venv" not in said
    other = ours | {"CONDA_DEFAULT_ENV": "base"}
    _, said = make("-n", "lab", folder=clone, **other)
    assert ".venv/bin/python house/lab.py" in said


def test_lab_passes_on_port_and_browser() -> None:
    """The browser tests start house/lab.py themselves: this holds them to `make lab`."""
    _, said = make("-n", "lab", "PORT=8890", "BROWSER=none")
    assert "bin/python house/lab.py --port '8890' --browser 'none'" in said


def test_the_index_of_cpu_builds_reaches_pip(clone: Path) -> None:
    _, said = make("-n", "lab", folder=clone, TORCH_INDEX="https://example.org/cpu")
    assert "'https://example.org/cpu'" in said


def test_a_port_that_is_none_is_refused() -> None:
    code, said = make("lab", "PORT=lots")
    assert code != 0
    assert "a port is a number from 1 to 65535, not 'lots'" in said
    assert "Traceback" not in said
