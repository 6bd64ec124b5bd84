"""A figure of the paper as a picture: our points from records, the published ones beside them."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from defero_verma2023.figures.curves import Point, points_of, published_curve
from defero_verma2023.figures.figure import Panel, PaperFigure, Series
from defero_verma2023.figures.published import PublishedPoint
from defero_verma2023.methods import BEST_EXPERT, LABELS, ONE_CLASSIFIER
from defero_verma2023.runs.plan import plans_of
from defero_verma2023.runs.record import RunRecord

if TYPE_CHECKING:
    from defero_verma2023.figures.curve_panel import Curve, CurvePanel

LOOKS = {
    "ova": ("#0072b2", "o"),
    "softmax": ("#e69f00", "s"),
    "moe": ("#009e73", "^"),
    ONE_CLASSIFIER: ("#d55e00", ""),
    BEST_EXPERT: ("#cc79a7", "D"),
    "decoupled": ("#56b4e9", "v"),
    "asymmetric": ("#8c510a", "P"),
    "two-stage": ("#542788", "X"),
}
"""Colour and mark of each method; the colours of the paper's own are close to the paper's."""


def draw(
    figure: PaperFigure,
    records: Sequence[RunRecord],
    published: Sequence[PublishedPoint],
    *,
    stem: Path,
    source: str,
    mark: str = "",
) -> tuple[Path, Path]:
    """Write the picture as SVG and PNG; `source` says what the filled marks are, `mark` stands beside the title."""
    from defero_verma2023.figures.published_curves import draw_panels, save_picture

    panels = [_panel(figure, panel, records, published) for panel in figure.panels]
    note = note_in_words(figure, records, published, source=source)
    title = f"{figure.title} ({mark})" if mark else figure.title
    made = draw_panels(panels, x_label=figure.x_label, title=title, note=note, n_columns=figure.n_columns)
    return save_picture(made, stem)


def note_in_words(
    figure: PaperFigure, records: Sequence[RunRecord], published: Sequence[PublishedPoint], *, source: str
) -> str:
    """Say what the marks of a picture are: of the methods that it draws, and of no other."""
    drawn = {series.method for series in figure.series}
    drawn_records = [record for record in records if record.method in drawn]
    seeds = seeds_in_words(drawn_records)
    hollow = "; hollow, thin lines: published" if published else ""
    whose = "filled and hollow alike" if seeds != "1 seed" else "of hollow marks alone"
    bars = f" Bars: standard errors over seeds, {whose}." if published else " Bars: standard errors over seeds."
    bars += " One seed has none, and is provisional." if "1 seed" in seeds and seeds != "1 seed" else ""
    return f"filled: {source}, {seeds}{hollow}.{bars}{nets_in_words(drawn_records)}"


def seeds_in_words(records: Iterable[RunRecord]) -> str:
    """Say how many seeds there are of a setting, and of which methods where not all have as many.

    >>> seeds_in_words([])
    'no seeds'
    """
    seeds: dict[tuple[str, float], set[int]] = {}
    for record in records:
        seeds.setdefault((record.method, record.setting), set()).add(record.seed)
    methods: dict[str, list[str]] = {}
    for method in dict.fromkeys(method for method, _ in seeds):
        counts = sorted(len(with_seed) for (one, _), with_seed in seeds.items() if one == method)
        span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
        methods.setdefault(f"{span} seed{'' if span == '1' else 's'}", []).append(LABELS.get(method, method))
    if len(methods) < 2:
        return next(iter(methods), "no seeds")
    return ", ".join(f"{count} ({', '.join(names)})" for count, names in methods.items())


def nets_in_words(records: Iterable[RunRecord]) -> str:
    """Say which net was trained, and for which methods where not all were with the same.

    >>> nets_in_words([])
    ''
    """
    methods: dict[str, list[str]] = {}
    for method, net in dict.fromkeys((record.method, record.net) for record in records):
        methods.setdefault(net, []).append(LABELS.get(method, method))
    if len(methods) < 2:
        return "".join(f" Net: {net}." for net in methods if net)
    words = [f"{net} ({', '.join(names)})" for net, names in methods.items()]
    return f" Nets: {'; '.join(words)}."


def with_gaps(figure: PaperFigure, method: str, points: Sequence[Point]) -> tuple[Point, ...]:
    """Add an empty point at each setting of the method's plan that was not run between two that were."""
    if len(points) < 2:
        return tuple(points)
    plans = plans_of(figure.experiment)
    settings = next((plan.settings for plan in plans if method in plan.methods), figure.experiment.settings)
    places = {round(setting + figure.first_x, 6) for setting in settings} - {point.x for point in points}
    gaps = [Point(x, math.nan, math.nan, 0) for x in places if points[0].x < x < points[-1].x]
    return tuple(sorted([*points, *gaps], key=lambda point: point.x))


def _panel(
    figure: PaperFigure, panel: Panel, records: Sequence[RunRecord], published: Sequence[PublishedPoint]
) -> "CurvePanel":
    from defero_verma2023.figures.curve_panel import CurvePanel

    curves = tuple(_curve(figure, series, panel.unit, records, published) for series in panel.series)
    return CurvePanel(
        panel.title,
        panel.y_label,
        curves,
        log=panel.log,
        from_zero=panel.unit == "experts" or panel.reference is not None,
        diagonal=panel.diagonal,
        reference=panel.reference,
    )


def _curve(
    figure: PaperFigure,
    series: Series,
    unit: str,
    records: Sequence[RunRecord],
    published: Sequence[PublishedPoint],
) -> "Curve":
    from defero_verma2023.figures.curve_panel import Curve, Marks

    scale = 100.0 if unit == "percent" else 1.0
    points = with_gaps(figure, series.method, points_of(figure, records, method=series.method, metric=series.metric))
    theirs = published_curve(series, published) if series.published else ()
    colour, marker = LOOKS[series.method]
    return Curve(
        label=series.label,
        ours=Marks(
            tuple(point.x for point in points),
            tuple(scale * point.mean for point in points),
            tuple(scale * point.standard_error for point in points),
        ),
        published=Marks(
            tuple(point.x for point in theirs),
            tuple(point.mean for point in theirs),
            tuple(0.0 if math.isnan(point.standard_error) else point.standard_error for point in theirs),
        ),
        colour=colour,
        marker=series.marker or marker,
        line=series.line,
        frames=series.method != BEST_EXPERT,
    )
