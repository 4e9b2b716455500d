"""tests/conftest.py: in CI a skipped test fails, unless it needs a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

TESTS = """
import pytest

@pytest.mark.gpu
def test_needs_a_gpu():
    pytest.skip("no GPU here")

@pytest.mark.xfail
def test_known_to_fail():
    assert False

def test_fine():
    pass
"""

SKIPPED_TEST = '@pytest.mark.skip(reason="no chromium")\ndef test_skipped():\n    pass\n'
SKIPPED_MODULE = 'import pytest\npytest.importorskip("no_such_module")\n'


def run_pytest(folder: Path, ci: bool, **files: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", str(folder)],
        cwd=folder,
        env=environment | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


def test_a_gpu_test_may_be_skipped_in_ci(tmp_path: Path) -> None:
    code, said = run_pytest(tmp_path, ci=True, test_it=TESTS)
    assert code == 0, said
    assert "1 passed, 1 skipped, 1 xfailed" in said.splitlines()[-1]


def test_any_other_skip_fails_in_ci_and_says_which(tmp_path: Path) -> None:
    code, said = run_pytest(tmp_path, ci=True, test_it=TESTS + SKIPPED_TEST)
    assert code == 1
    assert "test_skipped" in said
    assert "no chromium" in said
    assert "1 error" in said.splitlines()[-1] or "1 failed" in said.splitlines()[-1]


def test_a_skipped_module_fails_in_ci(tmp_path: Path) -> None:
    code, said = run_pytest(tmp_path, ci=True, test_it=TESTS, test_module=SKIPPED_MODULE)
    assert code != 0
    assert "no_such_module" in said


@pytest.mark.parametrize("test_it", [TESTS + SKIPPED_TEST, TESTS])
def test_at_a_desk_a_skip_is_a_skip(tmp_path: Path, test_it: str) -> None:
    code, said = run_pytest(tmp_path, ci=False, test_it=test_it, test_module=SKIPPED_MODULE)
    assert code == 0, said
