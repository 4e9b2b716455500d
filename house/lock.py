"""Write requirements.lock: install pyproject.toml's ranges afresh, and note what was chosen.

Standard library only; run by the oldest Python that the course supports, so that every version
chosen runs there as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)

# torch is the course's subject and moves on purpose: environment.yml's nvcc goes with it.
TORCH = "torch==2.13.0"

HEADER = """\
# The versions that the course is tested with. Made by `make lock` from the ranges in
# pyproject.toml (extras lab and test), on Linux with Python 3.11; edit those, not this.
# The CUDA libraries are not listed: each torch names the ones it needs, exactly.
"""

# torch's own exact requirements, which only some of its builds have.
OF_TORCH = re.compile(r"(nvidia|cuda)-|triton==")
NOT_OURS = re.compile(r"(pip|wheel|multi-gpu-course)==|-e ")


def main() -> None:
    if sys.version_info[:2] != OLDEST:
        sys.exit("The lock file is made with Python 3.11: `make lock PYTHON=python3.11`.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        python = fresh_environment(Path(folder))
        pip(python, "install", "--quiet", *extra_index(), *requirements(project))
        frozen = pip(python, "freeze", "--all")
    (ROOT / "requirements.lock").write_text(HEADER + "\n".join(pins(frozen)) + "\n")


def requirements(project: dict[str, object]) -> list[str]:
    table = project["project"]
    assert isinstance(table, dict)
    extras = table["optional-dependencies"]
    build = project["build-system"]
    assert isinstance(build, dict)
    return [TORCH, *table["dependencies"], *extras["lab"], *extras["test"], *build["requires"]]


def fresh_environment(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


def extra_index() -> list[str]:
    """TORCH_INDEX may name the index of torch's CPU builds, which are a smaller download."""
    index = os.environ.get("TORCH_INDEX")
    return ["--extra-index-url", index] if index else []


def pip(python: str, *arguments: str) -> str:
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pins(frozen: str) -> list[str]:
    """``name==version`` lines, without the local tag that says which build this machine took."""
    lines = (line.split("+")[0].strip() for line in frozen.splitlines())
    return sorted(
        (line for line in lines if line and not OF_TORCH.match(line) and not NOT_OURS.match(line)),
        key=str.lower,
    )


if __name__ == "__main__":
    main()
