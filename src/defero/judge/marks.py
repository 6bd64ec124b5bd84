"""Judge: marks of right and wrong that are themselves sometimes wrong, and what they say about the truth.

A judge marks right answers as right with probability s (sensitivity) and wrong ones as wrong with probability t
(specificity), whatever the item and whoever answered. Of answers that are right with probability m it marks
m s + (1 - m) (1 - t) as right, so that m = (raw - (1 - t)) / (s + t - 1), Rogan and Gladen's (1978) estimate.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, probability
from defero.core.errors import Argument, InputError
from defero.core.wording import Plain
from defero.judge.intervals import Share, check_level


@dataclass(frozen=True)
class CorrectedMean(Plain):
    """The mean score without the judge's errors, with an interval.

    Attributes
    ----------
    value : float
        The corrected mean, in [0, 1].
    low, high : float
        Ends of the interval, in [0, 1].
    raw : float
        The mean of the marks as they are.
    n : int
        Number of marks.
    """

    value: float
    low: float
    high: float
    raw: float
    n: int


@dataclass(frozen=True)
class Judge:
    """How often a judge marks right answers as right, and wrong answers as wrong.

    The correction holds if the judge's errors depend neither on the item nor on the member of the pool, given whether
    the answer is right.

    Parameters
    ----------
    sensitivity : float
        P(marked right | right), s.
    specificity : float
        P(marked wrong | wrong), t. s + t must be above 1: at 1 the marks say nothing.
    n_right, n_wrong : float
        Numbers of right and wrong answers from which s and t were estimated. Default: infinity, both are known.

    Examples
    --------
    >>> judge = Judge(sensitivity=0.9, specificity=0.8)
    >>> judge.correct([0.2, 0.55, 0.9]).round(3).tolist()
    [0.0, 0.5, 1.0]
    >>> judge.unbiased([1, 0]).round(3).tolist()
    [1.143, -0.286]
    """

    sensitivity: float
    specificity: float
    n_right: float = field(default=math.inf, kw_only=True)
    n_wrong: float = field(default=math.inf, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))
        for name in ("n_right", "n_wrong"):
            if not getattr(self, name) >= 1:
                raise InputError(f"must be at least 1, got {getattr(self, name)}.", argument=name)
        if not self.power > 0:
            raise InputError(
                f"of {self.sensitivity:.3g} and {Argument('specificity')} of {self.specificity:.3g} must have a "
                "sum above 1: a judge with a sum of 1 or less marks wrong answers as right at least as often as "
                "right ones, and its marks cannot be corrected.",
                argument="sensitivity",
            )

    @classmethod
    def from_marks(cls, marks: ArrayLike, truth: ArrayLike) -> "Judge":
        """Estimate a judge from answers of which both its mark and the truth are known.

        Parameters
        ----------
        marks, truth : arrays of 0, 1 and NaN, of one shape
            The judge's marks, and whether the answers are right. Cells without one of them are left out.

        Examples
        --------
        >>> judge = Judge.from_marks([1, 1, 1, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0, 0])
        >>> judge.sensitivity, round(judge.specificity, 3), judge.n_right
        (0.75, 0.667, 4)
        >>> [round(end, 2) for end in judge.sensitivity_interval]
        [0.3, 0.95]
        """
        marked, right = _binary("marks", marks), _binary("truth", truth)
        if marked.shape != right.shape:
            raise InputError(f"must have the shape of truth, {right.shape}, got {marked.shape}.", argument="marks")
        both = ~np.isnan(marked) & ~np.isnan(right)
        n_right, n_wrong = int((right[both] == 1).sum()), int((right[both] == 0).sum())
        if not (n_right and n_wrong):
            missing, rate = ("right", "sensitivity") if not n_right else ("wrong", "specificity")
            raise InputError(
                f"has no {missing} answer with a mark, so the {rate} is unknown; add such answers, or give "
                f"{Argument('sensitivity')} and {Argument('specificity')}.",
                argument="truth",
            )
        sensitivity = float((marked[both & (right == 1)] == 1).mean())
        specificity = float((marked[both & (right == 0)] == 0).mean())
        return cls(sensitivity, specificity, n_right=n_right, n_wrong=n_wrong)

    @property
    def power(self) -> float:
        """By how much more often a right answer is marked as right than a wrong one: s + t - 1."""
        return self.sensitivity + self.specificity - 1

    @property
    def sensitivity_interval(self) -> tuple[float, float]:
        """95 % Wilson interval of s; (s, s) where s is known."""
        return _rate_interval(self.sensitivity, self.n_right)

    @property
    def specificity_interval(self) -> tuple[float, float]:
        """95 % Wilson interval of t; (t, t) where t is known."""
        return _rate_interval(self.specificity, self.n_wrong)

    def unbiased(self, marks: ArrayLike) -> FloatArray:
        """Return targets for learning: numbers whose mean, given the truth, is the true score; NaN stays NaN.

        They lie outside [0, 1], on purpose: clip what is averaged or predicted from them (`correct` of the raw
        prediction gives the same for every learner that is linear in its targets), never the targets.

        >>> targets = Judge(0.9, 0.8).unbiased([1, 0])
        >>> bool(np.isclose(0.9 * targets[0] + 0.1 * targets[1], 1)), bool(np.isclose(targets @ [0.2, 0.8], 0))
        (True, True)
        """
        return self._corrected(_binary("marks", marks))

    def correct(self, raw: ArrayLike) -> FloatArray:
        """Return corrected means or predictions of marks, clipped to [0, 1]; NaN stays NaN."""
        means = _numbers("raw", raw)
        outside = (means < 0) | (means > 1)
        if outside.any():
            raise InputError(f"must be means of marks, in [0, 1], got {means[outside].ravel()[0]:g}.", argument="raw")
        return np.clip(self._corrected(means), 0.0, 1.0)

    def mean(self, marks: ArrayLike, *, level: float = 0.95) -> CorrectedMean:
        """Return the corrected mean of independent marks, with an interval.

        The interval holds every m that a z-test does not reject: (raw - p)^2 <= z^2 V with p = m s + (1 - m) (1 - t)
        and V = p (1 - p) / n + m^2 s (1 - s) / n_right + (1 - m)^2 t (1 - t) / n_wrong, where estimated s and t get
        one more success and one more failure. Where s and t are known it is Wilson's interval, stretched; it is [0, 1]
        where the judge may be no better than chance. The marks must not be those of `from_marks`.

        Parameters
        ----------
        marks : array of 0, 1 and NaN
            One for each item; NaN is left out.
        level : float
            How often such intervals hold the truth, in (0, 1).

        Examples
        --------
        >>> judge = Judge(0.9, 0.8, n_right=200, n_wrong=200)
        >>> estimate = judge.mean([1] * 550 + [0] * 450)
        >>> round(estimate.value, 3), round(estimate.low, 3), round(estimate.high, 3)
        (0.5, 0.432, 0.567)
        """
        check_level(level)
        known_marks = _binary("marks", marks)
        known_marks = known_marks[~np.isnan(known_marks)]
        if not len(known_marks):
            return CorrectedMean(math.nan, math.nan, math.nan, math.nan, 0)
        raw, n = float(known_marks.mean()), len(known_marks)
        value = float(self.correct([raw])[0])
        low, high = self._interval(raw, n, level)
        return CorrectedMean(value, min(low, value), max(high, value), raw, n)

    def _corrected(self, marks: FloatArray) -> FloatArray:
        return (marks - (1 - self.specificity)) / self.power

    def _interval(self, raw: float, n: int, level: float) -> tuple[float, float]:
        """Solve (raw - p)^2 = z^2 V for m inside [0, 1]: a quadratic, below 0 at raw = p."""
        z2 = NormalDist().inv_cdf((1 - level) / 2) ** 2
        sensitivity, v_right = _shrunk(self.sensitivity, self.n_right)
        specificity, v_wrong = _shrunk(self.specificity, self.n_wrong)
        false_rate, power = 1 - specificity, sensitivity + specificity - 1
        distance = raw - false_rate
        square = power**2 * (1 + z2 / n) - z2 * (v_right + v_wrong)
        half = -distance * power - z2 * (power * (1 - 2 * false_rate) / n - 2 * v_wrong) / 2
        constant = distance**2 - z2 * (false_rate * (1 - false_rate) / n + v_wrong)
        if power <= 0 or square <= 0:  # s + t - 1 is within its own error of 0
            return 0.0, 1.0
        reach = math.sqrt(max(0.0, half**2 - square * constant))
        return min(max((-half - reach) / square, 0.0), 1.0), min(max((-half + reach) / square, 0.0), 1.0)


def corrected_marks(scores: FloatArray, judge: Judge) -> FloatArray:
    """Return a judge's marks without its errors on average, `Judge.unbiased`; NaN stays NaN."""
    if not isinstance(judge, Judge):
        raise InputError(f"must be a Judge, such as Judge(0.9, 0.8), got {judge!r:.60}.", argument="judge")
    scored = np.isfinite(scores)
    if not np.isin(scores[scored], (0, 1)).all():
        raise InputError("corrects marks of 0 or 1, and some scores lie between.", argument="judge")
    corrected = np.full(scores.shape, np.nan)
    corrected[scored] = judge.unbiased(scores[scored])
    return corrected


def _shrunk(rate: float, n: float) -> tuple[float, float]:
    """Return an estimated rate with one more success and failure, and its variance; a known rate has none."""
    if math.isinf(n):
        return rate, 0.0
    shrunk = (rate * n + 1) / (n + 2)
    return shrunk, shrunk * (1 - shrunk) / n


def _rate_interval(rate: float, n: float) -> tuple[float, float]:
    return (rate, rate) if math.isinf(n) else Share(round(rate * n), round(n)).interval


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers: {error}.", argument=name) from error


def _binary(name: str, value: ArrayLike) -> FloatArray:
    """Return an array of 0, 1 and NaN."""
    cells = _numbers(name, value)
    other = ~(np.isnan(cells) | (cells == 0) | (cells == 1))
    if other.any():
        raise InputError(
            f"must be 0 (wrong), 1 (right) or NaN (unknown), got {cells[other].ravel()[0]:g}; "
            "compare graded scores with a threshold first.",
            argument=name,
        )
    return cells
