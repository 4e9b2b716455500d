"""Start JupyterLab on the lessons, as ``make lab`` does.

A learner works on copies of the released lessons, in ``work/``. Files there belong to the
learner: a file they changed is never written over, so ``git pull`` and ``make lab`` are safe
at any time. What JupyterLab itself remembers (settings, open tabs, its token) stays in
``.jupyter/`` of this clone, and the reader's own Jupyter settings are neither read nor changed.

Standard library only: this file runs before anything else is known to work.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import shutil
import socket
import sys
from pathlib import Path

HOUSE = Path(__file__).resolve().parent
ROOT = HOUSE.parent
START_PAGE = "START.md"
PORTS_TRIED = 50


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    for line in copy_lessons(options.release, options.work, options.state):
        print(line)
    token = keep_token(options.state)
    port = free_port(options.port)
    open_browser = wants_browser(options.browser)
    print(banner(port, token, open_browser, moved_from=options.port), flush=True)
    command = lab_command(options.work, port, open_browser)
    os.execve(command[0], command, lab_environment(options.state, options.browser))


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Start JupyterLab on the lessons.")
    parser.add_argument("--port", type=port_number, default=8888, help="first port to try")
    parser.add_argument("--browser", default="", help="a browser's name, or: none")
    parser.add_argument("--release", type=Path, default=ROOT / "release", help="the lessons")
    parser.add_argument("--work", type=Path, default=ROOT / "work", help="the learner's copies")
    parser.add_argument("--state", type=Path, default=ROOT / ".jupyter", help="JupyterLab's memory")
    options = parser.parse_args(argv)
    for name in ("release", "work", "state"):
        setattr(options, name, getattr(options, name).resolve())
    return options


def port_number(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


# --- the learner's copies ---------------------------------------------------------------------


def copy_lessons(release: Path, work: Path, state: Path) -> list[str]:
    """Bring ``work`` up to date with ``release``; return what the learner should know.

    ``released.json`` remembers, for each file, which release its copy was made from: a copy that
    still has that content was not touched, and may be replaced by a newer release.
    """
    state.mkdir(parents=True, exist_ok=True)
    record_file = state / "released.json"
    record = read_record(record_file)
    notes = []
    for source in sorted(path for path in release.rglob("*") if is_lesson_file(path, release)):
        name = source.relative_to(release).as_posix()
        copy = work / name
        released = digest(source)
        if not copy.exists() or name == START_PAGE or digest(copy) in (released, record.get(name)):
            copy_file(source, copy)
            record[name] = released
        elif record.get(name, released) != released:
            notes.append(
                f"{copy} is yours and stays as it is; the lesson has changed since you began it. "
                "To start over with the new one, rename your file and run `make lab` again."
            )
    write_text(record_file, json.dumps(record, indent=1, sort_keys=True) + "\n")
    return notes


def is_lesson_file(path: Path, release: Path) -> bool:
    parts = path.relative_to(release).parts
    hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
    return path.is_file() and not hidden


def read_record(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # the first start, or a file somebody damaged
        return {}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_file(source: Path, copy: Path) -> None:
    if copy.exists() and digest(copy) == digest(source):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    half = copy.with_name(f".{copy.name}.part")  # an interrupted copy must not look like a lesson
    shutil.copyfile(source, half)
    half.replace(copy)


def write_text(path: Path, text: str) -> None:
    half = path.with_name(f".{path.name}.part")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


# --- the server -------------------------------------------------------------------------------


def keep_token(state: Path) -> str:
    """The token of this clone: the same at each start, so that a bookmark or open tab stays good.

    Whoever has it can run code as the reader, as with any Jupyter token. Only the reader can read
    the file, and the server listens on the loopback interface only (jupyter_server_config.py).
    """
    path = state / "token"
    if path.exists() and (token := path.read_text(encoding="ascii").strip()):
        return token
    token = secrets.token_hex(24)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def free_port(first: int) -> int:
    """The first port from ``first`` on that nobody listens on."""
    last = min(first + PORTS_TRIED, 65535)
    for port in range(first, last + 1):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    sys.exit(f"No port from {first} to {last} can be used; try `make lab PORT=...` with another.")


def wants_browser(browser: str) -> bool:
    """Whether to open one. Without a display Python would choose a browser for the terminal."""
    if browser:
        return browser != "none"
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return has_display or sys.platform == "darwin"


def banner(port: int, token: str, open_browser: bool, moved_from: int) -> str:
    lines = [""]
    if port != moved_from:
        lines.append(f"Port {moved_from} is busy: using {port}.")
    what = "opens in your browser; if it does not, open" if open_browser else "is at"
    lines += [f"JupyterLab {what}", "", f"    {start_url(port, token)}", ""]
    if "SSH_CONNECTION" in os.environ:
        lines += [
            "This is a remote machine. On your own computer, keep this running in a terminal,",
            f"with the names you log in with: ssh -N -L {port}:127.0.0.1:{port} USER@MACHINE",
            "",
        ]
    lines += ["Ctrl-C twice stops it.", ""]
    return "\n".join(lines)


def start_url(port: int, token: str) -> str:
    return f"http://127.0.0.1:{port}/lab/tree/{START_PAGE}?token={token}"


def lab_command(work: Path, port: int, open_browser: bool) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={work}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",  # the printed address must be the true one
        f"--ServerApp.open_browser={open_browser}",
    ]


def lab_environment(state: Path, browser: str) -> dict[str, str]:
    """Our settings before all others, and everything that is written goes to ``state``."""
    environment = dict(os.environ)
    for name in [name for name in environment if name.startswith(("JUPYTER_", "JUPYTERLAB_"))]:
        del environment[name]  # settings of another Jupyter that this one may run inside
    environment |= {
        "JUPYTER_CONFIG_PATH": str(HOUSE / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(state / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"),
        "IPYTHONDIR": str(state / "ipython"),
        "COURSE_LAB_TOKEN_FILE": str(state / "token"),
        # `python`, `torchrun` and `nbgrader` in a JupyterLab terminal are the course's.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}",
    }
    if browser and browser != "none":
        environment["BROWSER"] = browser
    return environment


if __name__ == "__main__":
    main()
