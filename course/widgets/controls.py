"""What the widgets share: a picture that a slider steps through, and what stands in for it.

ipywidgets is imported when a widget is made, and not needed: without it, and in a saved
notebook that has no kernel, the picture alone is shown.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from course.widgets.style import bundle, png, width_of

_CAPTION = "max-width:56em;line-height:1.4;color:var(--jp-ui-font-color1, #222)"


@dataclass(frozen=True)
class Pictures:
    """A picture for each position of a slider.

    ``draw(k)`` makes the figure of position k, 0 to ``count`` − 1, and ``describe(k)`` says in
    words what is in it, for those who do not see it. ``whole()`` makes the one figure that
    stands for all, where nothing can be moved; ``text`` stands for that.
    """

    count: int
    draw: Callable[[int], Figure]
    describe: Callable[[int], str]
    whole: Callable[[], Figure]
    text: str
    start: int = 0
    name: str = "step"
    numbered: bool = True  # whether the slider shows its position


class View:
    """What a notebook shows: the widget where it is alive, else the picture, else the text."""

    def __init__(self, widget: Any, whole: Callable[[], Figure], text: str) -> None:
        self.widget = widget
        self.text = text
        self._whole = whole

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        data, metadata = bundle(png(self._whole()), self.text)
        alive = {} if self.widget is None else self.widget._repr_mimebundle_()
        return {**alive, **data}, metadata


def step_through(pictures: Pictures) -> View:
    """The pictures with a slider and a play button; without ipywidgets, the one picture."""
    try:
        import ipywidgets
    except ImportError:
        return View(None, pictures.whole, pictures.text)
    last = pictures.count - 1
    slider = ipywidgets.IntSlider(
        pictures.start,
        0,
        last,
        description=pictures.name,
        continuous_update=True,
        readout=pictures.numbered,
    )
    play = ipywidgets.Play(
        value=pictures.start, min=0, max=last, interval=1200, tooltip="play step by step"
    )
    ipywidgets.jslink((play, "value"), (slider, "value"))
    image, caption = picture_box(), ipywidgets.HTML()

    @functools.lru_cache(maxsize=128)
    def drawn(position: int) -> bytes:
        return png(pictures.draw(position))

    def show(change: Any) -> None:
        set_picture(image, drawn(slider.value))
        caption.value = caption_html(pictures.describe(slider.value))

    slider.observe(show, "value")
    show(None)
    rows = [ipywidgets.HBox([play, slider])] if last else []
    return View(ipywidgets.VBox([*rows, image, caption]), pictures.whole, pictures.text)


def picture_box() -> Any:
    """An empty place for a picture."""
    import ipywidgets

    return ipywidgets.Image(format="png", layout=ipywidgets.Layout(max_width="100%"))


def set_picture(image: Any, picture: bytes) -> None:
    image.width = str(width_of(picture))
    image.value = picture


def caption_html(text: str) -> str:
    """The words below a picture; a screen reader says them when they change."""
    return f'<div aria-live="polite" style="{_CAPTION}">{html.escape(text)}</div>'
