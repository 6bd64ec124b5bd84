"""Little charts as SVG, drawn on the server; their colours are classes of the style sheet."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from defero.service.pages.shown import Grid
from defero.service.views.figures import Flow
from defero.service.views.kept import Kept


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
