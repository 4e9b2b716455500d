"""The memory widget: what fills each card in a training step, and what runs out first.

from course.widgets import memory

memory.show()                                    # move the controls
memory.draw_memory(account(Config(batch=64)))    # one picture, without a widget
memory.draw_fits(fits_table())                   # the largest batches, with DP and with DDP
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.measure.memory import (
    GIB,
    MODELS,
    OPTIMIZERS,
    PRECISIONS,
    WAYS,
    Account,
    Config,
    Fit,
    account,
    largest_batch,
    shares,
)
from course.measure.step_memory import ALL_KINDS
from course.measure.transformer import SIZES
from course.widgets.controls import View, caption_html, picture_box, set_picture
from course.widgets.style import ALARM, INK, LINE, MUTED, Picture, paler, png

KIND_COLOURS = dict(
    zip(
        ALL_KINDS,
        ("#2a78b5", "#9cc4e4", "#d1730f", "#4a9d5b", "#8e5ea2", "#aaaaaa", "#16425b"),
        strict=True,
    )
)
START = Config()
CARDS = (8, 12, 16, 24, 40, 80)  # GiB
LENGTHS = (64, 128, 256, 384, 512, 1024)
_HEAD_NAMES = {"words": "every word", "classes": "two classes a text"}
_WAY_COLOURS = {"DP": "#d1730f", "DDP": "#2a78b5", "DDP, bucket views": "#16425b"}


def describe(found: Account) -> str:
    """Who runs out first, or how full the fullest is; and the largest batch that would fit."""
    most, n = largest_batch(found.config), found.config.devices
    if not most:
        return f"{found.sentence()} No batch fits."
    whole = f"The largest batch that fits is {most}"
    return f"{found.sentence()} {whole}" + (f", {-(-most // n)} on a GPU." if n > 1 else ".")


def show(config: Config = START) -> View:
    """The memory of the cards, with a control for each part of the configuration.

    Returns:
        The widget; the picture and the sentence of ``config`` where nothing can be moved.
    """
    first = account(config)
    try:
        widget = _Controls(config).box
    except ImportError:
        widget = None
    return View(widget, lambda: draw_memory(first), describe(first))


class _Controls:
    """The widget's controls, picture and caption; ``box`` is what is shown."""

    def __init__(self, config: Config) -> None:
        import ipywidgets

        self.by_name = {name: make(getattr(config, name)) for name, make in _makers().items()}
        self._image, self._caption = picture_box(), ipywidgets.HTML()
        for control in self.by_name.values():
            control.style.description_width = "5.5em"
            control.layout.width = "19em"
            control.observe(self._moved, "value")
        self._lengths = tuple(self.by_name["length"].options)
        layout = ipywidgets.Layout(flex_flow="row wrap", max_width="60em")
        rows = ipywidgets.Box(list(self.by_name.values()), layout=layout)
        self.box = ipywidgets.VBox([rows, self._image, self._caption])
        self._moved(None)

    def _moved(self, change: Any) -> None:
        self._offer_lengths()
        chosen = {name: control.value for name, control in self.by_name.items()}
        picture, text = _drawn(Config(**chosen))
        set_picture(self._image, picture)
        self._caption.value = caption_html(text)

    def _offer_lengths(self) -> None:
        """Texts that the model can read, and no longer ones."""
        longest = SIZES[self.by_name["model"].value].longest
        offered = tuple(length for length in self._lengths if length <= longest)
        control = self.by_name["length"]
        if tuple(control.options) == offered:
            return
        chosen = control.value
        control.unobserve(self._moved, "value")
        control.options = offered
        control.value = chosen if chosen in offered else max(offered)
        control.observe(self._moved, "value")


def _makers() -> dict[str, Callable[[Any], Any]]:
    """How to make the control of each field of Config, given where it starts."""
    import ipywidgets

    def choice(name: str, options: Sequence[Any]) -> Callable[[Any], Any]:
        def make(value: Any) -> Any:
            known = [one[1] if isinstance(one, tuple) else one for one in options]
            more = [] if value in known else [value]
            return ipywidgets.Dropdown(options=[*options, *more], value=value, description=name)

        return make

    def slider(name: str, least: int, most: int) -> Callable[[Any], Any]:
        return lambda value: ipywidgets.IntSlider(
            value, least, max(most, value), description=name, continuous_update=False
        )

    return {
        "model": choice("model", MODELS),
        "head": choice("a score for", [(name, head) for head, name in _HEAD_NAMES.items()]),
        "length": choice("words", LENGTHS),
        "way": choice("way", WAYS),
        "devices": slider("GPUs", 1, 8),
        "card": choice("GiB each", CARDS),
        "batch": slider("batch", 1, 256),
        "optimizer": choice("optimizer", OPTIMIZERS),
        "precision": choice("precision", PRECISIONS),
    }


@functools.lru_cache(maxsize=128)
def _drawn(config: Config) -> tuple[bytes, str]:
    found = account(config)
    return png(draw_memory(found)), describe(found)


# ------------------------------------------------------------------------------- drawing


