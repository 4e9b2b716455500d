"""The ledgers of a step of DataParallel over time: what each device held, by kind.

from course.measure.dp_step import example
from course.widgets.ledger import draw_ledger

draw_ledger(example())                # home and one other
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.measure.dp_step import Step
from course.virtual import KINDS
from course.widgets.memory import KIND_COLOURS
from course.widgets.style import INK, LINE, MUTED, Picture

_MIB = 2**20
_LEAST = 0.045  # of the picture's width, for a stage in which hardly anything changes


def draw_ledger(step: Step, devices: Sequence[int] = (0, 1)) -> Picture:
    """Bytes by kind after every change of memory, with the stages of the step marked.

    To the right goes one change after the other, not time: on a CPU stages take other times
    than on GPUs, and a peak that is there for a moment would not be seen.
    """
    figure = Picture(figsize=(10, 0.9 + 1.75 * len(devices)), layout="constrained")
    panels = figure.subplots(len(devices), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    edges = _edges(step, devices)
    for axes, device in zip(panels, devices):
        _stack(axes, step, device, edges)
        axes.set_ylabel(f"GPU {device}{' (home)' if device == 0 else ''}\nMiB", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        for edge in edges[1:-1]:
            axes.axvline(edge, color=LINE, linewidth=0.8, zorder=0)
    for name, begin, end in zip([stage.name for stage in step.stages], edges, edges[1:]):
        panels[0].annotate(
            name, ((begin + end) / 2, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-2, 3), textcoords="offset points",
            rotation=24, ha="left", va="bottom", fontsize=8.5, color=INK,
        )  # fmt: skip
    panels[-1].set(xlim=(0, 1.04), xticks=[])
    panels[-1].set_xlabel("one change of memory after the other", fontsize=9)
    held = [k for k in KINDS if any(m.by_kind[k] for d in devices for m in step.timelines[d])]
    marks = [Rectangle((0, 0), 1, 1, color=KIND_COLOURS[kind]) for kind in held]
    figure.legend(
        marks, held, loc="outside lower left", ncols=len(held), frameon=False, fontsize=9,
        handlelength=1, columnspacing=1.2,
    )  # fmt: skip
    return figure


def _stack(axes: Axes, step: Step, device: int, edges: np.ndarray) -> None:
    line = step.timelines[device]
    at = _places(step, [moment.seconds for moment in line], edges)
    held = np.array([[moment.by_kind[kind] / _MIB for kind in KINDS] for moment in line])
    at, held = np.append(at, 1.0), np.concatenate([held, held[-1:]])
    axes.stackplot(
        at, held.T, step="post", colors=[KIND_COLOURS[kind] for kind in KINDS], linewidth=0
    )  # fmt: skip
    whole = held.sum(axis=1)
    top = int(whole.argmax())
    axes.plot(at[top], whole[top], "o", color=INK, markersize=3)
    axes.annotate(
        f"peak {whole[top]:.1f} MiB: {_made_of(held[top])}", (at[top], whole[top]), xytext=(5, 0),
        textcoords="offset points", va="center", fontsize=9, color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip
    axes.annotate(
        f"{whole[-1]:.1f}", (1.0, whole[-1]), xytext=(3, 0), textcoords="offset points",
        va="center" if whole[-1] else "bottom", fontsize=9, color=MUTED,
    )  # fmt: skip


def _made_of(held: np.ndarray) -> str:
    """A peak may be too thin to see what it is made of."""
    parts = [(size, kind) for size, kind in zip(held, KINDS) if size >= 0.05]
    return ", ".join(f"{kind} {size:.1f}" for size, kind in sorted(parts, reverse=True))


def _edges(step: Step, devices: Sequence[int]) -> np.ndarray:
    """Where each stage begins, 0 to 1 and the end: as wide as it has changes of memory."""
    changes = [m.seconds for device in devices for m in step.timelines[device]]
    counts = np.array([sum(s.begin <= at < s.end for at in changes) for s in step.stages])
    widths = np.maximum(counts / max(1, counts.sum()), _LEAST)
    return np.concatenate([[0.0], np.cumsum(widths / widths.sum())])


def _places(step: Step, seconds: Sequence[float], edges: np.ndarray) -> np.ndarray:
    """Each moment's place: within its stage, they stand at equal distances."""
    begins = [stage.begin for stage in step.stages]
    stages = np.maximum(np.searchsorted(begins, seconds, side="right") - 1, 0)
    places = np.empty(len(seconds))
    for stage in range(len(begins)):
        inside = np.flatnonzero(stages == stage)
        width = edges[stage + 1] - edges[stage]
        places[inside] = edges[stage] + width * np.arange(len(inside)) / max(1, len(inside))
    return places
