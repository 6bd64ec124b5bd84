"""How a case looks: its pictures, its texts and its other columns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from defero.service.flow.team import Row

LONG_TEXT = 60
"""A longer text is shown as a paragraph, not in the table."""
_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
_PIXEL = re.compile(r"(?P<stem>.*?)_?(?P<row>[0-9]{1,3})_(?P<column>[0-9]{1,3})")
_FEWEST_PIXELS = 16


@dataclass(frozen=True)
class Grid:
    """A picture in numbers: rows of shades from 0 to 1."""

    rows: list[list[float]]


@dataclass(frozen=True)
class Shown:
    """The parts of a case.

    Attributes
    ----------
    cells : (name, value) pairs
        Numbers and short texts.
    texts, pictures : (name, value) pairs
        Long texts, and pictures that came as data URLs.
    grid : Grid, optional
        Columns such as pixel_0_0, pixel_0_1, ... as a picture; they stand in `cells` too.
    """

    cells: list[tuple[str, Any]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)
    grid: Grid | None = None


def shown(row: Row) -> Shown:
    """Sort the features of a case by how they are shown.

    >>> parts = shown({"age": 41, "note": "long " * 20, "scan": "data:image/png;base64,AAAA"})
    >>> [name for name, _ in parts.cells], [name for name, _ in parts.texts], [name for name, _ in parts.pictures]
    (['age'], ['note'], ['scan'])
    """
    named = row if isinstance(row, Mapping) else {f"x{place}": value for place, value in enumerate(row)}
    parts = Shown(grid=pixel_grid(named))
    for name, value in named.items():
        if isinstance(value, str) and _PICTURE.fullmatch(value):
            parts.pictures.append((name, value))
        elif isinstance(value, str) and len(value) > LONG_TEXT:
            parts.texts.append((name, value))
        else:
            parts.cells.append((name, value))
    return parts


def pixel_grid(row: Mapping[str, Any]) -> Grid | None:
    """Return columns of the form stem_row_column as a picture, where they fill three quarters of a rectangle.

    A model leaves out columns that never change, such as the corners of pictures; these get the lowest shade.

    >>> grid = pixel_grid({f"pixel_{r}_{c}": 4 * r + c for r in range(4) for c in range(4)})
    >>> grid.rows[0], grid.rows[3][3]
    ([0.0, 0.06..., 0.13..., 0.2], 1.0)
    >>> pixel_grid({"pixel_0_0": 1}) is None
    True
    """
    pixels: dict[str, dict[tuple[int, int], float]] = {}
    for name, value in row.items():
        place = _PIXEL.fullmatch(name)
        if place is not None and isinstance(value, int | float):
            pixels.setdefault(place["stem"], {})[int(place["row"]), int(place["column"])] = float(value)
    for cells in pixels.values():
        height, width = 1 + max(r for r, _ in cells), 1 + max(c for _, c in cells)
        if len(cells) >= max(_FEWEST_PIXELS, 0.75 * height * width):
            low = min(cells.values())
            return Grid(_shades([[cells.get((r, c), low) for c in range(width)] for r in range(height)]))
    return None


def _shades(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    low, high = min(map(min, rows)), max(map(max, rows))
    return [[0.0 if high == low else (value - low) / (high - low) for value in row] for row in rows]
