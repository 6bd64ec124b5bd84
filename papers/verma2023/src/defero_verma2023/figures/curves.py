"""From records to points: the mean and standard error over seeds of one measure, at each place on the x axis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from defero_verma2023.figures.figure import PaperFigure, Series
from defero_verma2023.figures.published import PublishedPoint
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER
from defero_verma2023.runs.record import RunRecord


@dataclass(frozen=True)
class Point:
    """A mean over seeds.

    Attributes
    ----------
    x : float
        nan where a method has no place on the axis.
    mean, standard_error : float
        Shares or experts; the error is nan for one seed.
    n_seeds : int
    """

    x: float
    mean: float
    standard_error: float
    n_seeds: int


def value_of(measures: Mapping[str, Any], metric: str) -> float:
    """Return one measure, nan where there is none; "ece_by_expert.0" is the first of a list.

    >>> value_of({"ece_by_expert": [0.5, 0.25]}, "ece_by_expert.1"), value_of({}, "ece")
    (0.25, nan)
    """
    if metric in measures:
        return float(measures[metric])
    name, _, place = metric.rpartition(".")
    if place.isdigit() and len(measures.get(name, ())) > int(place):
        return float(measures[name][int(place)])
    return math.nan


def points_of(figure: PaperFigure, records: Iterable[RunRecord], *, method: str, metric: str) -> tuple[Point, ...]:
    """Return the points of one method at the paper's settings, from left to right.

    The best expert is the same for every method of a seed, and one classifier is the same everywhere.
    """
    by_place: dict[float, dict[int, float]] = {}
    for record in records:
        if method in (record.method, BEST_EXPERT) and _has_place(figure, record):
            value = value_of(record.measures, metric)
            if not math.isnan(value):
                by_place.setdefault(_x(figure, record), {}).setdefault(record.seed, value)
    return tuple(_point(x, list(by_place[x].values())) for x in sorted(by_place))


def _has_place(figure: PaperFigure, record: RunRecord) -> bool:
    return record.method == ONE_CLASSIFIER or record.setting in figure.experiment.settings


def _x(figure: PaperFigure, record: RunRecord) -> float:
    # No key of a dictionary can be nan: inf stands for it.
    return math.inf if record.method == ONE_CLASSIFIER else round(record.setting + figure.first_x, 6)


def _point(x: float, values: Sequence[float]) -> Point:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Point(math.nan if math.isinf(x) else x, fmean(values), error, len(values))


def published_curve(series: Series, points: Iterable[PublishedPoint]) -> tuple[PublishedPoint, ...]:
    """Return the published points of a series that the paper draws, from left to right."""
    drawn = [
        point
        for point in points
        if (point.method, point.metric) == (series.method, series.published)
        and point.drawn
        and series.run in ("", point.run)
    ]
    return tuple(sorted(drawn, key=lambda point: point.x))