def draw_memory(found: Account) -> Picture:
    """A bar for each device, at its peak, by kind; and the line at which the card ends."""
    count = len(found.devices)
    figure = Picture(figsize=(10, 1.35 + 0.46 * count), layout="constrained")
    axes = figure.subplots()
    end = 1.12 * max(found.card, *(one.peak for one in found.devices)) / GIB
    for row, one in enumerate(found.devices):
        left = 0.0
        for kind, colour in KIND_COLOURS.items():
            size = one.by_kind[kind] / GIB
            axes.barh(row, size, 0.62, left, color=colour, edgecolor="white", linewidth=0.6)
            if size > end * 0.045:
                at = left + size / 2
                if size > end * 0.1 and abs(at - found.config.card) < 0.025 * end:
                    at -= 0.04 * end  # beside the line, not under it
                ink = INK if kind == "gradients" else "white"
                axes.text(
                    at, row, f"{size:.1f}", ha="center", va="center", fontsize=9, color=ink
                )  # fmt: skip
            left += size
        late = one.runs_out is not None
        axes.text(
            left + 0.008 * end, row, f"{left:.1f}" if one.rows else "nothing to do",
            va="center", fontsize=10, color=ALARM if late else INK,
            fontweight="bold" if late else "normal",
        )  # fmt: skip
    _card(axes, found, end)
    names = [f"GPU {one.device}: {one.rows} row{'s' * (one.rows != 1)}" for one in found.devices]
    axes.set_yticks(range(count), names)
    axes.set(ylim=(count - 0.4, -0.75), xlim=(0, end), xlabel="GiB at the peak of each GPU")
    axes.set_title(_title(found.config), loc="left", fontsize=11, pad=26)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    seen = {k for d in found.devices for k, size in d.by_kind.items() if size > 0.002 * end * GIB}
    _legend(axes, [kind for kind in ALL_KINDS if kind in seen])
    return figure


def _card(axes: Axes, found: Account, end: float) -> None:
    card = found.config.card
    axes.axvspan(card, end, color=paler(ALARM, 0.9), zorder=0)
    axes.axvline(card, color=ALARM, linewidth=1.4, zorder=3)
    axes.text(
        card, -0.5, f"card: {card:g} ", ha="right", va="center", fontsize=9, color=ALARM, zorder=4
    )


def _legend(axes: Axes, kinds: Sequence[str]) -> None:
    marks = [Rectangle((0, 0), 1, 1, color=KIND_COLOURS[kind]) for kind in kinds]
    axes.legend(
        marks, kinds, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(kinds),
        frameon=False, fontsize=9, handlelength=1, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip


def _title(config: Config) -> str:
    return (
        f"{config.model}, {config.way}: {_batch(config)} of {config.length} words, "
        f"{config.optimizer}, {config.precision}, a score for {_HEAD_NAMES[config.head]}"
    )


def _batch(config: Config) -> str:
    """DDP gives every rank as many rows: where it does not divide, some are there twice."""
    rows = shares(config)
    if sum(rows) == config.batch:
        return f"batch {config.batch}"
    return f"batch {config.batch}, filled up to {sum(rows)},"


def draw_fits(table: Sequence[Fit]) -> Picture:
    """The largest batch that fits: a panel for each length and precision, bars for each way."""
    configs = [fit.config for fit in table]
    lengths, precisions, optimizers, ways = (
        list(dict.fromkeys(getattr(config, name) for config in configs))
        for name in ("length", "precision", "optimizer", "way")
    )
    found = {
        (f.config.length, f.config.precision, f.config.optimizer, f.config.way): f for f in table
    }
    figure = Picture(figsize=(10, 0.9 + 1.75 * len(precisions)), layout="constrained")
    panels = figure.subplots(len(precisions), len(lengths), squeeze=False, sharex="col")
    for line, precision in zip(panels, precisions):
        for axes, length in zip(line, lengths):
            most = max(f.batch for f in table if f.config.length == length)
            for row, optimizer in enumerate(optimizers):
                for place, way in enumerate(ways):
                    fit = found[length, precision, optimizer, way]
                    at = row + 0.8 * ((place + 0.5) / len(ways) - 0.5)
                    axes.barh(at, fit.batch, 0.72 / len(ways), color=_WAY_COLOURS[way])
                    axes.text(fit.batch + 0.02 * most, at, str(fit.batch), va="center", fontsize=9)
            axes.set_yticks(range(len(optimizers)), optimizers if axes is line[0] else [])
            axes.set(ylim=(len(optimizers) - 0.45, -0.55), xlim=(0, 1.2 * most))
            axes.set_title(f"{precision}, {length} words", loc="left", fontsize=10)
            axes.spines[["top", "right"]].set_visible(False)
            axes.spines[["left", "bottom"]].set_color(LINE)
            axes.tick_params(axis="both", length=0, labelcolor=MUTED)
            axes.tick_params(axis="y", labelcolor=INK)
    config = configs[0]
    figure.suptitle(
        f"Largest batch that fits: {config.model} on {config.devices} × {config.card:g} GiB, "
        f"a score for {_HEAD_NAMES[config.head]}",
        x=0.01, ha="left", fontsize=11,
    )  # fmt: skip
    marks = [Rectangle((0, 0), 1, 1, color=_WAY_COLOURS[way]) for way in ways]
    figure.legend(marks, ways, loc="outside lower left", ncols=len(ways), frameon=False, fontsize=9)
    return figure
