"""The picture of threads against processes."""

from __future__ import annotations

import pytest

from course.measure.gil import WAYS, WORKS, GilTimes, Row
from course.widgets.gil import draw_gil


def times(workers: tuple[int, ...]) -> GilTimes:
    rows = [Row(work, "threads", 1, 100, 1.0) for work in WORKS]
    for count in workers:
        for way, share in zip(WAYS, (40, 90)):
            rows += [Row(work, way, count, share * count, 1.0) for work in WORKS]
    return GilTimes(tuple(rows), 3, True)


@pytest.mark.parametrize("workers", [(2,), (2, 4)])
def test_bars_are_speed_ups(workers):
    figure = draw_gil(times(workers))
    assert len(figure.axes) == len(WORKS)
    for axes in figure.axes:
        drawn = sorted(bar.get_width() for bar in axes.patches)
        assert drawn == pytest.approx(sorted(s * n for n in workers for s in (0.4, 0.9)))
        dotted = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]
        assert dotted == [min(n, 3) for n in workers]
        assert "100 passes/s" in axes.get_title(loc="left")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(WAYS)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == [
        f"{n} workers" for n in workers
    ]
    figure.canvas.draw()


def test_no_number_stands_on_the_dotted_line():
    rows = [Row(work, "threads", 1, 100, 1.0) for work in WORKS]
    rows += [Row(work, way, 2, part, 1.0) for work in WORKS for way, part in zip(WAYS, (175, 187))]
    figure = draw_gil(GilTimes(tuple(rows), 2, True))
    figure.canvas.draw()
    for axes in figure.axes:
        (dotted,) = [line for line in axes.lines if line.get_linestyle() == ":"]
        x = dotted.get_window_extent().x0
        for text in axes.texts:
            box = text.get_window_extent()
            assert not box.x0 <= x <= box.x1
