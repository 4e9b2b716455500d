"""What runs and verdicts are shown with: foreign text made fit to show, as HTML and as text.

Everything a rank prints, raises or returns is foreign. Here it is cut, cleaned and escaped,
in this order, once; who shows it need not think of it again.
"""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# Text follows JupyterLab's theme; where there is none (feedback pages) the fallback serves.
INK = "var(--jp-ui-font-color1, #222)"
MUTED = "var(--jp-ui-font-color2, #666)"
MONO = "font-family:var(--jp-code-font-family, monospace);font-size:12.5px;line-height:1.5;"
# Half-transparent grey is a panel on white and on black alike.
PANEL = "background:rgba(128,128,128,.13);border-radius:4px;"
RULE = "1px solid rgba(128,128,128,.35)"
# Luminance near 0.18: at least 4 to 1 against both the light and the dark page.
RED = "#d9433b"
RANKS = ("#3b7dd8", "#c2601c", "#2e8b57", "#a561c9", "#a87a10", "#d0477e", "#1b8a96", "#7a7f3a")
_PRE = f"margin:0;padding:0;background:none;border:0;color:{INK};{MONO}"

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # window titles and links
    r"|\x1b[ -/]*[0-Z\\-~]"
)
_UNSEEN = {c: 0x2400 + c for c in range(32) if chr(c) not in "\t\n"} | {127: 0x2421}
# C1 controls, line separators, half characters, and what turns the direction of writing.
for _first, _last in ((0x80, 0x9F), (0x2028, 0x202E), (0x2066, 0x2069), (0xD800, 0xDFFF)):
    _UNSEEN |= dict.fromkeys(range(_first, _last + 1), 0xFFFD)


def visible(text: str) -> str:
    """Each control character as one that can be seen; the length stays the same."""
    return text.translate(_UNSEEN)


def last_state(line: str) -> str:
    """What stays of a line on which carriage returns redraw a progress bar."""
    return line.rstrip("\r").rpartition("\r")[2]


def tidy(text: str, lines: int = 40, width: int = 200) -> str:
    """Clean text of at most so many lines of so many characters, saying what was cut."""
    text = text.strip("\n")
    tail, left_out = lines // 2, text.count("\n") + 1 - lines
    if left_out > 0:
        first = text.split("\n", lines - tail)[:-1]
        rows = [*first, f"… {left_out:,} lines left out …", *text.rsplit("\n", tail)[1:]]
    else:
        rows = text.split("\n")
    return "\n".join(_tidy_line(last_state(row), width) for row in rows)


def _tidy_line(row: str, width: int) -> str:
    far = 8 * width  # no need to search megabytes for colours
    row = _ANSI.sub("", row[:far]) + row[far:]
    more = len(row) - width
    return visible(row[:width]) + (f" … {more:,} more characters" if more > 0 else "")


def brief(text: str, width: int) -> str:
    """One clean line of at most so many characters."""
    row = " ".join(visible(_ANSI.sub("", text[: 4 * width])).split())
    return row if len(row) <= width else row[: width - 1] + "…"


# ------------------------------------------------------------------ prose, folds, preformatted


def prose_html(text: str, lines: int = 12, width: int = 600) -> str:
    """Sentences, with `names in backticks` set as code; indented lines stay indented."""
    escaped = html.escape(tidy(text, lines, width))
    escaped = re.sub(r"^ +", lambda blanks: "&nbsp;" * len(blanks[0]), escaped, flags=re.M)
    code = f'<code style="{MONO}{PANEL}padding:1px 4px;color:inherit">\\1</code>'
    return re.sub(r"`([^`\n]+)`", code, escaped).replace("\n", "<br>")


def prose_text(text: str, indent: str = "", lines: int = 12, width: int = 600) -> str:
    """Sentences, wrapped for a terminal of 80 columns."""
    rest = " " * len(indent)
    rows = tidy(text, lines, width).split("\n")
    return "\n".join(
        textwrap.fill(row, 79, initial_indent=rest if i else indent, subsequent_indent=rest)
        for i, row in enumerate(rows)
    )


def pre_html(escaped: str) -> str:
    """Preformatted text, in a box that scrolls when it is long."""
    box = f"{PANEL}padding:6px 10px;margin:4px 0;max-height:24em;overflow:auto"
    style = f"{_PRE}white-space:pre-wrap;overflow-wrap:anywhere"
    return f'<div style="{box}"><pre style="{style}">{escaped}</pre></div>'


def folded(summary: str, body: str, opened: bool = False) -> str:
    """A summary that unfolds to its body (HTML)."""
    style = f"cursor:pointer;display:list-item;color:{MUTED}"
    return (
        f'<details style="margin:6px 0"{" open" * opened}>'
        f'<summary style="{style}">{html.escape(summary)}</summary>'
        f'<div style="margin:2px 0 0 1.1em">{body}</div></details>'
    )


def detail_html(summary: str, text: str, lines: int = 80) -> str:
    """Long preformatted text, folded."""
    return folded(summary, pre_html(html.escape(tidy(text, lines)))) if text else ""


