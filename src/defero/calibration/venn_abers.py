"""Venn-Abers: two probabilities, one of which is right, and how far they lie apart (Vovk, Petej and Fedorova 2015)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from defero.calibration.isotonic import tally
from defero.calibration.log_odds import log_odds
from defero.calibration.maps import checked_link
from defero.core.checks import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link, logit

_Block = tuple[float, float, int]
"""How many answers, how many right, and the position at which the next block begins."""


@dataclass(frozen=True)
class Interval:
    """p0 and p1 of one expert as step functions of the score u.

    Attributes
    ----------
    at_0, p_0 : p0(u) = p_0[i] for the last at_0[i] <= u, and 0 below all of them
    at_1, p_1 : p1(u) = p_1[i] for the first at_1[i] >= u, and 1 above all of them

    >>> Interval((0.0,), (0.5,), (0.0,), (0.75,)).bounds(np.array([-1.0, 0.0, 1.0]))
    (array([0. , 0.5, 0.5]), array([0.75, 0.75, 1.  ]))
    """

    at_0: tuple[float, ...]
    p_0: tuple[float, ...]
    at_1: tuple[float, ...]
    p_1: tuple[float, ...]

    def __post_init__(self) -> None:
        for at, value in ((self.at_0, self.p_0), (self.at_1, self.p_1)):
            numbers = np.array([*at, *value])
            if len(at) != len(value) or not np.isfinite(numbers).all():
                raise InputError("an interval must be as many finite scores as probabilities.")
            if (np.diff(at) <= 0).any() or (np.diff(value) < 0).any():
                raise InputError("an interval's steps must increase.")
        if min(self.p_1, default=1.0) <= 0 or max(self.p_0, default=0.0) >= 1:
            raise InputError("an interval must have p0 below 1 and p1 above 0.")

    def bounds(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p0 and p1 at each score, (n,) each."""
        p_0 = np.array([0.0, *self.p_0])[np.array(self.at_0).searchsorted(u, side="right")]
        p_1 = np.array([*self.p_1, 1.0])[np.array(self.at_1).searchsorted(u, side="left")]
        return p_0, p_1


