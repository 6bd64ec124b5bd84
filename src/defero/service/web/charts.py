"""How a case and its trail look, and little charts as SVG, drawn on the server.

Their colours are classes of the style sheet.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from defero.service import events
from defero.service.events import Row
from defero.service.views.cases import with_names
from defero.service.views.promises import Kept
from defero.service.views.tallies import Flow
from defero.service.web.sight import money, percent

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


def svg(parts: Sequence[str], *, width: float, height: float, label: str, kind: str) -> Markup:
    """Return a picture with a name for screen readers."""
    start = f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
    return Markup(start + "".join(parts) + "</svg>")


def days_chart(days: Sequence[tuple[str, Flow]]) -> Markup:
    """Return a bar for each day: answers of the model alone below, with experts above; a line for what came in."""
    width, height, foot = 560.0, 150.0, 18.0
    most = max([1, *(max(flow.settled, flow.received) for _, flow in days)])
    scale, slot = (height - foot - 16) / most, width / len(days)
    base, parts, step = height - foot, [], max(1, len(days) // 7)
    for place, (day, flow) in enumerate(days):
        x, alone = slot * place, scale * max(flow.settled_alone, 0)
        others = scale * max(flow.settled_with_experts, 0)
        parts.append(rect(x + 0.15 * slot, base - alone, 0.7 * slot, alone, "alone"))
        parts.append(rect(x + 0.15 * slot, base - alone - others, 0.7 * slot, others, "with-experts"))
        if flow.received:
            y = base - scale * flow.received
            parts.append(f'<line class="received" x1="{x:.1f}" x2="{x + slot:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if (len(days) - 1 - place) % step == 0:
            middle = min(max(x + slot / 2, 16), width - 16)
            parts.append(f'<text x="{middle:.1f}" y="{height - 4:g}" text-anchor="middle">{day[5:]}</text>')
    parts.append(f'<line class="axis" x1="0" x2="{width:g}" y1="{base:g}" y2="{base:g}"/>')
    parts.append(f'<text x="2" y="11">{most:,}</text>')
    return svg(parts, width=width, height=height, label="Cases by day; the table below has the numbers", kind="days")


def kept_chart(record: Kept) -> Markup:
    """Return promised (a tick) beside kept (a dot with its interval), on a line from 0 to 100 %."""
    if record.kept is None or record.promised is None or record.low is None or record.high is None:
        return Markup("")
    parts = [
        '<line class="axis" x1="0" x2="200" y1="12" y2="12"/>',
        f'<line class="interval" x1="{200 * record.low:.1f}" x2="{200 * record.high:.1f}" y1="12" y2="12"/>',
        f'<circle class="kept" cx="{200 * record.kept:.1f}" cy="12" r="4"/>',
        f'<line class="promised" x1="{200 * record.promised:.1f}" x2="{200 * record.promised:.1f}" y1="3" y2="21"/>',
    ]
    label = f"promised {record.promised:.0%}, kept {record.kept:.0%}, between {record.low:.0%} and {record.high:.0%}"
    return svg(parts, width=200, height=24, label=label, kind="record")


def load_chart(used: int, capacity: int | None) -> Markup:
    """Return how much of a capacity is used."""
    if not capacity:
        return Markup("")
    share = min(used / capacity, 1.0)
    parts = [rect(0, 2, 120, 8, "track"), rect(0, 2, 120 * share, 8, "full" if share >= 1 else "used")]
    return svg(parts, width=120, height=12, label=f"{used} of {capacity}", kind="load")


def nearness_chart(share: float) -> Markup:
    """Return how near the evidence of a change is to an alarm."""
    parts = [rect(0, 2, 120, 8, "track"), rect(0, 2, 120 * share, 8, "full" if share >= 1 else "used")]
    return svg(parts, width=120, height=12, label=f"{share:.0%} of the way to an alarm", kind="load")


def picture(grid: Grid) -> Markup:
    """Return a picture of numbers, dark where they are high."""
    parts = [
        f'<rect x="{x}" y="{y}" width="1" height="1" fill-opacity="{shade:.2f}"/>'
        for y, row in enumerate(grid.rows)
        for x, shade in enumerate(row)
        if shade > 0
    ]
    height, width = len(grid.rows), len(grid.rows[0])
    return svg(parts, width=width, height=height, label=f"Picture of {height} by {width} numbers", kind="pixels")


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a rectangle."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


Names = Mapping[str, str]


def lines_of(entries: Sequence[events.Entry], notes: Mapping[int, str], names: Names) -> list[dict[str, object]]:
    """Return number, time, kind, sentence, details and note of each entry."""
    return [
        {
            "seq": one.seq,
            "at": one.at,
            "kind": one.fact.kind.replace("_", " "),
            "what": happened(one.fact, names),
            "why": why(one.fact, names),
            "note": notes.get(one.seq, ""),
        }
        for one in entries
    ]


def happened(fact: events.Fact, names: Names) -> str:
    """Return what happened, in one sentence.

    >>> happened(events.TimedOut(person="p2"), {"p2": "bob"})
    'bob did not answer in time.'
    """

    def name(person: str) -> str:
        return names.get(person, person)

    match fact:
        case events.Received():
            return f"Received; scored by model {fact.model} under policy {fact.policy}."
        case events.Rerouted():
            who_asked = f"{name(fact.person)} was asked in place of {name(fact.instead_of)}"
            return f"{who_asked}; P(right) is {percent(fact.p_person)}."
        case events.Asked():
            return f"{name(fact.person)} was asked; P(right) is {percent(fact.p_person)}."
        case events.Answered():
            sent = "" if fact.by == fact.person else f", sent by {name(fact.by)}"
            return f"{name(fact.person)} answered {fact.answer}{sent}{'' if fact.counted else ', too late to count'}."
        case events.Skipped():
            return f"{name(fact.person)} skipped the question."
        case events.Undone():
            return f"{name(fact.person)} took the answer back."
        case events.TimedOut():
            return f"{name(fact.person)} did not answer in time."
        case events.Settled():
            names_heard = ", ".join(map(name, fact.heard)) or "nobody"
            return f"Settled: {fact.label}; P(right) is {percent(fact.p_right)}; heard: {names_heard}."
        case events.Outcome():
            return f"The outcome is {fact.label}, by {name(fact.by)}."
        case events.CallBegun():
            return f"{name(fact.person)}, a language model, was called (call {fact.attempt})."
        case events.CallFailed():
            status = f"HTTP status {fact.status}" if fact.status else "no reply in time"
            return f"The call failed: {status}{'' if fact.retry_at is None else '; it is tried again'}."
        case events.CallEnded():
            return f"The language model replied after {fact.seconds:.1f} s for {money(fact.price)}."
        case events.Erased():
            return f"{name(fact.by)} erased its content."
    return fact.kind.replace("_", " ").capitalize() + "."


def why(fact: events.Fact, names: Names) -> str:
    """Return the reason of a step, with its costs."""
    if isinstance(fact, events.Asked | events.Settled):
        return f"{with_names(fact.reason, names)} (model {fact.model}, policy {fact.policy})"
    return ""
