"""The numbers that the paper's authors published, from published.csv beside this file, as points and as records."""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from defero import InputError
from defero_verma2023.figures.figure import PaperFigure
from defero_verma2023.runs.record import RunRecord

PUBLISHED = Path(__file__).with_name("published.csv")
"""Comes with the package, so that an installed one compares as well."""
OF_SOURCES = "verdicts_before.csv"
"""A file that the folder of the sources has, and no other."""


@dataclass(frozen=True)
class PublishedPoint:
    """One published number.

    Attributes
    ----------
    figure, method : str
        e.g. "fig3a"; "ova", "softmax", "moe", "best expert", "one classifier".
    run : str
        Which of the authors' conformal runs, "naive" or "regularized", each with a split of its own; else "".
    x_name : str
    x : float
        nan for one classifier, which has none.
    metric : str
        As in `measures.measure.measure`, e.g. "sets.naive_as_run.size".
    mean, standard_error : float
        In `unit`; nan where there is no standard error.
    unit : "percent" or "experts"
    note : str
        What else is published for this point.
    """

    figure: str
    method: str
    run: str
    x_name: str
    x: float
    metric: str
    mean: float
    standard_error: float
    unit: str
    note: str

    @property
    def drawn(self) -> bool:
        """Is the point in the paper's picture, and not in its files alone?"""
        return not self.note.endswith("not drawn")


def paper_folder() -> Path | None:
    """Return papers/verma2023 of the source tree, or of the working folder; None where there is neither."""
    for folder in (Path(__file__).parents[3], Path.cwd(), Path.cwd() / "papers" / "verma2023"):
        if (folder / OF_SOURCES).is_file():
            return folder
    return None


def published_points(figure: str) -> tuple[PublishedPoint, ...]:
    """Return what was published for a figure."""
    return tuple(point for point in read_published(PUBLISHED) if point.figure == figure)


@cache
def read_published(path: Path) -> tuple[PublishedPoint, ...]:
    """Read the table."""
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(_points(path, csv.DictReader(lines)))


def _points(path: Path, rows: Iterable[dict[str, str]]) -> Iterable[PublishedPoint]:
    for number, row in enumerate(rows, start=2):
        try:
            yield PublishedPoint(
                figure=row["figure"],
                method=row["method"],
                run=row["run"],
                x_name=row["x_name"],
                x=_number(row["x"]),
                metric=row["metric"],
                mean=float(row["mean"]),
                standard_error=_number(row["standard_error"]),
                unit=row["unit"],
                note=row["note"],
            )
        except (KeyError, ValueError) as error:
            raise InputError(f"{path}, line {number} is no published number: {error!r}.") from error


def _number(text: str) -> float:
    return float(text) if text else math.nan


def published_records(
    figures: Iterable[PaperFigure], points: Iterable[PublishedPoint], *, experiment: str
) -> tuple[RunRecord, ...]:
    """Return one record for each method and setting that the paper draws, so that one function judges them and ours.

    Seed 0 stands for the published mean.
    A number of one of the authors' two conformal runs is there under "naive:..." or "regularized:..." as well.
    """
    by_name = {figure.name: figure for figure in figures if figure.experiment_name == experiment}
    measures_of: dict[tuple[str, float], dict[str, Any]] = defaultdict(dict)
    for point in points:
        if point.drawn and point.figure in by_name:
            figure = by_name[point.figure]
            setting = 0.0 if math.isnan(point.x) else round(point.x - figure.first_x, 6)
            value = point.mean / (100.0 if point.unit == "percent" else 1.0)
            measures_of[point.method, setting] |= dict.fromkeys(_names(figure, point), value)
    return tuple(
        RunRecord(experiment, method, setting, 0, "as_published", "published", measures, 0.0)
        for (method, setting), measures in measures_of.items()
    )


def _names(figure: PaperFigure, point: PublishedPoint) -> Iterator[str]:
    """Yield the names of a number: its own, that of its run, and those of our measures that it is drawn beside."""
    yield point.metric
    if point.run:
        yield f"{point.run}:{point.metric}"
    for series in figure.series:
        if (series.method, series.published) == (point.method, point.metric):
            yield series.metric
