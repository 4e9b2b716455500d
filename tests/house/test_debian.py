"""house/debian.sh: installs what the tests need where it may, and else says what is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "house" / "debian.sh"


class BareMachine:
    """A PATH with hardly anything on it. ``apt-get`` here only notes what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.asked = folder / "asked"
        self.asked.touch()
        for name in ("sh", "env", "cat"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)
        self.add("id", "echo 0")

    def add(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{self.bin}/sh\n{script}\n")
        path.chmod(0o755)

    def add_apt(self, script: str = "") -> None:
        self.add("apt-get", f'echo "$*" >> {self.asked}\n{script}')

    def run(self) -> str:
        done = subprocess.run(
            [self.bin / "sh", SCRIPT],
            env={"PATH": str(self.bin)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stdout  # the tests run in any case
        return done.stdout

    @property
    def calls(self) -> list[str]:
        return self.asked.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> BareMachine:
    return BareMachine(tmp_path)


def test_root_installs_all_at_once_without_a_needless_update(machine: BareMachine) -> None:
    machine.add_apt()
    said = machine.run()
    [call] = machine.calls
    for package in ("g++", "bubblewrap", "chromium", "fonts-dejavu"):
        assert package in call
        assert package in said


def test_old_package_lists_are_fetched_anew(machine: BareMachine) -> None:
    """The first install fails, as on a fresh machine, until there was an update."""
    machine.add_apt(f'case "$(cat {machine.asked})" in *update*) exit 0;; *) exit 100;; esac')
    assert "could not be installed" not in machine.run()
    assert [call.split()[0] for call in machine.calls] == ["install", "update", "install"]


def test_an_install_that_fails_is_said(machine: BareMachine) -> None:
    machine.add_apt("exit 100")
    assert "could not be installed: the tests named above will be skipped" in machine.run()


def test_without_the_right_to_install_the_command_is_spelled_out(machine: BareMachine) -> None:
    machine.add_apt()
    machine.add("id", "echo 1000")
    said = machine.run()
    assert "sudo apt-get install g++ bubblewrap chromium" in said
    assert "will be skipped" in said
    assert machine.calls == []


def test_passwordless_sudo_is_used(machine: BareMachine) -> None:
    machine.add_apt()
    machine.add("id", "echo 1000")
    machine.add("sudo", 'shift; case $1 in true) exit 0;; esac; exec "$@"')
    machine.run()
    [call] = machine.calls
    assert call.startswith("install")


def test_another_system_is_told_what_is_missing(machine: BareMachine) -> None:
    said = machine.run()
    assert "Missing: g++" in said
    assert "no apt-get" in said


def test_nothing_missing_nothing_said(machine: BareMachine) -> None:
    machine.add_apt()
    for name in ("g++", "bwrap", "google-chrome"):
        machine.add(name, "")
    machine.add("fc-list", "echo DejaVu")
    assert machine.run() == ""
    assert machine.calls == []
