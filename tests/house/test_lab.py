"""house/lab.py: the learner's copies, the token, the port, and the reader's own settings."""

from __future__ import annotations

import importlib.util
import socket
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LESSON = "05_collectives/05_collectives.ipynb"


def load_lab() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house_lab", ROOT / "house" / "lab.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lab = load_lab()


class Clone:
    """A clone's three folders, and `make lab`'s copying between them."""

    def __init__(self, folder: Path) -> None:
        self.release, self.work, self.state = (folder / n for n in ("release", "work", "state"))
        self.publish("first")
        (self.release / "START.md").write_text("start 1")

    def publish(self, text: str) -> None:
        (self.release / LESSON).parent.mkdir(parents=True, exist_ok=True)
        (self.release / LESSON).write_text(text)

    def learner_writes(self, text: str) -> None:
        (self.work / LESSON).write_text(text)

    def start(self) -> list[str]:
        return list(lab.copy_lessons(self.release, self.work, self.state))

    @property
    def copy(self) -> str:
        return (self.work / LESSON).read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_first_start_copies_the_lessons(clone: Clone) -> None:
    assert clone.start() == []
    assert clone.copy == "first"
    assert (clone.work / "START.md").read_text() == "start 1"


def test_a_changed_notebook_is_never_written_over(clone: Clone) -> None:
    clone.start()
    clone.learner_writes("mine")
    assert clone.start() == []  # nothing new: nothing to say
    clone.publish("second")
    for _ in range(2):  # and it is said again at the next start
        [note] = clone.start()
        assert LESSON in note
        assert "is yours and stays as it is" in note
        assert clone.copy == "mine"


def test_an_untouched_copy_follows_the_release(clone: Clone) -> None:
    clone.start()
    clone.publish("second")
    assert clone.start() == []
    assert clone.copy == "second"


def test_the_way_to_start_over_works(clone: Clone) -> None:
    clone.start()
    clone.learner_writes("mine")
    clone.publish("second")
    clone.start()
    (clone.work / LESSON).rename(clone.work / "05_collectives" / "mine.ipynb")
    assert clone.start() == []
    assert clone.copy == "second"


def test_the_start_page_is_always_the_courses(clone: Clone) -> None:
    clone.start()
    (clone.work / "START.md").write_text("scribbled over")
    clone.start()
    assert (clone.work / "START.md").read_text() == "start 1"


def test_a_lost_or_damaged_record_costs_nobody_their_work(clone: Clone) -> None:
    clone.start()
    clone.learner_writes("mine")
    clone.publish("second")
    (clone.state / "released.json").write_text("{ torn")
    clone.start()
    assert clone.copy == "mine"


def test_what_is_not_a_lesson_is_not_copied(clone: Clone) -> None:
    hidden = clone.release / "05_collectives" / ".ipynb_checkpoints" / "x.ipynb"
    hidden.parent.mkdir()
    hidden.write_text("{}")
    clone.start()
    assert not (clone.work / "05_collectives" / ".ipynb_checkpoints").exists()


def test_the_token_is_kept_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    token = lab.keep_token(tmp_path)
    assert len(token) >= 40
    assert lab.keep_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    (tmp_path / "token").write_text("")  # an empty token would mean: no authentication
    assert len(lab.keep_token(tmp_path)) >= 40


def test_a_busy_port_is_moved_to_the_next() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert lab.free_port(port) > port
    assert f"Port {port} is busy: using {port + 1}." in lab.banner(port + 1, "t", False, port)


def test_no_port_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab.socket.socket, "bind", refuse)
    with pytest.raises(SystemExit, match="No port from 65530 to 65535 can be used"):
        lab.free_port(65530)


def refuse(*_: object) -> None:
    raise OSError


def test_over_ssh_the_tunnel_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    assert "ssh -N -L 8888:127.0.0.1:8888" in lab.banner(8888, "t", False, 8888)


@pytest.mark.parametrize(
    ("browser", "display", "opens"),
    [("none", ":0", False), ("firefox", "", True), ("", ":0", True), ("", "", False)],
)
def test_whether_a_browser_is_opened(
    browser: str, display: str, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert lab.wants_browser(browser) is opens


def test_the_readers_own_jupyter_is_neither_read_nor_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "of another server")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", "/of/the/reader")
    environment = lab.lab_environment(tmp_path, "")
    assert "JUPYTER_TOKEN" not in environment
    written = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR"]
    written += ["JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"]
    for name in written:
        assert Path(environment[name]).is_relative_to(tmp_path), name
