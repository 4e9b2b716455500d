"""A verdict's HTML and text: all is said, nothing foreign gets out, megabytes are cut."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
import time

import pytest

from autograder.render import as_html, as_text
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

CHECKED = (
    Checked("one rank gets its own tensor", True, 1, 1),
    Checked("every rank gets the sum", False, 0, 2),
    Checked("its share is sent", None, 0, 1),
)


def verdict(state=FAILED, *findings, **more):
    return Verdict(
        "ring_all_reduce", state, **{"points": 1, "max_points": 4, **more}, findings=findings
    )


class _Page(html.parser.HTMLParser):
    """Elements, their attributes and their text, as a browser would see them."""

    VOID = ("br",)

    def __init__(self, source):
        super().__init__()
        self.elements, self.text, self.open, self.folded = [], [], [], []
        self.feed(source)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "details" in self.open and "summary" not in self.open:
            self.folded.append(data)


def page(v):
    return _Page(as_html(v))


def seen(v):
    return "".join(page(v).text)


# ------------------------------------------------------------------ the headline


def test_perfect_answer():
    v = verdict(PASSED, points=4, seconds=0.18, hint="SECRET")
    assert as_text(v).splitlines()[0] == "✔ ring_all_reduce: 4 of 4 points, 0.18 s (passed)"
    assert "✔ ring_all_reduce: 4 of 4 points, 0.18 s passed" in seen(v)
    assert "SECRET" not in as_text(v) + as_html(v), "a passed exercise needs no hint"


def test_one_point_is_singular():
    assert "1 of 1 point," in as_text(verdict(PASSED, points=1, max_points=1, seconds=1))


def test_points_are_short_numbers():
    assert "1.33 of 4 points" in as_text(verdict(PARTIAL, points=4 / 3))


@pytest.mark.parametrize("shown", [as_text, seen], ids=["text", "html"])
def test_infrastructure_decides_no_points(shown):
    unreached = tuple(Checked(c.name, None, 0, c.max_points) for c in CHECKED)
    said = shown(verdict(INFRASTRUCTURE, points=0, checked=unreached, hint="SECRET"))
    assert "This is our fault, not yours; no points decided." in said
    assert "0 of 4" not in said
    assert "SECRET" not in said
    assert "one rank gets" not in said


@pytest.mark.parametrize("shown", [as_text, seen], ids=["text", "html"])
def test_not_attempted_has_its_own_tone(shown):
    said = shown(verdict(NOT_ATTEMPTED, points=0, seconds=0.002))
    assert "not written yet" in said
    assert "✘" not in said
    assert "0.00 s" not in said


def test_state_is_said_without_colour():
    words = set()
    for state in (PASSED, PARTIAL, FAILED, NOT_ATTEMPTED, INFRASTRUCTURE):
        words.add(re.match(r"\S+ ring_all_reduce", seen(verdict(state)))[0])
    assert len(words) == 5


# ------------------------------------------------------------------ properties


def test_properties_say_their_state_and_points():
    v = verdict(PARTIAL, checked=CHECKED)
    rows = re.findall(r"([✔✘○])(.+?)(passed|failed|not reached)(\d of \d)", seen(v)[20:])
    assert rows == [
        ("✔", "one rank gets its own tensor", "passed", "1 of 1"),
        ("✘", "every rank gets the sum", "failed", "0 of 2"),
        ("○", "its share is sent", "not reached", "0 of 1"),
    ]
    text = [" ".join(line.split()) for line in as_text(v).splitlines()]
    assert "✘ failed 0 of 2 every rank gets the sum" in text
    assert "○ not reached 0 of 1 its share is sent" in text


def test_withheld_points_are_explained():
    withheld = (Checked("a", True, 0, 1), Checked("b", False, 0, 1))
    assert "when everything below holds" in as_text(verdict(FAILED, checked=withheld))
    assert "when everything below holds" not in as_text(verdict(PARTIAL, checked=CHECKED))


# ------------------------------------------------------------------ findings

DEADLOCK = Finding(
    "deadlock",
    "Both ranks wait in `send`.",
    places=(
        Place(11, "    dist.send(x, 1)", "waits in `send` to rank 1", 0),
        Place(11, "    dist.send(x, 1)", "waits in `send` to rank 0", 1),
        Place(14, "    dist.barrier()", "waits in `barrier`", 2),
        Place(14, "    dist.barrier()", "waits in `barrier`", 3),
    ),
    advice="Start with `irecv`.",
    detail="Traceback\n  File x",
)


def test_deadlock_text():
    assert as_text(verdict(FAILED, DEADLOCK)).split("\n\n")[1] == (
        "  Both ranks wait in `send`.\n"
        "    line 11 │ dist.send(x, 1)\n"
        "              rank 0 waits in `send` to rank 1\n"
        "              rank 1 waits in `send` to rank 0\n"
        "    line 14 │ dist.barrier()\n"
        "              ranks 2, 3: waits in `barrier`\n"
        "  Try: Start with `irecv`.\n"
        "  │ Traceback\n"
        "  │   File x"
    )


def test_deadlock_html():
    shown = page(verdict(FAILED, DEADLOCK, hint="Think."))
    said = "".join(shown.text)
    assert "line 11 │ dist.send(x, 1)rank 0 waits in send to rank 1rank 1 waits" in said
    assert said.count("dist.send(x, 1)") == 1, "a line where several ranks wait is shown once"
    assert "Try: Start with irecv." in said
    assert shown.folded == ["Traceback\n  File x", "Think."]


def test_many_places_are_counted():
    places = tuple(Place(1, "x", f"waits {r}", r) for r in range(40))
    for said in (
        as_text(verdict(FAILED, Finding("c", "m", places=places))),
        seen(verdict(FAILED, Finding("c", "m", places=places))),
    ):
        assert "rank 15 waits" in said
        assert "rank 16 waits" not in said
        assert "… and 24 more" in said


def caret_and_line(v):
    """The code's row and the caret's, from the HTML and from the text."""
    pre = re.search(r"<pre[^>]*>(.*?)</pre>", as_html(v), re.S)[1]
    yield "".join(_Page(pre).text).split("\n")
    yield [row for row in as_text(v).split("\n") if "│" in row]


@pytest.mark.parametrize(
    ("code", "column", "character"),
    [
        ("    dist.send(x, (1 + 2", 18, "("),
        ("x = '<&>' +", 5, "'"),
        ("\tif x = 1:", 7, "="),
        ("x = 1 " + "+ 1 " * 100 + "? 2", 407, "?"),
    ],
)
def test_caret_is_under_its_column(code, column, character):
    v = verdict(FAILED, Finding("syntax-error", "m", places=(Place(3, code, column=column),)))
    for line, caret in caret_and_line(v):
        assert "line 3 │" in line
        at = caret.index("^")
        assert line[at] == character
        assert caret[:at].count("\t") == line[:at].count("\t"), "a tab is as wide below as above"
        assert len(line) < 140


def test_caret_past_the_end_stays_near_it():
    v = verdict(FAILED, Finding("syntax-error", "m", places=(Place(1, "f(x", column=999),)))
    for line, caret in caret_and_line(v):
        assert caret.index("^") == len(line)


def test_table():
    rows = (("0", "7.5", "30.0", "left"), ("1", "12.25", "49.0", "right"))
    v = verdict(FAILED, Finding("mean", "m", table=Table(("rank", "got", "want", "side"), rows)))
    assert (
        "    rank    got  want  side\n"
        "       0    7.5  30.0  left\n"
        "       1  12.25  49.0  right" in as_text(v)
    )
    cells = re.findall(r"<t[hd] style=\"([^\"]*)\">([^<]*)</t", as_html(v))
    assert [text for _, text in cells[:5]] == ["rank", "got", "want", "side", "0"]
    assert all(
        ("text-align:right" in style) == (text not in ("side", "left", "right"))
        for style, text in cells
    )


def test_table_is_cut_with_a_count_and_may_be_ragged():
    table = Table(("rank", "got"), tuple((str(r),) for r in range(100)))
    v = verdict(FAILED, Finding("c", "m", table=table))
    for said in (as_text(v), seen(v)):
        assert "… and 84 more rows" in said
    assert "… and 92 more columns" in as_text(
        verdict(FAILED, Finding("c", "m", table=Table(tuple("x" * 100), ())))
    )


def test_each_of_several_findings_names_its_property():
    one = Finding("a", "first", property="every rank gets the sum")
    two = Finding("b", "second", property="its share is sent")
    assert "Fails: its share is sent" in as_text(verdict(FAILED, one, two))
    assert "Fails:" not in as_text(verdict(FAILED, one))
    many = verdict(FAILED, *[one] * 8)
    assert seen(many).count("first") == 5
    assert "… and 3 more findings" in seen(many)


def test_short_output_is_open_and_long_output_is_folded():
    def opened(lines):
        output = "\n".join(f"[rank 0] {i}" for i in range(lines))
        return [
            "open" in attrs
            for tag, attrs in page(verdict(output=output)).elements
            if tag == "details"
        ]

    assert opened(3) == [True]
    assert opened(50) == [False]


# ------------------------------------------------------------------ what foreign text may do


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=y>\" ' "
    "\x1b[31mred\x1b[0m\x1b]0;t\x07 \x00\x08\ud800\u202e"
)


def everywhere(text):
    """A verdict with the text in every place that holds text."""
    place, table = Place(1, text, text, 0), Table((text, text), ((text, text),))
    finding = Finding(text, text, text, table, (place, Place(2, text, column=3)), text, text)
    return Verdict(
        text, FAILED, 0, 1, (Checked(text, False, 0, 1),), (finding, finding), text, text, (text,)
    )


def test_foreign_text_is_escaped_and_cleaned():
    said = as_html(everywhere(HOSTILE))
    tags = {tag for tag, _ in _Page(said).elements}
    assert not tags & {"script", "img", "red"}
    assert not any(name.startswith("on") for _, attrs in _Page(said).elements for name in attrs)
    for shown in (said, as_text(everywhere(HOSTILE))):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
        shown.encode()  # half a surrogate pair would break the notebook's JSON
        assert "␀" in shown
        assert "[31m" not in re.sub(r"line \d.*", "", shown), "colours are no text"


def test_nothing_is_taken_for_a_formula():
    classes = page(verdict(output="[rank 0] $a$ and $b$")).elements[0][1]["class"]
    assert "mathjax_ignore" in classes


@pytest.mark.parametrize(
    "unit", ["spam and eggs ", "line\n", "<", "\n", "10%\r", "\x1b[1m", "`x` "]
)
def test_ten_megabytes_are_cut(unit):
    v = everywhere(unit * (10_000_000 // len(unit)))
    began = time.perf_counter()
    page_, text = as_html(v), as_text(v)
    assert time.perf_counter() - began < 10
    assert len(page_) < 400_000
    assert len(text) < 50_000


def test_what_was_cut_is_counted():
    output = "\n".join(f"[rank 0] step {i}" for i in range(1000))
    for said in (as_text(verdict(output=output)), seen(verdict(output=output))):
        assert "[rank 0] step 0\n" in said
        assert "[rank 0] step 999" in said
        left = sum(f"step {i}\n" not in said + "\n" for i in range(1000))
        assert f"… {left:,} lines left out …" in said
    assert "… 400 more characters" in seen(verdict(FAILED, Finding("c", "x" * 1000)))


def test_stderr_and_ranks_are_marked_in_the_output():
    said = as_html(verdict(output="[rank 0] fine\n[rank 1 stderr] bad <b>"))
    assert re.search(
        r">\[rank 1 stderr\]</span> <span style=\"color:#\w+\">bad &lt;b&gt;</span>", said
    )
    assert re.search(r">\[rank 0\]</span> fine", said)


def test_text_fits_80_columns():
    long = "a sentence of words that goes on and on " * 5
    v = verdict(
        FAILED,
        Finding("c", long, advice=long, places=(Place(7, long, long, 1),)),
        checked=(Checked(long, False, 0, 1),),
        hint=long,
        notes=(long,),
    )
    assert max(map(len, as_text(v).splitlines())) <= 80


def test_renders_without_jupyter_and_rich():
    code = (
        "import sys\n"
        "for name in ('rich', 'IPython', 'markdown_it', 'nbgrader'): sys.modules[name] = None\n"
        "from autograder.verdict import Verdict\n"
        "v = Verdict('f', 'passed', 1, 1)\n"
        "bundle = v._repr_mimebundle_()\n"
        "assert bundle['text/plain'] == '1' and '1 of 1 point' in bundle['text/html']\n"
        "assert '1 of 1 point' in str(v)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
