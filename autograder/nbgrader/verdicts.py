"""Verdicts kept as files, so that the same answer is not judged twice."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from autograder.judge import answer_key, judge
from autograder.verdict import INFRASTRUCTURE, Verdict


class VerdictStore:
    """Verdicts in a folder; without one, each answer is judged each time."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def verdict(self, exercise: str, text: str) -> Verdict:
        """The kept verdict on this answer, or a new one.

        Raises:
            UnknownExercise: no lesson has an exercise of this name.
        """
        if self.folder is None:
            return judge(exercise, text)
        path = self.folder / exercise / f"{answer_key(exercise, text)}.json"
        kept = _read(path)
        if kept is not None:
            return kept
        verdict = judge(exercise, text)
        # A failure of ours says nothing about the answer: the next run must try again.
        if verdict.state != INFRASTRUCTURE:
            _write(path, verdict)
        return verdict


def _read(path: Path) -> Verdict | None:
    """The verdict in a file; one that is missing, or that something has broken, is none."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return Verdict.from_json(path.read_text(encoding="utf-8"))
    return None


def _write(path: Path, verdict: Verdict) -> None:
    """Whole or not at all: several graders may share the folder, and each may be killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{uuid.uuid4().hex}.unfinished")
    unfinished.write_text(verdict.to_json(), encoding="utf-8")
    os.replace(unfinished, path)
