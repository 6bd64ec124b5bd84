"""What a figure of the paper is: an experiment, panels, series, and what the authors say that it shows."""

from dataclasses import dataclass
from typing import Literal

from defero_verma2023.experiments import EXPERIMENTS, Experiment
from defero_verma2023.methods import LABELS, OURS, TWO_LOSSES

Line = Literal["solid", "dashed", "dotted"]
Unit = Literal["percent", "experts"]


@dataclass(frozen=True)
class Series:
    """One line of a panel.

    Attributes
    ----------
    method : str
        As in the records, or "best expert".
    metric : str
        A key of `measures.measure`; "ece_by_expert.0" is the first of a list.
    label : str
        In the legend.
    line : "solid", "dashed" or "dotted"
    marker : str
        "": that of the method.
    published : str, optional
        The metric of the published points; None where nothing is published.
    run : str
        Which of the authors' conformal runs they are from.
    """

    method: str
    metric: str
    label: str
    line: Line = "solid"
    marker: str = ""
    published: str | None = None
    run: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    title, y_label : str
    series : tuple of Series
    unit : "percent" or "experts"
    log : bool
        A logarithmic y axis, where methods are far apart.
    diagonal : bool
        Draw y = x, as many experts as oracles.
    reference : (float, str), optional
        A line across at this height, such as what was promised, and its words.
    """

    title: str
    y_label: str
    series: tuple[Series, ...]
    unit: Unit = "percent"
    log: bool = False
    diagonal: bool = False
    reference: tuple[float, str] | None = None


@dataclass(frozen=True)
class PaperFigure:
    """One figure.

    Attributes
    ----------
    name : str
        As in `defero reproduce`.
    title : str
    experiment_name : str
    x_label : str
    panels : tuple of Panel
        The paper's first, then ours.
    claim : str
        What the paper says of it.
    first_x : float
        What setting 0 is on the x axis: 1 where the setting counts oracles beyond the first.
    n_columns : int
        Panels side by side.
    """

    name: str
    title: str
    experiment_name: str
    x_label: str
    panels: tuple[Panel, ...]
    claim: str
    first_x: float = 0.0
    n_columns: int = 2

    @property
    def experiment(self) -> Experiment:
        """The experiment whose runs it shows."""
        return EXPERIMENTS[self.experiment_name]

    @property
    def series(self) -> tuple[Series, ...]:
        """The series of all panels."""
        return tuple(one for panel in self.panels for one in panel.series)


def by_method(metric: str, *, methods: tuple[str, ...] = tuple(TWO_LOSSES), published: str = "") -> tuple[Series, ...]:
    """Return one line per method of the paper, with its published points.

    >>> [series.label for series in by_method("ece")]
    ['OvA', 'softmax']
    """
    return tuple(Series(name, metric, LABELS[name], published=published or metric) for name in methods)


def ours(metric: str) -> tuple[Series, ...]:
    """Return one line per method that is not in the paper, after calibration.

    >>> [series.metric for series in ours("ece")]
    ['calibrated.ece', 'calibrated.ece', 'calibrated.ece']
    """
    return tuple(Series(name, f"calibrated.{metric}", f"{name}, calibrated", line="dashed") for name in OURS)


def additions(metric: str) -> tuple[Series, ...]:
    """Return what is not in the paper: its two losses after calibration, and our methods.

    >>> [series.label for series in additions("ece")][:3]
    ['OvA, calibrated', 'softmax, calibrated', 'decoupled, calibrated']
    """
    calibrated = tuple(
        Series(name, f"calibrated.{metric}", f"{label}, calibrated", line="dotted")
        for name, label in TWO_LOSSES.items()
    )
    return (*calibrated, *ours(metric))
