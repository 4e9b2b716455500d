"""One step of DataParallel, stage by stage: what moves between which devices.

from course.widgets import dp_step

dp_step.show()                                   # a small transformer on four virtual GPUs
step = record(model, batch, target, loss)        # course.measure.dp_step: your own
dp_step.show(step)
dp_step.draw_step(step, stage=6)                 # one picture, without a widget
"""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle

from course.measure.dp_step import Move, Stage, Step, example
from course.measure.step_memory import ALL_KINDS
from course.virtual import sizes
from course.widgets.controls import Pictures, View, step_through
from course.widgets.memory import KIND_COLOURS
from course.widgets.style import EMPTY, INK, LINE, MUTED, Picture, draw_arrow

_HOME_X, _OTHER_X, _WIDTH, _HEIGHT = 0.0, 7.0, 3.0, 0.74
_ABOUT = {
    "scatter": "The batch on GPU 0 is cut into pieces, and each other GPU is sent one.",
    "replicate": "Every other GPU is sent the whole model, as in every step.",
    "parallel apply": "Each GPU computes the forward pass of its piece, in a thread of its own.",
    "gather": "All outputs come together on GPU 0.",
    "loss": "GPU 0 alone computes the loss, of the whole batch.",
    "backward": "Each GPU is sent the gradient of its outputs and computes its backward pass.",
    "reduce": "All gradients come to GPU 0, which adds them up; the copies of the model are gone.",
    "optimizer step": "GPU 0 alone changes the weights. The others have nothing left.",
}


def show(step: Step | None = None) -> View:
    """Step through one training step: :func:`course.measure.dp_step.example` if none is given."""
    recorded = example() if step is None else step
    return step_through(
        Pictures(
            count=len(recorded.stages),
            draw=lambda stage: _one(recorded, stage),
            describe=lambda stage: describe(recorded, stage),
            whole=lambda: _all(recorded),
            text=_text(recorded),
            name="stage",
            numbered=False,  # the picture's title has the number, from 1 on
        )
    )


def draw_step(step: Step, stage: int | None = None) -> Picture:
    """Devices as boxes, with what they hold at the stage's end, and arrows for what moved.

    Args:
        step: as recorded.
        stage: 0 to 7, of those that the picture numbers 1 to 8; all, in small, if None.
    """
    return _all(step) if stage is None else _one(step, stage)


def describe(step: Step, stage: int) -> str:
    """A stage in words."""
    done = step.stages[stage]
    if not done.moves:
        moved = "Nothing moves between GPUs."
    else:
        kinds = sorted({move.kind for move in done.moves}, key=ALL_KINDS.index)
        moved = f"{sizes.text(done.moved)} move: {' and '.join(kinds)}."
    held = [sum(kinds.values()) for kinds in done.held]
    others = sorted({sizes.text(size) for size in held[1:]}, key=len)
    return (
        f"{done.name.capitalize()}. {_ABOUT[done.name]} {moved} "
        f"At its end GPU 0 holds {sizes.text(held[0])}, each other {' or '.join(others)}."
    )


def _text(step: Step) -> str:
    moved = sum(stage.moved for stage in step.stages)
    peaks = [step.peak(device) for device in range(step.devices)]
    return (
        f"A step of DataParallel on {step.devices} GPUs: {sizes.text(moved)} move, and "
        f"{sizes.text(step.through_home)} of them to or from GPU 0. It holds up to "
        f"{sizes.text(peaks[0])}, the others up to {sizes.text(max(peaks[1:]))}."
    )


# ------------------------------------------------------------------------------- drawing


def _one(step: Step, stage: int) -> Picture:
    if not 0 <= stage < len(step.stages):
        raise ValueError(f"stage is {stage}; there are stages 0 to {len(step.stages) - 1}.")
    figure = Picture(figsize=(9.5, 1.3 + 0.78 * (step.devices - 1)), layout="constrained")
    axes = figure.subplots()
    _paint(axes, step, stage, large=True)
    done = step.stages[stage]
    axes.set_title(f"{stage + 1}. {done.name}", loc="left", fontsize=12, fontweight="bold")
    _legend(figure, step)
    return figure


def _legend(figure: Picture, step: Step) -> None:
    """All that is held or moves; an arrow has the colour of what it carries."""
    held = {kind for stage in step.stages for one in stage.held for kind in one if one[kind]}
    moved = {move.kind for stage in step.stages for move in stage.moves}
    kinds = [kind for kind in ALL_KINDS if kind in held | moved]
    names = ["the batch" if kind == "others" else kind for kind in kinds]
    marks: list[Artist] = [Rectangle((0, 0), 1, 1, color=KIND_COLOURS[kind]) for kind in kinds]
    marks.append(Line2D([], [], color=MUTED, linewidth=1))
    figure.legend(
        marks, [*names, "the stage's peak"], loc="outside lower left", ncols=len(marks),
        frameon=False, fontsize=9, handlelength=1, columnspacing=1.2,
    )  # fmt: skip


