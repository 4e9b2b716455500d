"""A verdict as a learner sees it: HTML below the cell, text in a terminal.

State is said by sign and word, colour only repeats it. Colours and sizes stand in the
elements themselves: JupyterLab's sanitizer and nbgrader's feedback pages drop style sheets.
"""

from __future__ import annotations

import html
import itertools
import textwrap

from autograder.verdict import (
    FAILED,
    INFRASTRUCTURE,
    NOT_ATTEMPTED,
    PARTIAL,
    PASSED,
    Checked,
    Finding,
    Place,
    Table,
    Verdict,
)
from course.ranks import markup
from course.ranks.markup import INK, MUTED, RULE

_GREEN, _AMBER, _GREY, _VIOLET = "#2e8b57", "#b07d12", "#7d7d7d", "#8a63d2"
_STATES = {  # sign, word, colour
    PASSED: ("✔", "passed", _GREEN),
    PARTIAL: ("◐", "partly right", _AMBER),
    FAILED: ("✘", "not right yet", markup.RED),
    NOT_ATTEMPTED: ("○", "not written yet", _GREY),
    INFRASTRUCTURE: ("⚠", "could not be checked", _VIOLET),
}
_PROPERTIES = {
    True: ("✔", "passed", _GREEN),
    False: ("✘", "failed", markup.RED),
    None: ("○", "not reached", _GREY),
}
_MOST_FINDINGS, _MOST_ROWS, _MOST_COLUMNS = 5, 16, 8


# ------------------------------------------------------------------ what is said, in both forms


def _number(points: float) -> str:
    return f"{round(points, 2):g}"


def _score(verdict: Verdict) -> str:
    """``: 4 of 4 points, 0.18 s``, what follows the name; nothing where none was decided."""
    if verdict.state == INFRASTRUCTURE:
        return ""
    points = f"{_number(verdict.points)} of {_number(verdict.max_points)}"
    unit = "point" if verdict.max_points == 1 else "points"
    seconds = f", {verdict.seconds:.2f} s" if verdict.seconds >= 0.01 else ""
    return f": {points} {unit}{seconds}"


def _remark(verdict: Verdict) -> str:
    """The sentence below the headline, where the state needs one."""
    if verdict.state == INFRASTRUCTURE:
        return "This is our fault, not yours; no points decided."
    if verdict.state == NOT_ATTEMPTED:
        return "Write the function in its cell, then run its check. This is what will be checked:"
    if any(c.passed and c.points < c.max_points for c in verdict.checked):
        return "The points are given when everything below holds."
    return ""


def _properties(verdict: Verdict) -> tuple[Checked, ...]:
    """Nothing reached because of us is not worth a list."""
    ours = verdict.state == INFRASTRUCTURE and all(c.passed is None for c in verdict.checked)
    return () if ours else verdict.checked


def _credit(checked: Checked) -> str:
    return f"{_number(checked.points)} of {_number(checked.max_points)}"


def _hint(verdict: Verdict) -> str:
    return "" if verdict.state in (PASSED, INFRASTRUCTURE) else verdict.hint


def _breaks(finding: Finding, verdict: Verdict) -> str:
    """Which property a finding fails: said only where there is more than one finding."""
    return finding.property if len(verdict.findings) > 1 else ""


def _more_findings(verdict: Verdict) -> str:
    more = len(verdict.findings) - _MOST_FINDINGS
    return f"… and {more:,} more findings" if more > 0 else ""


def _spot(place: Place) -> markup.Spot:
    return markup.Spot(f"line {place.line}", place.text, place.note, place.rank, place.column)


