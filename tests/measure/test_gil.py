"""Threads against processes: what is counted, and what is said about it."""

from __future__ import annotations

import pytest

from course.measure import gil
from course.measure.gil import WAYS, WORKS, GilTimes, Row, measure, model, repeat_forward


def times(cores: int = 2, has_gil: bool = True) -> GilTimes:
    rows = [Row(work, "threads", 1, 100, 1.0) for work in WORKS]
    rows += [Row("small", "threads", 2, 80, 1.0), Row("small", "processes", 2, 380, 2.0)]
    rows += [Row("large", "threads", 2, 180, 1.0), Row("large", "processes", 2, 200, 1.0)]
    return GilTimes(tuple(rows), cores, has_gil)


def test_a_speed_up_is_against_one_worker():
    assert times().speed_up("small", "threads", 2) == pytest.approx(0.8)
    assert times().speed_up("small", "processes", 2) == pytest.approx(1.9)
    assert times().speed_up("large", "processes", 1) == 1
    assert times().workers == (1, 2)
    with pytest.raises(KeyError, match="small, threads, 3"):
        times().row("small", "threads", 3)


def test_the_sentence_has_the_numbers_and_the_bound():
    said = times().sentence()
    assert said.startswith("Of many small operations, 2 threads do 0.80 times the work of one")
    assert "2 processes 1.90" in said and "2 is the most to hope for" in said
    assert "There is 1 core, so 1 is" in times(cores=1).sentence()
    assert times(has_gil=False).sentence().endswith("no global interpreter lock.")


@pytest.mark.parametrize("threads", [1, 3])
def test_passes_are_counted_in_all_threads(threads, monkeypatch):
    calls = []

    class Counting:
        def __call__(self, batch):
            calls.append(1)  # appending is atomic

    monkeypatch.setattr(gil, "model", lambda work: (Counting(), None))
    passes, seconds = repeat_forward("small", threads, 0.02)
    assert len(calls) == passes + threads  # the first of each is not counted
    assert seconds >= 0.02


def test_it_measures_every_case():
    found = measure(workers=(2,), seconds=0.05, repeats=1)
    cases = {(row.work, row.way, row.workers) for row in found.rows}
    expected = {(work, way, 2) for work in WORKS for way in WAYS}
    assert cases == expected | {(work, "threads", 1) for work in WORKS}
    assert all(row.passes > 0 and row.seconds >= 0.05 for row in found.rows)
    assert found.cores >= 1
    assert found.row("small", "threads", 1).rate > found.row("large", "threads", 1).rate


def test_the_best_of_several_is_kept(monkeypatch):
    rates = iter([10, 20, 30, 5, 50, 6])

    def ranks(way, processes, threads, seconds):
        passes = next(rates)
        return [Row(work, way, processes * threads, passes, 1.0) for work in WORKS]

    monkeypatch.setattr(gil, "_ranks", ranks)
    found = measure(workers=(2,), repeats=2)
    assert [found.row("small", *case).passes for case in (("threads", 1), ("threads", 2))] == [
        10,
        50,
    ]
    assert found.row("small", "processes", 2).passes == 30


@pytest.mark.parametrize(
    "bad", [{"workers": (1,)}, {"workers": (0, 2)}, {"seconds": 0}, {"repeats": 0}]
)
def test_nothing_to_measure_is_refused(bad):
    with pytest.raises(ValueError, match="at least two workers"):
        measure(**bad)


def test_a_rank_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(gil, "WORKS", ("none such",))
    with pytest.raises(ValueError, match="it is 'small' or 'large'"):
        model("none such")
