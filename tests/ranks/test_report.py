"""What a rank reports of itself may be forged; reading it never raises."""

from __future__ import annotations

import pytest

from course.ranks import plain
from course.ranks.report import read_outcome

GOOD = {
    "rank": 0,
    "state": "returned",
    "exception": None,
    "exit_code": 0,
    "stack": [],
    "prints": [{"time": 0.1, "text": "hi", "stream": "stdout"}],
    "calls": [{"op": "send", "begin": 0.1, "end": 0.2, "peer": 1, "shape": [3], "bytes": 12}],
    "began": 0.0,
    "ended": 1.0,
    "peak_rss_bytes": 1,
    "dropped_output_bytes": 0,
}


def test_a_good_report_is_read():
    outcome = read_outcome(GOOD, plain.encode([1]))
    assert outcome.value == [1]
    assert outcome.calls[0].shape == (3,)
    assert outcome.stdout == "hi"


@pytest.mark.parametrize(
    "forged",
    [
        {"calls": [{"op": "send", "begin": 0.1, "peer": "x"}]},
        {"calls": [{"op": "send", "begin": 0.1, "shape": ["x"]}]},
        {"calls": [{"op": "send", "begin": 0.1, "unknown": 1}]},
        {"calls": [{"op": ["send"], "begin": 0.1}]},
        {"calls": [{"begin": 0.1}]},
        {"calls": [5]},
        {"prints": [{"time": "x", "text": "hi", "stream": "stdout"}]},
        {"prints": [{"time": 0.1, "text": 5, "stream": "stdout"}]},
        {"prints": [{"time": 0.1, "text": "hi", "stream": "stdin"}]},
        {"stack": [{"file": 1, "line": 1, "function": "f"}]},
        {"exception": {"type": 5, "frames": []}},
        {"exception": {"message": "no frames"}},
        {"exception": [1]},
    ],
)
def test_a_forged_report_is_an_outcome_that_failed(forged):
    outcome = read_outcome({**GOOD, **forged}, plain.encode(None))
    assert outcome.state == "raised"
    assert outcome.exception.type == "GarbledReport"


def test_a_forged_value_is_an_outcome_that_failed():
    assert read_outcome(dict(GOOD), b"\x80\x04K\x01.").exception.type == "GarbledReport"