def _grid(table: Table, width: int) -> tuple[list[list[str]], list[bool], str]:
    """The table's clean cells (the header first), which columns are numbers, what was cut."""
    rows = [table.columns, *itertools.islice(table.rows, _MOST_ROWS)]
    cells = [[markup.brief(cell, width) for cell in row[:_MOST_COLUMNS]] for row in rows]
    for row in cells:
        row += [""] * (len(cells[0]) - len(row))
    numeric = [all(_is_number(row[i]) for row in cells[1:]) for i in range(len(cells[0]))]
    cut = []
    if (more := len(table.rows) - _MOST_ROWS) > 0:
        cut.append(f"{more:,} more rows")
    if (more := len(table.columns) - _MOST_COLUMNS) > 0:
        cut.append(f"{more:,} more columns")
    return cells, numeric, f"… and {' and '.join(cut)}" if cut else ""


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip("×x% ").replace(",", "") or "0")
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------ HTML


def as_html(verdict: Verdict) -> str:
    colour = _STATES[verdict.state][2]
    style = (
        f"border-left:4px solid {colour};padding:2px 0 2px 14px;margin:6px 0;max-width:58em;"
        f"color:{INK};line-height:1.5"
    )
    # mathjax_ignore: a printed "$a$" is no formula.
    return (
        f'<section class="mathjax_ignore" style="{style}">{_headline_html(verdict)}'
        f"{_checked_html(verdict)}{_findings_html(verdict)}{_rest_html(verdict)}</section>"
    )


def _headline_html(verdict: Verdict) -> str:
    sign, word, colour = _STATES[verdict.state]
    pill = (
        f"border:1px solid {colour};border-radius:9px;padding:0 9px;margin-left:8px;"
        f"font-size:.85em;font-weight:600;color:{colour};white-space:nowrap"
    )
    name = html.escape(markup.brief(verdict.exercise, 80))
    remark, tone = _remark(verdict), INK if verdict.state == INFRASTRUCTURE else MUTED
    return (
        f'<div style="font-size:1.1em"><span style="color:{colour};font-weight:700">{sign}</span> '
        f"<strong>{name}</strong>{_score(verdict)}"
        f' <span style="{pill}">{word}</span></div>'
        + (f'<div style="color:{tone}">{remark}</div>' if remark else "")
    )


def _checked_html(verdict: Verdict) -> str:
    rows = "".join(map(_property_html, _properties(verdict)))
    style = "border-collapse:collapse;margin:6px 0;border:0;font-size:inherit"
    return f'<table style="{style}"><tbody>{rows}</tbody></table>' if rows else ""


def _property_html(checked: Checked) -> str:
    sign, word, colour = _PROPERTIES[checked.passed]
    cell = "text-align:left;border:0;vertical-align:baseline"
    name_colour = MUTED if checked.passed is None else INK
    return (
        '<tr style="background:none">'
        f'<td style="{cell};padding:1px 8px 1px 0;color:{colour};font-weight:700">{sign}</td>'
        f'<td style="{cell};padding:1px 24px 1px 0;color:{name_colour}">'
        f"{markup.prose_html(checked.name, 2, 200)}</td>"
        f'<td style="{cell};padding:1px 24px 1px 0;color:{colour};white-space:nowrap">{word}</td>'
        f'<td style="{cell};padding:1px 0;color:{MUTED};text-align:right;white-space:nowrap">'
        f"{_credit(checked)}</td></tr>"
    )


def _findings_html(verdict: Verdict) -> str:
    shown = (_finding_html(f, _breaks(f, verdict)) for f in verdict.findings[:_MOST_FINDINGS])
    more = _more_findings(verdict)
    return "".join(shown) + (f'<div style="color:{MUTED}">{more}</div>' if more else "")


def _finding_html(finding: Finding, breaks: str) -> str:
    advice = f"<div><b>Try:</b> {markup.prose_html(finding.advice)}</div>" if finding.advice else ""
    breaks = f'<div style="color:{MUTED}">Fails: {markup.prose_html(breaks)}</div>' * bool(breaks)
    return (
        f'<div style="border-top:{RULE};padding-top:8px;margin-top:8px">'
        f"<strong>{markup.prose_html(finding.message)}</strong>{breaks}"
        f"{_table_html(finding.table)}{markup.spots_html(map(_spot, finding.places))}"
        f"{advice}{markup.detail_html('Details', finding.detail)}</div>"
    )


