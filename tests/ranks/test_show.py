"""A run as text and HTML: whose line it was, in what order, and how it ended."""

from __future__ import annotations

import html
import re

from course.ranks import show
from course.ranks.outcome import RETURNED, Failure, Outcome, Print, RankLine, Run


def run(*prints_by_rank, values=None, failure=None, **more):
    values = values or [None] * len(prints_by_rank)
    outcomes = tuple(
        Outcome(rank, RETURNED, values[rank], prints=tuple(Print(*p) for p in prints), **more)
        for rank, prints in enumerate(prints_by_rank)
    )
    return Run(outcomes, 0.06, failure)


def visible(page):
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_lines_of_all_ranks_in_time_order():
    both = run([(0.1, "a\n"), (0.3, "c\nd\n")], [(0.2, "b\n")])
    assert show.printed(both) == "[rank 0] a\n[rank 1] b\n[rank 0] c\n[rank 0] d"


def test_pieces_of_a_line_are_joined_across_other_ranks():
    both = run([(0.1, "hel"), (0.3, "lo"), (0.5, "\n")], [(0.2, "wor"), (0.4, "ld\nend")])
    assert show.printed(both) == "[rank 0] hello\n[rank 1] world\n[rank 1] end"


def test_stderr_does_not_break_into_a_line_of_stdout():
    one = run([(0.1, "loss "), (0.2, "careful\n", "stderr"), (0.3, "0.5\n")])
    assert show.printed(one) == "[rank 0] loss 0.5\n[rank 0 stderr] careful"


def test_a_line_without_its_end_and_an_empty_line_show():
    assert show.printed(run([(0.1, "a\n\nb")])) == "[rank 0] a\n[rank 0] \n[rank 0] b"


def test_of_a_progress_bar_the_last_state_shows():
    bar = run([(0.1, "10%\r"), (0.2, "50%\r"), (0.3, "100%"), (0.4, "\n")], [(0.5, "7%\r")])
    assert show.printed(bar) == "[rank 0] 100%\n[rank 1] 7%"
    assert show.printed(run([(0.1, "a\r\nb\r\n")])) == "[rank 0] a\n[rank 0] b"


def test_lost_output_is_counted():
    lost = run([(0.1, "a\n")], dropped_output_bytes=1234567)
    assert "1,234,567 more bytes were printed and not kept" in show.as_text(lost)


def test_summary_and_values():
    assert show.as_text(run([], [])) == "2 ranks returned after 0.06 s"
    assert show.as_text(run([], values=[3])) == "1 rank returned after 0.06 s\n[rank 0] returned 3"
    assert show.as_text(run([], [], values=[3, 3])).endswith("\neach returned 3")
    assert show.as_text(run([], [], values=[3, 4])).endswith(
        "\n[rank 0] returned 3\n[rank 1] returned 4"
    )


def test_values_stay_short_and_a_broken_repr_does_no_harm():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    text = show.as_text(run([], [], [], values=[list(range(10**6)), "x" * 10**6, Broken()]))
    assert len(text) < 600
    assert "Broken" in text


FAILURE = Failure(
    "deadlock",
    "Rank 0 waits in `barrier`, rank 1 in `all_reduce`.",
    (0, 1),
    (
        RankLine(0, 4, "waits in `barrier`", "    dist.barrier()", "/tmp/ipykernel_7/42.py"),
        RankLine(1, 9, "waits in `all_reduce`", "    dist.all_reduce(x)", "/home/me/train.py"),
        RankLine(2, None, "was ended"),
    ),
    "Call the same collectives in the same order.",
    "Traceback <most recent>",
)


def test_failure_text():
    assert show.as_text(run([(0.1, "a\n")], [], [], failure=FAILURE)) == (
        "[rank 0] a\n"
        "✘ Rank 0 waits in `barrier`, rank 1 in `all_reduce`.\n"
        "           line 4 │ dist.barrier()\n"
        "                    rank 0 waits in `barrier`\n"
        "  train.py line 9 │ dist.all_reduce(x)\n"
        "                    rank 1 waits in `all_reduce`\n"
        "                    rank 2 was ended\n"
        "  Try: Call the same collectives in the same order.\n"
        "  │ Traceback <most recent>"
    )


def test_failure_html():
    page = show.as_html(run([(0.1, "<script>\n")], [], [], failure=FAILURE))
    assert "<script>" not in page
    said = visible(page)
    for part in (
        "[rank 0] <script>",
        "✘ Rank 0 waits in barrier",
        "rank 2 was ended",
        "Try: Call",
        "train.py line 9 │ dist.all_reduce(x)",
        "Traceback <most recent>",
    ):
        assert part in said
    assert "returned after" not in said
    assert re.search(r"<details[^>]*><summary", page), "the traceback is folded"


def test_megabytes_are_cut():
    flood = run([(0.1, "<spam>\n" * 300_000)], [(0.2, "x" * 10_000_000)])
    assert len(show.as_html(flood)) < 100_000
    assert re.search(r"… 299,\d{3} lines left out …", show.as_text(flood))
    assert "more characters" in show.as_text(flood)