def _all(step: Step) -> Picture:
    rows = -(-len(step.stages) // 4)
    size = 10, 0.25 + rows * (0.75 + 0.36 * (step.devices - 1))
    figure = Picture(figsize=size, layout="constrained")
    for stage, axes in enumerate(figure.subplots(rows, 4).flat):
        _paint(axes, step, stage, large=False)
        done = step.stages[stage]
        moved = sizes.text(done.moved) if done.moves else "nothing moves"
        axes.set_title(f"{stage + 1}. {done.name}: {moved}", loc="left", fontsize=8.5)
    _legend(figure, step)
    return figure


def _paint(axes: Axes, step: Step, stage: int, large: bool) -> None:
    done = step.stages[stage]
    scale = max(step.peak(device) for device in range(step.devices))
    middle = (step.devices - 2) / 2
    places = [(_HOME_X, middle), *((_OTHER_X, float(row)) for row in range(step.devices - 1))]
    for device, (x, y) in enumerate(places):
        _device(axes, device, (x, y), done, scale, large)
    most = max((move.bytes for one in step.stages for move in one.moves), default=1)
    for move in _together(done.moves):
        _arrow(axes, move, places, most, large)
    axes.set(xlim=(-0.15, _OTHER_X + _WIDTH + 0.15), ylim=(step.devices - 1.4, -0.6))
    axes.set_axis_off()


def _device(
    axes: Axes, device: int, place: tuple[float, float], stage: Stage, scale: int, large: bool
) -> None:
    """A box with what the device holds at the stage's end, and a thin line as far as its peak."""
    x, y = place
    held, peak = stage.held[device], stage.peaks[device]
    box = FancyBboxPatch(
        (x, y - _HEIGHT / 2), _WIDTH, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.08",
        facecolor=EMPTY, edgecolor=LINE,
    )  # fmt: skip
    axes.add_patch(box)
    left, room = x + 0.1, _WIDTH - 0.2
    axes.plot(
        [left, left + room * peak / scale],
        [y + 0.12] * 2,
        color=MUTED,
        linewidth=1,
        solid_capstyle="butt",
    )
    for kind, colour in KIND_COLOURS.items():
        size = room * held.get(kind, 0) / scale
        axes.add_patch(Rectangle((left, y - 0.02), size, 0.28, color=colour, linewidth=0, zorder=3))
        left += size
    axes.text(
        x + 0.1, y - 0.19, f"GPU {device}",
        va="center", fontsize=10 if large else 7, color=INK, fontweight="bold",
    )  # fmt: skip
    if large:
        axes.text(
            x + _WIDTH - 0.1, y - 0.19, f"{_mib(sum(held.values()))}, peak {_mib(peak)}",
            ha="right", va="center", fontsize=8.5, color=MUTED,
        )  # fmt: skip


def _mib(size: int) -> str:
    return sizes.text(size) if size else "0"


def _together(moves: tuple[Move, ...]) -> list[Move]:
    """One for each pair of devices: of the kind of which most moved."""
    pairs: dict[tuple[int, int], list[Move]] = {}
    for move in moves:
        pairs.setdefault((move.source, move.target), []).append(move)
    return [
        Move(*pair, sum(m.bytes for m in some), max(some, key=lambda m: m.bytes).kind)
        for pair, some in pairs.items()
    ]


def _arrow(
    axes: Axes, move: Move, places: list[tuple[float, float]], most: int, large: bool
) -> None:
    out = move.source == 0
    home, other = places[0], places[move.target if out else move.source]
    # At home's side arrows spread over the height of its box, so that none lies on another.
    spread = 0.6 * _HEIGHT * (2 * other[1] / max(1, len(places) - 2) - 1) if len(places) > 2 else 0
    ends = [(home[0] + _WIDTH + 0.05, home[1] + spread / 2), (other[0] - 0.05, other[1])]
    tail, head = ends if out else ends[::-1]
    width = (1.0 + 3.5 * (move.bytes / most) ** 0.5) * (1 if large else 0.6)
    colour = KIND_COLOURS[move.kind]
    draw_arrow(axes, tail, head, color=colour, linewidth=width, mutation_scale=16 if large else 8)
    if large:
        at = 0.62
        x, y = (ends[0][i] + at * (ends[1][i] - ends[0][i]) for i in (0, 1))
        axes.text(
            x, y, sizes.text(move.bytes), ha="center", va="center", fontsize=9, color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