def _table_html(table: Table | None) -> str:
    if table is None:
        return ""
    (header, *rows), numeric, cut = _grid(table, 60)
    frame = f"border-collapse:collapse;margin:6px 0;border:0;{markup.MONO}"

    def row_html(row: list[str], tag: str, extra: str) -> str:
        style = "padding:2px 18px 2px 0;border:0;text-align:{};" + extra
        sides = ("right" if number else "left" for number in numeric)
        cells = (
            f'<{tag} style="{style.format(side)}">{html.escape(cell)}</{tag}>'
            for cell, side in zip(row, sides)
        )
        return f'<tr style="background:none">{"".join(cells)}</tr>'

    head = row_html(header, "th", f"border-bottom:{RULE};color:{MUTED};font-weight:600")
    body = "".join(row_html(row, "td", "white-space:pre-wrap") for row in rows)
    caption = f'<div style="color:{MUTED}">{cut}</div>' if cut else ""
    return (
        f'<div style="overflow-x:auto"><table style="{frame}"><thead>{head}</thead>'
        f"<tbody>{body}</tbody></table></div>{caption}"
    )


def _rest_html(verdict: Verdict) -> str:
    """Hint, output and notes."""
    parts = []
    if hint := _hint(verdict):
        parts.append(markup.folded("Hint", markup.prose_html(hint, 40)))
    if verdict.output.strip():
        lines = verdict.output.strip("\n").count("\n") + 1
        summary = f"What was printed ({lines:,} line{'s' * (lines > 1)})"
        parts.append(markup.folded(summary, markup.printed_html(verdict.output), lines <= 8))
    parts += [
        f'<div style="color:{MUTED}">Note: {markup.prose_html(note)}</div>'
        for note in verdict.notes[:12]
    ]
    rule = f"border-top:{RULE};padding-top:2px;margin-top:8px"
    return f'<div style="{rule}">{"".join(parts)}</div>' if parts else ""


# ------------------------------------------------------------------ text, for 80 columns


def as_text(verdict: Verdict) -> str:
    sign, word, _ = _STATES[verdict.state]
    blocks = [
        f"{sign} {markup.brief(verdict.exercise, 80)}{_score(verdict)} ({word})",
        markup.prose_text(_remark(verdict), "  "),
        "\n".join(map(_property_text, _properties(verdict))),
        *(_finding_text(f, _breaks(f, verdict)) for f in verdict.findings[:_MOST_FINDINGS]),
        textwrap.indent(_more_findings(verdict), "  "),
        markup.prose_text(_hint(verdict), "  Hint: ", 40) if _hint(verdict) else "",
        textwrap.indent(markup.tidy(verdict.output, 24, 160), "  "),
        "\n".join(markup.prose_text(note, "  Note: ") for note in verdict.notes[:12]),
    ]
    return "\n\n".join(block for block in blocks if block.strip())


def _property_text(checked: Checked) -> str:
    sign, word, _ = _PROPERTIES[checked.passed]
    return markup.prose_text(checked.name, f"  {sign} {word:<11}  {_credit(checked):>6}  ", 2, 200)


def _finding_text(finding: Finding, breaks: str) -> str:
    parts = [
        markup.prose_text(finding.message, "  "),
        markup.prose_text(breaks, "  Fails: ") if breaks else "",
        _table_text(finding.table),
        markup.spots_text(map(_spot, finding.places), "    "),
        markup.prose_text(finding.advice, "  Try: ") if finding.advice else "",
        markup.detail_text(finding.detail, "  "),
    ]
    return "\n".join(part for part in parts if part)


def _table_text(table: Table | None) -> str:
    if table is None:
        return ""
    cells, numeric, cut = _grid(table, 24)
    widths = [max(map(len, column)) for column in zip(*cells)]
    rows = []
    for row in cells:
        columns = zip(row, widths, numeric)
        padded = (c.rjust(w) if number else c.ljust(w) for c, w, number in columns)
        rows.append("    " + "  ".join(padded).rstrip())
    return "\n".join([*rows, f"    {cut}"] if cut else rows)
