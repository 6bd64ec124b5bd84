"""Two systems on the same items: is one better, by how much, and could that be chance?"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from defero.core.checks.arrays import FloatArray, flags, numbers
from defero.core.checks.options import whole_number
from defero.core.errors import InputError
from defero.core.several_tests import holm_adjusted
from defero.metrics.statistics.intervals import check_level, number


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same items, the first beside the second.

    Attributes
    ----------
    n : int
        How many items.
    first, second : float
        Their accuracies.
    difference : float
        First minus second.
    low, high : float
        Its paired bootstrap interval; nan where no resample can differ, as of one item.
    level : float
        How often such intervals hold the true difference.
    p_value : float
        McNemar's: how likely so uneven a count of `only_first` and `only_second` is, were both equally good.
    only_first, only_second : int
        How many items that system alone got right.
    """

    n: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    only_first: int
    only_second: int

    @property
    def clear(self) -> bool:
        """Is one better beyond chance? By the exact test: few items mislead a bootstrap."""
        return self.p_value <= 1 - self.level

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        floats = ("first", "second", "difference", "low", "high", "level", "p_value")
        return {
            "n": self.n,
            **{name: number(getattr(self, name)) for name in floats},
            "only_first": self.only_first,
            "only_second": self.only_second,
            "clear": self.clear,
        }


def compare(
    first_correct: ArrayLike,
    second_correct: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> Comparison:
    """Compare two systems on the same items.

    Parameters
    ----------
    first_correct, second_correct : (n,) bool
        Was the first system right, was the second?
    level : float
        Of the interval, in (0, 1).
    n_resamples : int
        Of the bootstrap.
    rng : numpy.random.Generator

    Returns
    -------
    Comparison
        For no items the accuracies and the difference are nan, and the p value is 1. The interval is that of
        `paired_bootstrap`.

    Examples
    --------
    >>> gain = compare([1, 1, 1, 0], [1, 0, 0, 0], rng=np.random.default_rng(0))
    >>> gain.difference, gain.only_first, gain.only_second, round(gain.p_value, 6)
    (0.5, 2, 0, 0.5)
    """
    both, only_first, only_second, neither = _counts(first_correct, second_correct)
    n_items = both + only_first + only_second + neither
    low, high = _interval((both, only_first, only_second, neither), level=level, n_resamples=n_resamples, rng=rng)
    return Comparison(
        n=n_items,
        first=(both + only_first) / n_items if n_items else math.nan,
        second=(both + only_second) / n_items if n_items else math.nan,
        difference=(only_first - only_second) / n_items if n_items else math.nan,
        low=low,
        high=high,
        level=level,
        p_value=_binomial_p_value(only_first, only_second),
        only_first=only_first,
        only_second=only_second,
    )


def mcnemar(first_correct: ArrayLike, second_correct: ArrayLike) -> float:
    """Return the exact two-sided p value of McNemar's test.

    Of the b + c items that one system alone got right, b are the first's. Were both equally good, b would follow
    Binomial(b + c, 1/2); the p value is min(1, 2 P(B <= min(b, c))) (McNemar 1947, in its exact form).

    Parameters
    ----------
    first_correct, second_correct : (n,) bool

    Returns
    -------
    float
        1 where no item tells the two apart.

    Examples
    --------
    >>> round(mcnemar([1, 1, 1, 1, 0], [0, 0, 0, 0, 0]), 6)
    0.125
    """
    _, only_first, only_second, _ = _counts(first_correct, second_correct)
    return _binomial_p_value(only_first, only_second)


def paired_bootstrap(
    first_correct: ArrayLike,
    second_correct: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the percentile interval of first accuracy minus second, items drawn anew in pairs.

    A draw of n items with replacement shows in four counts alone (both right, first alone, second alone, neither),
    and these are multinomial: a million items cost no more than ten.

    Parameters
    ----------
    first_correct, second_correct : (n,) bool
    level : float
        In (0, 1).
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    (low, high)
        (nan, nan) where no resample can differ: no items, none that tells the two apart, or nothing but items
        that the same one alone got right. An interval of no width would say nothing of new items.

    Examples
    --------
    >>> low, high = paired_bootstrap([1] * 6 + [0] * 4, [0] * 6 + [1] * 4, rng=np.random.default_rng(0))
    >>> round(low, 1), round(high, 1)
    (-0.4, 0.8)
    >>> paired_bootstrap([1, 1, 0], [1, 1, 0], rng=np.random.default_rng(0))
    (nan, nan)
    """
    return _interval(_counts(first_correct, second_correct), level=level, n_resamples=n_resamples, rng=rng)


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p values adjusted for being several, (m,), in the order given.

    With p_(1) <= ... <= p_(m) the adjusted ones are max over i <= k of min(1, (m - i + 1) p_(i)) (Holm 1979): calling
    those below 5 % real is wrong about any of them in at most 5 % of all studies, whatever ties them together.

    Parameters
    ----------
    p_values : (m,)
        In [0, 1].

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03]).round(3).tolist()
    [0.06, 0.03, 0.06]
    """
    values = numbers("p_values", p_values)
    if values.size and (values.min() < 0 or values.max() > 1):
        item = int(np.argmax((values < 0) | (values > 1)))
        raise InputError(f"must lie in [0, 1], got {values[item]:g} at {item}.", argument="p_values")
    return holm_adjusted(values)


def _counts(first_correct: ArrayLike, second_correct: ArrayLike) -> tuple[int, int, int, int]:
    """Count the items that both got right, the first alone, the second alone, and neither."""
    first = flags("first_correct", first_correct)
    second = flags("second_correct", second_correct, n_items=len(first))
    both, right, other = int((first & second).sum()), int(first.sum()), int(second.sum())
    return both, right - both, other - both, len(first) - right - other + both


def _interval(
    counts: tuple[int, int, int, int], *, level: float, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    check_level(level)
    n_resamples = whole_number("n_resamples", n_resamples, least=1)
    both, only_first, only_second, neither = counts
    n_items = sum(counts)
    if n_items in (0, only_first, only_second, both + neither):
        return math.nan, math.nan
    # The larger count first: swapping the two systems then turns the same draws around, to the last bit.
    large, small = max(only_first, only_second), min(only_first, only_second)
    drawn = rng.multinomial(n_items, np.array([large, small, both + neither]) / n_items, size=n_resamples)
    ends = np.quantile((drawn[:, 0] - drawn[:, 1]) / n_items, [(1 - level) / 2, (1 + level) / 2])
    low, high = float(ends[0]), float(ends[1])
    if large == small:  # the bootstrap's law is symmetric here, and so is its interval
        low, high = 0.0 - (high - low) / 2, (high - low) / 2
    return (low, high) if only_first >= only_second else (0.0 - high, 0.0 - low)


def _binomial_p_value(only_first: int, only_second: int) -> float:
    total, small = only_first + only_second, min(only_first, only_second)
    if total == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(small, total, 0.5)))
