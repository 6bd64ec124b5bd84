"""Published and found side by side: one row for each number."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from defero_verma2023.figures.curves import Point, points_of, value_of
from defero_verma2023.figures.figure import PaperFigure
from defero_verma2023.figures.published import PublishedPoint
from defero_verma2023.methods import BEST_EXPERT
from defero_verma2023.runs.record import RunRecord

HEADER = (
    "figure",
    "method",
    "run",
    "metric",
    "x",
    "unit",
    "published",
    "published_standard_error",
    "published_same_seeds",
    "ours",
    "standard_error",
    "seeds",
    "difference",
)


@dataclass(frozen=True)
class Comparison:
    """One number, twice; in percent or experts, nan where there is none.

    Attributes
    ----------
    figure, method, run, metric : str
        As in the published table; the run is one of the authors' two with conformal sets, or "".
    x : float
    unit : str
    published, published_error : float
        Mean and standard error over the authors' seeds.
    same_seeds : float
        The mean of what the authors published for the very runs that ours are from; nan for runs of our own.
    ours, error : float
    n_seeds : int
    """

    figure: str
    method: str
    run: str
    metric: str
    x: float
    unit: str
    published: float
    published_error: float
    same_seeds: float
    ours: float
    error: float
    n_seeds: int

    @property
    def difference(self) -> float:
        """Ours less the published number: that of the same runs, where it is known."""
        return self.ours - (self.published if math.isnan(self.same_seeds) else self.same_seeds)

    def cells(self) -> tuple[str, ...]:
        """Return the row for a CSV file, as in HEADER."""
        numbers = (self.published, self.published_error, self.same_seeds, self.ours, self.error)
        texts = ["" if math.isnan(value) else f"{value:.4f}" for value in (*numbers, self.difference)]
        x = "" if math.isnan(self.x) else f"{self.x:g}"
        names = (self.figure, self.method, self.run, self.metric, x, self.unit)
        return (*names, *texts[:5], str(self.n_seeds), texts[5])


def compare(
    figure: PaperFigure, records: Sequence[RunRecord], published: Sequence[PublishedPoint]
) -> tuple[Comparison, ...]:
    """Return a row for every published number of a figure, and for every number of its series that has none."""
    rows = [_published_row(figure, records, point) for point in published]
    drawn = {(row.method, row.metric, row.x) for row in rows}
    for panel in figure.panels:
        for series in panel.series:
            for point in points_of(figure, records, method=series.method, metric=series.metric):
                row = _our_row(figure, series.method, series.metric, panel.unit, point)
                # nan is not equal to itself: one classifier's row is looked for without its place.
                if (row.method, row.metric, row.x) not in drawn and not _is_one_classifier(row, rows):
                    rows.append(row)
                    drawn.add((row.method, row.metric, row.x))
    return tuple(rows)


def _published_row(figure: PaperFigure, records: Sequence[RunRecord], point: PublishedPoint) -> Comparison:
    metric = "best_expert" if point.method == BEST_EXPERT else point.metric
    points = [
        one
        for one in points_of(figure, records, method=point.method, metric=metric)
        if one.x == point.x or (math.isnan(one.x) and math.isnan(point.x))
    ]
    ours = points[0] if points else Point(point.x, math.nan, math.nan, 0)
    return replace(
        _our_row(figure, point.method, metric, point.unit, ours),
        run=point.run,
        x=point.x,
        published=point.mean,
        published_error=point.standard_error,
        same_seeds=(100.0 if point.unit == "percent" else 1.0) * _same_runs(figure, records, point),
    )


def _our_row(figure: PaperFigure, method: str, metric: str, unit: str, point: Point) -> Comparison:
    scale = 100.0 if unit == "percent" else 1.0
    return Comparison(
        figure=figure.name,
        method=method,
        run="",
        metric=metric,
        x=point.x,
        unit=unit,
        published=math.nan,
        published_error=math.nan,
        same_seeds=math.nan,
        ours=scale * point.mean,
        error=scale * point.standard_error,
        n_seeds=point.n_seeds,
    )


def _same_runs(figure: PaperFigure, records: Iterable[RunRecord], point: PublishedPoint) -> float:
    metric = f"{point.run}:{point.metric}" if point.run else point.metric
    values = [
        value_of(record.recipe.get("published", {}), metric)
        for record in records
        if record.method == point.method and round(record.setting + figure.first_x, 6) == point.x
    ]
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known and len(known) == len(values) else math.nan


def _is_one_classifier(row: Comparison, rows: Iterable[Comparison]) -> bool:
    return math.isnan(row.x) and any((one.method, one.metric) == (row.method, row.metric) for one in rows)
