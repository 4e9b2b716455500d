"""Picture of threads against processes: how much more several workers do than one.

from course.measure.gil import measure
from course.widgets.gil import draw_gil

draw_gil(measure())
"""

from __future__ import annotations

from course.measure.gil import WAYS, WORKS, GilTimes
from course.widgets.style import INK, MUTED, Picture

_COLOURS = {"threads": "#d1730f", "processes": "#2a78b5"}
_TITLES = {"small": "many small operations", "large": "few large operations"}


def draw_gil(times: GilTimes) -> Picture:
    """Work done by several workers against that of one, in threads and in processes.

    A dotted line is what the workers would do together if none hindered another.
    """
    counts = [count for count in times.workers if count > 1]
    figure = Picture(figsize=(9.5, 1.5 + 0.62 * len(counts)), layout="constrained")
    ideals = [min(count, times.cores) for count in counts]
    most = max(times.speed_up(w, way, c) for w in WORKS for way in WAYS for c in counts)
    end = 1.2 * max(most, *ideals)
    panels = figure.subplots(1, len(WORKS), sharex=True, sharey=True)
    for axes, work in zip(panels, WORKS):
        for row, count in enumerate(counts):
            for place, way in enumerate(WAYS):
                at = row + 0.4 * (place - 0.5)
                speed_up = times.speed_up(work, way, count)
                axes.barh(at, speed_up, 0.36, color=_COLOURS[way], label=None if row else way)
                inside = speed_up <= ideals[row] < speed_up + 0.15 * end  # else under the dots
                axes.text(
                    speed_up + (-0.03 if inside else 0.03), at, f"{speed_up:.2f} ×",
                    ha="right" if inside else "left", va="center", fontsize=9.5,
                    color="white" if inside else INK, zorder=4,
                )  # fmt: skip
            axes.plot([ideals[row]] * 2, [row - 0.45, row + 0.45], ":", color=INK, linewidth=1.4)
        axes.axvline(1, color=MUTED, linewidth=0.8)
        alone = times.row(work, "threads", 1).rate
        axes.set_title(
            f"{_TITLES[work]} (one alone: {alone:,.0f} passes/s)", loc="left", fontsize=10
        )
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set(xlim=(0, end), ylim=(len(counts) - 0.45, -0.55))
    panels[0].set_yticks(range(len(counts)), [f"{count} workers" for count in counts])
    figure.supxlabel(
        f"work done, against one worker ({times.cores} core{'s' * (times.cores != 1)}; "
        "dotted: the most to hope for)",
        fontsize=9,
    )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure
