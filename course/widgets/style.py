"""What all pictures share: a colour for each rank, ink, arrows, and a figure made into a PNG."""

from __future__ import annotations

import base64
import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from course.ranks.markup import RANKS

INK, MUTED, LINE, EMPTY, ALARM = "#333333", "#777777", "#dddddd", "#f1f1f1", "#b3261e"
SHARPNESS = 2  # pixels of a PNG for each pixel on the page: screens have them
DOTS_PER_INCH = 96  # on the page, as CSS has it


def rank_colour(rank: int) -> str:
    """The colour that a rank has in every picture and in what it prints."""
    return RANKS[rank % len(RANKS)]


def paler(colour: str, share: float = 0.6) -> tuple[float, ...]:
    """The colour with so much white in it."""
    return tuple(share + (1 - share) * part for part in to_rgb(colour))


def draw_arrow(
    axes: Axes, tail: tuple[float, float], head: tuple[float, float], **style: Any
) -> None:
    """A straight arrow; ``style`` goes to matplotlib's ``FancyArrowPatch``."""
    usual = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
    axes.annotate("", xy=head, xytext=tail, arrowprops={**usual, **style})


def name_ranks(axes: Axes, ranks: int, positions: list[float] | None = None) -> None:
    """``rank 0``, ``rank 1``… down the left side, each in its colour; no ticks and no frame."""
    at = list(range(ranks)) if positions is None else positions
    axes.set_yticks(at, [f"rank {rank}" for rank in range(ranks)])
    for rank, label in enumerate(axes.get_yticklabels()):
        label.set_color(rank_colour(rank))
        label.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)


class Picture(Figure):
    """A figure that a notebook shows once: where it is a cell's last value, or displayed.

    pyplot's own are shown when the cell ends, and so twice where they are its last value.
    """

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return bundle(png(self), repr(self))


def bundle(picture: bytes, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Jupyter shows for a PNG: its data, and the width that it has on the page."""
    data = {"text/plain": text, "image/png": base64.b64encode(picture).decode()}
    return data, {"image/png": {"width": width_of(picture)}}


def width_of(picture: bytes) -> int:
    """The width of a PNG on the page, in CSS pixels: its header has that of the file."""
    return int.from_bytes(picture[16:20], "big") // SHARPNESS


def png(figure: Figure) -> bytes:
    """The figure as it will stand in a notebook, twice as sharp."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH * SHARPNESS, facecolor="white")
    return buffer.getvalue()