def detail_text(text: str, indent: str, lines: int = 24) -> str:
    return textwrap.indent(tidy(text, lines, 160), indent + "│ ") if text else ""


# ------------------------------------------------------------------ what the ranks printed

_OF_RANK = re.compile(r"\[rank (\d+)( stderr)?\] ")


def printed_html(text: str, lines: int = 120) -> str:
    """Lines that begin with ``[rank 2] ``: a colour for each rank, stderr marked."""
    return pre_html("\n".join(map(_printed_line, tidy(text, lines).split("\n"))))


def _printed_line(line: str) -> str:
    match = _OF_RANK.match(line)
    if not match:
        return html.escape(line)
    said = html.escape(line[match.end() :])
    if match[2]:
        said = f'<span style="color:{RED}">{said}</span>'
    return f"{_coloured(int(match[1]), match[0].rstrip())} {said}"


def _coloured(rank: int, text: str) -> str:
    colour = RANKS[rank % len(RANKS)]
    return f'<span style="color:{colour};font-weight:600">{html.escape(text)}</span>'


# ------------------------------------------------------------------ lines of code, and who is there


@dataclass(frozen=True)
class Spot:
    """A line of code and a rank that is there. ``where`` is shown before it: 'line 7'."""

    where: str
    code: str
    note: str
    rank: int | None = None
    column: int | None = None  # a caret goes under it; 1 is the first character


def spots_html(spots: Iterable[Spot], most: int = 16) -> str:
    """Each line of code once, and below it the ranks that are there."""
    blocks = []
    for (where, code, column), ranks in _by_line(spots, most).items():
        text, caret = _window(code, column)
        gutter = f'<span style="color:{MUTED}">{{}} │ </span>'
        rows = [gutter.format(html.escape(where)) + html.escape(text)] if where or text else []
        if caret is not None:
            mark = f'<b style="color:{RED}">^</b>'
            rows.append(gutter.format(" " * len(where)) + html.escape(caret) + mark)
        pre = f'<pre style="{_PRE}white-space:pre">{chr(10).join(rows)}</pre>' if rows else ""
        said = (f"{_who_html(who)} {prose_html(note)}".strip() for note, who in ranks.items())
        notes = "".join(f'<div style="margin-top:2px">{row}</div>' for row in said if row)
        box = f"{PANEL}padding:6px 10px;margin:6px 0;overflow-x:auto"
        blocks.append(f'<div style="{box}">{pre}{notes}</div>')
    return "".join(blocks)


def spots_text(spots: Iterable[Spot], indent: str = "", most: int = 16) -> str:
    groups = _by_line(spots, most)
    width = max((len(where) for where, _, _ in groups), default=0)
    rows = []
    for (where, code, column), ranks in groups.items():
        text, caret = _window(code, column, 76 - width - len(indent))
        rows += [f"{indent}{where:>{width}} │ {text}"] if where or text else []
        rows += [f"{indent}{'':>{width}} │ {caret}^"] if caret is not None else []
        gutter = f"{indent}{'':>{width}}   "
        said = (f"{_who(who)} {note}".strip() for note, who in ranks.items())
        rows += [prose_text(row, gutter) for row in said if row]
    return "\n".join(rows)


def _by_line(
    spots: Iterable[Spot], most: int
) -> dict[tuple[str, str, int | None], dict[str, list[int | None]]]:
    """Spots by their line, then by their note: ranks that do the same share a row."""
    spots = list(spots)
    groups: dict[tuple[str, str, int | None], dict[str, list[int | None]]] = {}
    for spot in spots[:most]:
        key = (brief(spot.where, 40), spot.code, spot.column)
        groups.setdefault(key, {}).setdefault(spot.note, []).append(spot.rank)
    if len(spots) > most:
        groups.setdefault(("", "", None), {})[f"… and {len(spots) - most:,} more"] = [None]
    return groups


def _who(ranks: list[int | None]) -> str:
    known = [str(rank) for rank in ranks if rank is not None]
    return f"ranks {', '.join(known)}:" if known[1:] else f"rank {known[0]}" if known else ""


def _who_html(ranks: list[int | None]) -> str:
    first = next((rank for rank in ranks if rank is not None), None)
    return "" if first is None else _coloured(first, _who(ranks))


def _window(code: str, column: int | None, width: int = 100) -> tuple[str, str | None]:
    """The code, cut around the caret where it is long, and the blanks before the caret."""
    if column is None:
        return brief(code, width), None
    code = code.rstrip()
    at = min(max(column - 1, 0), len(code))
    if len(code) > width:
        start = max(0, at - width // 2)
        lead = "…" if start else ""
        code, at = lead + code[start : start + width], at - start + len(lead)
    code = visible(code)  # not tidy(): the caret's column must stay true
    return code, "".join(map(_blank, code[:at]))


def _blank(character: str) -> str:
    """White space as wide as the character."""
    if character == "\t":
        return "\t"
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
