"""A run as a learner sees it: what each rank printed, then how it ended. Text and HTML."""

from __future__ import annotations

import html
import os
import reprlib
from collections.abc import Iterator

from course.ranks import markup
from course.ranks.outcome import Failure, Outcome, RankLine, Run

_MOST_LINES = 200


def printed(run: Run) -> str:
    """All that was printed, in time order, each line with its rank: ``[rank 2] loss 0.31``."""
    lines = sorted((line for o in run for line in _lines(o)), key=lambda timed: timed[0])
    return "\n".join(text for _, text in lines)


def _lines(outcome: Outcome) -> Iterator[tuple[float, str]]:
    """One rank's lines, each with the time when its first piece came.

    ``print`` writes a line in pieces, and other ranks' pieces fall between them; stdout and
    stderr are whole lines each.
    """
    begun: dict[str, tuple[float, list[str]]] = {}
    for piece in sorted(outcome.prints, key=lambda p: p.time):
        for part in piece.text.split("\n")[:-1]:
            time, parts = begun.pop(piece.stream, (piece.time, []))
            yield time, _line(outcome.rank, piece.stream, [*parts, part])
        if rest := piece.text.rpartition("\n")[2]:
            begun.setdefault(piece.stream, (piece.time, []))[1].append(rest)
    for stream, (time, parts) in begun.items():
        yield time, _line(outcome.rank, stream, parts)
    if outcome.dropped_output_bytes:
        lost = f"… {outcome.dropped_output_bytes:,} more bytes were printed and not kept"
        yield outcome.ended, _line(outcome.rank, "stdout", [lost])


def _line(rank: int, stream: str, parts: list[str]) -> str:
    mark = "" if stream == "stdout" else f" {stream}"
    return f"[rank {rank}{mark}] {markup.last_state(''.join(parts))}"


def as_text(run: Run) -> str:
    output = printed(run)
    parts = [markup.tidy(output, _MOST_LINES)] if output else []
    if run.failure:
        parts.append(_failure_text(run.failure))
    else:
        parts += [summary(run), *returned(run)]
    return "\n".join(parts)


def as_html(run: Run) -> str:
    output = printed(run)
    body = markup.printed_html(output, _MOST_LINES) if output else ""
    if run.failure:
        body += _failure_html(run.failure)
    else:
        body += f'<div style="color:{markup.MUTED}">{summary(run)}</div>'
        values = "\n".join(returned(run))
        body += markup.printed_html(values, _MOST_LINES) if values else ""
    # mathjax_ignore: a printed "$a$" is no formula.
    style = f"color:{markup.INK};max-width:60em;margin:4px 0"
    return f'<div class="mathjax_ignore" style="{style}">{body}</div>'


def summary(run: Run) -> str:
    """``4 ranks returned after 0.06 s``"""
    ranks = "1 rank" if len(run) == 1 else f"{len(run)} ranks"
    return f"{ranks} returned after {run.seconds:.2f} s"


def returned(run: Run) -> list[str]:
    """What the ranks returned, a line each; one line when all returned the same."""
    if all(value is None for value in run.values):
        return []
    values = [_short(value) for value in run.values]
    if len(values) > 1 and len(set(values)) == 1:
        return [f"each returned {values[0]}"]
    return [f"[rank {rank}] returned {value}" for rank, value in enumerate(values)]


def _short(value: object) -> str:
    shortened = reprlib.Repr()  # never builds the text of a list of a million elements
    shortened.maxstring = shortened.maxother = 100
    return markup.brief(shortened.repr(value), 120)


def _spot(line: RankLine) -> markup.Spot:
    # The file of a notebook's cell has a name that tells a learner nothing.
    named = line.file and "ipykernel_" not in line.file and not line.file.startswith("<")
    where = f"{os.path.basename(line.file)} " if named else ""
    where = f"{where}line {line.line}" if line.line is not None else where.strip()
    return markup.Spot(where, line.text, line.note, line.rank)


def _failure_text(failure: Failure) -> str:
    parts = [
        markup.prose_text(failure.message, "✘ "),
        markup.spots_text(map(_spot, failure.lines), "  "),
        markup.prose_text(failure.advice, "  Try: ") if failure.advice else "",
        markup.detail_text(failure.traceback, "  "),
    ]
    return "\n".join(part for part in parts if part)


def _failure_html(failure: Failure) -> str:
    message = f"<strong>{markup.prose_html(failure.message)}</strong>"
    cross = f'<span style="color:{markup.RED}" title="failed">✘</span>'
    advice = f"<div><b>Try:</b> {markup.prose_html(failure.advice)}</div>" if failure.advice else ""
    return (
        f'<div title="{html.escape(failure.code)}">{cross} {message}</div>'
        f"{markup.spots_html(map(_spot, failure.lines))}{advice}"
        f"{markup.detail_html('Traceback', failure.traceback)}"
    )
