"""A matplotlib figure as inline SVG with unique ids and colours that follow the light and dark page."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from defero.core.wording import printable
from defero.plotting import style
from defero.report.html import Html, one_line, tag

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_REFERENCE = re.compile(r"#([A-Za-z_][\w.-]*)\)")
_SETTINGS: dict[str, object] = {
    # Text stays text: small, in the page's font, and open to search and screen readers.
    "svg.fonttype": "none",
    # An expert may be called "$100".
    "text.parse_math": False,
}
_ENLARGED = 1.2
"""Letters of 8 points in print are too small on a screen."""
_VARIABLES = {
    style.INK: "ink",
    style.MUTED: "muted",
    style.GRID: "grid",
    style.PAPER: "paper",
    style.TEAM: "team",
    style.MODEL: "model",
    style.EXPERT: "expert",
}
"""Colours of the pictures, and their names in the style sheet."""


def figure(
    key: str,
    caption: str,
    draw: Callable[[Axes], object],
    *,
    size: tuple[float, float],
    room: tuple[float, float, float, float] | None = None,
    kind: str = "wide",
    label: str | None = None,
) -> Html:
    """Return a picture with its caption.

    Parameters
    ----------
    key : str
        Unique in the page; the prefix of every id of the picture.
    caption : str
    draw : callable
        Draws on the Axes that it gets.
    size : (width, height)
        In inches.
    room : (left, bottom, width, height), optional
        Position of the Axes as shares of the picture; by default from matplotlib's constrained layout.
    kind : str
        Class for the style sheet.
    label : str, optional
        Text for screen readers; the caption by default.
    """
    settings: Any = {**_SETTINGS, "svg.hashsalt": key}
    with matplotlib.rc_context(settings):
        # Not by pyplot, which would hold every figure in memory.
        drawn = Figure(figsize=size, layout="constrained" if room is None else None)
        draw(drawn.add_subplot() if room is None else drawn.add_axes(room))
        image = inline_svg(drawn, key=key, label=label or caption)
    # Reached with the Tab key, as the box scrolls on a phone.
    named = {"class": "scroll", "role": "group", "aria-label": one_line(label or caption), "tabindex": "0"}
    box = tag("div", image, attributes=named)
    return tag("figure", box, tag("figcaption", caption), attributes={"class": kind})


def inline_svg(drawn: Figure, *, key: str, label: str) -> Html:
    """Return a figure as an `svg` element with unique ids, without fixed colours and sizes."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has its own fonts
        drawn.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(printable(written.getvalue()))  # XML has no control characters
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(name): value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: _adapted(name, value, key=key) for name, value in attributes.items()})
    width = float(root.attrib.pop("width").removesuffix("pt"))
    for name in ("height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update(
        {"role": "img", "aria-label": one_line(label), "style": f"--width: {_ENLARGED * width * 96 / 72:.0f}px"}
    )
    return Html(ElementTree.tostring(root, encoding="unicode"))


def _adapted(name: str, value: str, *, key: str) -> str:
    """Return an attribute's value for the page."""
    if name == "id":
        return f"{key}-{value}"
    if name == "href":
        return value.replace("#", f"#{key}-", 1)
    if name in ("d", "points", "transform", "x", "y", "width", "height"):
        return _LONG_NUMBER.sub(r"\1", value)
    if name in ("clip-path", "style", "fill"):  # in a style: url(#...) of a hatched patch
        value = _REFERENCE.sub(rf"#{key}-\1)", value)
    if name in ("style", "fill", "stroke"):
        for colour, variable in _VARIABLES.items():
            value = value.replace(colour, f"var(--{variable})")
    return value


def _local(name: str) -> str:
    return _NAMESPACE.sub("", name)
