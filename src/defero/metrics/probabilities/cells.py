"""What every calibration metric takes: confidences beside what came true, one column per expert, some cells empty."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, place, true_or_false
from defero.core.checks.options import one_of
from defero.core.errors import InputError

Average = Literal["experts", "pooled"]
"""How the experts' values become one: their plain mean, or all observed cells as those of one forecaster."""

Measure = Callable[[FloatArray, BoolArray], float]
"""(m,) confidences and (m,) whether right -> a value; m is at least 1."""

Measures = Callable[[FloatArray, BoolArray], tuple[float, ...]]
"""The same for several values at once."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Checked confidences and outcomes; read them column by column.

    Attributes
    ----------
    confidence : (n, J)
        In [0, 1] wherever observed.
    correct : (n, J) bool
    observed : (n, J) bool, or None
        None: everything is.
    one_column : bool
        Did it come as (n,)?
    """

    confidence: FloatArray
    correct: BoolArray
    observed: BoolArray | None
    one_column: bool

    @property
    def n_experts(self) -> int:
        """J; 1 where the input had one axis."""
        return self.confidence.shape[1]

    def column(self, j: int) -> tuple[FloatArray, BoolArray]:
        """Return expert j's observed confidences and outcomes, (m,) each."""
        confidence, correct = self.confidence[:, j], self.correct[:, j]
        if self.observed is not None:
            confidence, correct = confidence[self.observed[:, j]], correct[self.observed[:, j]]
        return np.ascontiguousarray(confidence), np.ascontiguousarray(correct)

    def pooled(self) -> tuple[FloatArray, BoolArray]:
        """Return all observed confidences and outcomes, (m,) each."""
        if self.observed is None:
            return self.confidence.ravel(), self.correct.ravel()
        return self.confidence[self.observed], self.correct[self.observed]

    def average(self, measure: Measure, average: Average | None) -> float | FloatArray:
        """Return the measure as `average` asks for it: one float, or (J,) for None.

        The mean over experts is over those that have a value: an expert without answers has none.
        """
        return self.averages(lambda confidence, correct: (measure(confidence, correct),), average, count=1)[0]

    def averages(self, measure: Measures, average: Average | None, *, count: int) -> list[float | FloatArray]:
        """Return each of `count` values in the same way."""
        one_of("average", average, ("experts", "pooled", None))
        columns = [self.pooled()] if average == "pooled" else (self.column(j) for j in range(self.n_experts))
        nothing = (math.nan,) * count
        rows = [measure(*column) if len(column[0]) else nothing for column in columns]
        values = np.array(rows, dtype=np.float64).reshape(-1, count)
        if average is None and not self.one_column:
            return list(values.T.copy())
        return [mean_of_known(part) for part in values.T]


def forecast_cells(
    confidence: ArrayLike, correct: ArrayLike, observed: ArrayLike | None = None, *, name: str = "confidence"
) -> Cells:
    """Check the three arrays that the calibration metrics share; cells not observed may hold anything.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool or 0 and 1
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? By default everywhere.
    name : str
        What the caller calls the confidences, for the messages.

    Examples
    --------
    >>> cells = forecast_cells([[0.9, 0.2], [0.8, 0.4]], [[1, 0], [0, 0]], [[1, 1], [1, 0]])
    >>> [len(cells.column(j)[0]) for j in range(2)]
    [2, 1]
    """
    try:
        claimed = np.asarray(confidence, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers in [0, 1]: {error}.", argument=name) from error
    if claimed.ndim not in (1, 2):
        raise InputError(f"must have one axis (n,) or two (n, J), got shape {claimed.shape}.", argument=name)
    seen = None if observed is None else _flags("observed", observed, claimed, of=name)
    was_right = _flags("correct", correct, claimed, of=name, seen=seen)
    _check_range(name, claimed, seen)
    one_column = claimed.ndim == 1
    if one_column:
        claimed, was_right = claimed[:, None], was_right[:, None]
        seen = None if seen is None else seen[:, None]
    return Cells(claimed, was_right, seen, one_column=one_column)


def mean_of_known(values: FloatArray) -> float:
    """Return the mean of what is not nan; nan where nothing is left.

    >>> mean_of_known(np.array([0.25, np.nan, 0.75]))
    0.5
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _flags(name: str, value: ArrayLike, like: FloatArray, *, of: str, seen: BoolArray | None = None) -> BoolArray:
    array = np.asarray(value)
    if array.shape != like.shape:
        raise InputError(f"must have the shape {like.shape} of {of}, got {array.shape}.", argument=name)
    return true_or_false(name, array, seen=seen)


def _check_range(name: str, claimed: FloatArray, seen: BoolArray | None) -> None:
    if claimed.size == 0 or (claimed.min() >= 0 and claimed.max() <= 1):  # nan fails both
        return
    strange = ~((claimed >= 0) & (claimed <= 1))
    if seen is not None:
        strange &= seen
    if strange.any():
        raise InputError(
            f"must lie in [0, 1], got {place(claimed, strange)}; pass probabilities, not logits.", argument=name
        )