@dataclass(frozen=True)
class VennAbersMaps:
    """Inductive Venn-Abers predictors on u = `log_odds(raw, link)`: p = p1 / (1 - p0 + p1).

    Attributes
    ----------
    link : "logit" or "log"
    intervals : J of them
    """

    link: Link
    intervals: tuple[Interval, ...]
    method: ClassVar[str] = "venn-abers"

    def __post_init__(self) -> None:
        checked_link(self.link)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.intervals)

    @property
    def methods(self) -> tuple[str, ...]:
        """Venn-Abers, J times."""
        return (self.method,) * self.n_experts

    def take(self, experts: tuple[int, ...]) -> "VennAbersMaps":
        """Return the maps of some experts."""
        return VennAbersMaps(self.link, tuple(self.intervals[j] for j in experts))

    def bounds(self, expert_raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p0 and p1, (n, J) each."""
        u = log_odds(expert_raw, self.link)
        p_0, p_1 = np.zeros_like(u), np.ones_like(u)
        for j, interval in enumerate(self.intervals):
            p_0[:, j], p_1[:, j] = interval.bounds(u[:, j])
        return p_0, p_1

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J)."""
        p_0, p_1 = self.bounds(expert_raw)
        return logit(p_1 / (1 - p_0 + p_1))

    def width(self, expert_raw: FloatArray) -> FloatArray:
        """Return p1 - p0, (n, J)."""
        p_0, p_1 = self.bounds(expert_raw)
        return p_1 - p_0

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        intervals = [{key: list(value) for key, value in vars(one).items()} for one in self.intervals]
        return {"method": self.method, "link": self.link, "intervals": intervals}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "VennAbersMaps":
        """Return the maps that `settings()` described."""
        intervals = [
            Interval(*(tuple(float(x) for x in one[key]) for key in ("at_0", "p_0", "at_1", "p_1")))
            for one in settings["intervals"]
        ]
        return cls(settings["link"], tuple(intervals))


def fit_venn_abers(expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> VennAbersMaps:
    """Fit p0 and p1 of each expert on the answers that were observed.

    p0(s) is what the isotonic fit says at s once one wrong answer at s is added, p1(s) the same with a right one.
    An expert without answers gets the fit of all experts together. At least one answer must have been observed.

    Parameters
    ----------
    expert_raw : (n, J)
        Raw scores, as in `Scores`.
    correct, observed : (n, J) bool
    link : "logit" or "log"

    Examples
    --------
    Three right answers and one wrong one at the same score: 3 of 5, or 4 of 5.

    >>> raw, right = np.zeros((4, 1)), np.array([[True], [True], [True], [False]])
    >>> maps = fit_venn_abers(raw, right, np.ones_like(right), link="logit")
    >>> [bound.round(2).tolist() for bound in maps.bounds(np.zeros((1, 1)))]
    [[[0.6]], [[0.8]]]
    """
    u = log_odds(expert_raw, link)
    everyone = _fit_interval(u[observed], correct[observed])
    each = [
        _fit_interval(column[seen], right[seen]) if seen.any() else everyone
        for column, right, seen in zip(u.T, correct.T, observed.T, strict=True)
    ]
    return VennAbersMaps(link, tuple(each))


def _fit_interval(u: FloatArray, correct: BoolArray) -> Interval:
    at, count, right = tally(u, correct)
    p_0, p_1 = with_one_more(count, right, hit=0.0), with_one_more(count, right, hit=1.0)
    first = np.concatenate([[True], np.diff(p_0) > 0])
    last = np.concatenate([np.diff(p_1) > 0, [True]])
    return Interval(*(tuple(x.tolist()) for x in (at[first], p_0[first], at[last], p_1[last])))


def with_one_more(count: FloatArray, right: FloatArray, *, hit: float) -> FloatArray:
    """Return, for each of m scores, the isotonic fit there once one more answer is added at it, (m,).

    The blocks left and right of a score are those of the fits to either side alone, which are found once; the score
    itself, with its new answer, takes in its neighbours while they are out of order.

    Parameters
    ----------
    count, right : (m,)
        How many answers at each distinct score, in order, and how many of them right.
    hit : float
        1 for a right answer, 0 for a wrong one.

    >>> with_one_more(np.array([1.0, 1.0]), np.array([0.0, 1.0]), hit=1.0).tolist()
    [0.5, 1.0]
    """
    m = len(count)
    below, above = _blocks(count, right, sign=1.0), _blocks(count[::-1], right[::-1], sign=-1.0)
    fitted = np.empty(m)
    for i in range(m):
        size, hits, left, after = count[i] + 1, right[i] + hit, i, m - 1 - i
        grown = True
        while grown:
            grown = False
            while left > 0 and below[left][1] * size >= hits * below[left][0]:
                more, sure, left = below[left]
                size, hits, grown = size + more, hits + sure, True
            while after > 0 and above[after][1] * size <= hits * above[after][0]:
                more, sure, after = above[after]
                size, hits, grown = size + more, hits + sure, True
        fitted[i] = hits / size
    return np.maximum.accumulate(fitted)  # increasing by theory; equal means may differ in the last bit


def _blocks(count: FloatArray, right: FloatArray, *, sign: float) -> list[_Block]:
    """Return the last block of the fit to the first k scores, for k = 0..m; its third entry leads to the one before.

    With `sign` -1 the means decrease: the fit to the scores in reverse.
    """
    found: list[_Block] = [(0.0, 0.0, 0)]
    for k, (size, hits) in enumerate(zip(count.tolist(), right.tolist(), strict=True)):
        start = k
        while start > 0 and sign * (found[start][1] * size - hits * found[start][0]) >= 0:
            more, sure, before = found[start]
            size, hits, start = size + more, hits + sure, before
        found.append((size, hits, start))
    return found
