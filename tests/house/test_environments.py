"""pyproject.toml, requirements.lock and environment.yml name the same environment."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK_TEXT = (ROOT / "requirements.lock").read_text()
LOCK_LINES = [line for line in LOCK_TEXT.splitlines() if not line.startswith("#")]
LOCK = {canonicalize_name(name): pin for name, pin in (line.split("==") for line in LOCK_LINES)}
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())


def ranges() -> list[Requirement]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    every = [*project["dependencies"], *extras["lab"], *extras["test"]]
    return [Requirement(text) for text in [*every, *PROJECT["build-system"]["requires"]]]


def conda_pins() -> dict[str, str]:
    pins = [entry.split("=") for entry in CONDA["dependencies"] if isinstance(entry, str)]
    return {pin[0]: pin[1] for pin in pins if len(pin) == 2}


def conda_pip_lines() -> list[str]:
    return [
        line for entry in CONDA["dependencies"] if isinstance(entry, dict) for line in entry["pip"]
    ]


@pytest.mark.parametrize("wanted", ranges(), ids=str)
def test_each_range_holds_its_locked_version(wanted: Requirement) -> None:
    pin = LOCK.get(canonicalize_name(wanted.name))
    assert pin is not None, f"{wanted.name} is not in requirements.lock: run `make lock`"
    assert wanted.specifier.contains(pin), f"{wanted} excludes the locked {pin}: run `make lock`"


def test_ranges_have_both_ends_where_an_update_could_break_a_reader() -> None:
    open_ended = {r.name for r in ranges() if not any(s.operator == "<" for s in r.specifier)}
    assert open_ended <= {"packaging", "setuptools"}  # calendar-like versions, stable interfaces


def test_the_lock_has_one_exact_version_a_line() -> None:
    for line in LOCK_LINES:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+", line), line
    assert len(LOCK) == len(LOCK_LINES)
    assert LOCK_TEXT.startswith("#")
    assert "make lock" in LOCK_TEXT


def test_conda_takes_every_package_from_the_lock() -> None:
    assert conda_pip_lines() == ["-r requirements.lock"]
    # A package named for conda as well would be in two versions, one over the other.
    assert set(LOCK) & {canonicalize_name(name) for name in conda_pins()} == set()


def test_conda_has_the_oldest_supported_python_and_a_cuda_compiler() -> None:
    pins = conda_pins()
    assert PROJECT["project"]["requires-python"] == f">={pins['python']}"
    assert pins["cuda-nvcc"] == pins["cuda-cudart-dev"]
    assert CONDA["name"] == "multi-gpu-course"  # the Makefile knows the environment by it


def test_conda_has_the_nvcc_that_goes_with_torch() -> None:
    """A CUDA build of torch says which CUDA it was built with; a CPU build is checked by name."""
    import torch

    if torch.version.cuda is not None:
        assert conda_pins()["cuda-nvcc"] == torch.version.cuda
    assert LOCK["torch"].startswith("2.13."), "look up the new torch's CUDA for environment.yml"


@pytest.mark.parametrize("name", ["torch", "jupyterlab", "nbgrader", "ipykernel", "pytest", "ruff"])
def test_this_environment_is_the_locked_one(name: str) -> None:
    """Only warns a developer whose environment is behind: `make test` brings it up to date."""
    installed = Version(metadata.version(name))
    assert installed.public == LOCK[name], "run `make test`, which updates the environment"
