"""Isotonic calibration: the best increasing steps through an expert's answers, for experts with many of them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from defero.calibration.maps import MAPS, checked_link, log_odds
from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link, logit

_TILT = 1e-6
"""Largest change of log-odds by which the raw score breaks ties."""


@dataclass(frozen=True)
class Steps:
    """An increasing function: flat on each block of scores, straight lines between, constant beyond the ends.

    Attributes
    ----------
    at : log-odds, increasing
    value : probabilities, not decreasing, inside (0, 1)

    >>> Steps((0.0, 1.0), (0.2, 0.6)).proba(np.array([-5.0, 0.5, 9.0])).tolist()
    [0.2, 0.4, 0.6]
    """

    at: tuple[float, ...]
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        at, value = np.array(self.at), np.array(self.value)
        inside = (value > 0) & (value < 1)
        if not (len(at) == len(value) > 0 and np.isfinite(at).all() and inside.all()):
            raise InputError(
                "must be as many finite scores as probabilities inside (0, 1), at least one.", argument="steps"
            )
        if (np.diff(at) <= 0).any() or (np.diff(value) < 0).any():
            raise InputError("must increase.", argument="steps")

    def proba(self, u: FloatArray) -> FloatArray:
        """Return the probability at each score, (n,)."""
        at, value = np.array(self.at), np.array(self.value)
        ceiling = value[np.minimum(at.searchsorted(u), len(at) - 1)]
        return np.minimum(np.interp(u, at, value), ceiling)  # rounding must not carry a line above its end


@dataclass(frozen=True)
class IsotonicMaps:
    """Steps of each expert on u = `log_odds(raw, link)`.

    Attributes
    ----------
    link : "logit" or "log"
    steps : J of them
    """

    link: Link
    steps: tuple[Steps, ...]
    kind: ClassVar[str] = "isotonic"

    def __post_init__(self) -> None:
        checked_link(self.link)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.steps)

    @property
    def methods(self) -> tuple[str, ...]:
        """Isotonic, J times."""
        return (self.kind,) * self.n_experts

    def take(self, experts: tuple[int, ...]) -> "IsotonicMaps":
        """Return the maps of some experts."""
        return IsotonicMaps(self.link, tuple(self.steps[j] for j in experts))

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J).

        On a step all probabilities are equal; the raw score breaks these ties, by less than 1e-6 in log-odds. Panels
        are cut between two scores, so that a tie would let in everybody on the step.
        """
        u = log_odds(expert_raw, self.link)
        proba = [steps.proba(column) for steps, column in zip(self.steps, u.T, strict=True)]
        return logit(np.stack(proba, axis=1)) + _TILT * u / (1 + np.abs(u)) if proba else u


MAPS.register(IsotonicMaps.kind, IsotonicMaps)


def fit_isotonic(expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> IsotonicMaps:
    """Fit the best increasing steps of each expert on the answers that were observed.

    A block of w answers of which s were right gets (s + 1/2) / (w + 1), never 0 or 1, and blocks that this turned
    round are pooled again. An expert without answers gets the steps of all experts together. At least one answer must
    have been observed.

    Parameters
    ----------
    expert_raw : (n, J)
        Raw scores, as in `Scores`.
    correct, observed : (n, J) bool
    link : "logit" or "log"

    Examples
    --------
    >>> from defero.core.scores import sigmoid
    >>> raw, right = np.array([[0.0]] * 4 + [[1.0]] * 4), np.array([[False]] * 4 + [[True]] * 4)
    >>> maps = fit_isotonic(raw, right, np.ones_like(right), link="logit")
    >>> sigmoid(maps.logits(np.array([[-1.0], [0.5], [2.0]]))).round(2).tolist()
    [[0.1], [0.5], [0.9]]
    """
    u = log_odds(expert_raw, link)
    everyone = _fit_steps(u[observed], correct[observed])
    each = [
        _fit_steps(column[answered], right[answered]) if answered.any() else everyone
        for column, right, answered in zip(u.T, correct.T, observed.T, strict=True)
    ]
    return IsotonicMaps(link, tuple(each))


def tally(u: FloatArray, correct: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct scores in order, how many answers each has, and how many of these were right.

    >>> [column.tolist() for column in tally(np.array([2.0, 1.0, 2.0]), np.array([True, True, False]))]
    [[1.0, 2.0], [1.0, 2.0], [1.0, 1.0]]
    """
    at, which = np.unique(u, return_inverse=True)
    count = np.bincount(which, minlength=len(at)).astype(np.float64)
    return at, count, np.bincount(which, weights=correct, minlength=len(at)).astype(np.float64)


def _fit_steps(u: FloatArray, correct: BoolArray) -> Steps:
    from scipy.optimize import isotonic_regression  # here: it costs 0.2 s, and serving a model never fits

    at, count, right = tally(u, correct)
    first = isotonic_regression(right / count, weights=count).blocks[:-1]
    size, hits = np.add.reduceat(count, first), np.add.reduceat(right, first)
    # Blocks of equal shares are one block; counts are compared, as two equal shares may differ in the last bit.
    first = first[np.concatenate([[True], hits[1:] * size[:-1] > hits[:-1] * size[1:]])]
    last = np.concatenate([first[1:], [len(at)]]) - 1
    size, hits = np.add.reduceat(count, first), np.add.reduceat(right, first)
    value = isotonic_regression((hits + 0.5) / (size + 1), weights=size + 1).x
    knots, first_of_knot = np.unique(np.concatenate([at[first], at[last]]), return_index=True)
    return Steps(tuple(knots.tolist()), tuple(np.concatenate([value, value])[first_of_knot].tolist()))
