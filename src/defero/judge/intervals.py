"""How far a share, and the difference of two, can be trusted: intervals and exact tests."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv

from defero.core.checks.arrays import FloatArray, IntArray, flags, frozen, numbers, one_of, refuse, share
from defero.core.errors import InputError
from defero.core.wording import Plain, number

Interval = Literal["wilson", "clopper-pearson"]


def wilson_interval(successes: float, total: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share: the p whose z-test does not reject successes / total.

    With s = successes / total and z the normal quantile of (1 + level) / 2, the ends are
    (s + z^2 / (2 total) -+ z sqrt(s (1 - s) / total + z^2 / (4 total^2))) / (1 + z^2 / total).

    Parameters
    ----------
    successes, total : float
        0 <= successes <= total.
    level : float
        How often such intervals hold the true share, in (0, 1).

    Returns
    -------
    (low, high)
        Inside [0, 1]; (nan, nan) where total is 0.

    Examples
    --------
    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    _check(successes, total, level)
    if total == 0:
        return math.nan, math.nan
    z = -NormalDist().inv_cdf((1 - level) / 2)  # from the lower tail, which stays exact as level nears 1
    mean, spread = successes / total, z * z / total
    centre = mean + spread / 2
    half = math.sqrt(spread * (mean * (1 - mean) + spread / 4))
    low = max(0.0, (centre - half) / (1 + spread))
    # With nothing but successes the end is 1 in theory, and 1 - 1e-16 in floats.
    high = 1.0 if successes == total else min(1.0, (centre + half) / (1 + spread))
    return low, high


def clopper_pearson_interval(successes: float, total: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return Clopper and Pearson's interval: the p whose exact binomial test does not reject successes of total.

    With a = (1 - level) / 2, s successes and n trials, low is the p with P(X >= s) = a and high the p with
    P(X <= s) = a for X ~ Binomial(n, p); low is 0 for s = 0 and high is 1 for s = n. It holds the true share at
    least as often as `level` says, whatever n and p, and is wider than Wilson's.

    Parameters
    ----------
    successes, total : float
        0 <= successes <= total.
    level : float
        In (0, 1).

    Returns
    -------
    (low, high)
        Inside [0, 1]; (nan, nan) where total is 0.

    Examples
    --------
    >>> low, high = clopper_pearson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    _check(successes, total, level)
    if total == 0:
        return math.nan, math.nan
    tail = (1 - level) / 2
    # P(X >= s) = I_p(s, n - s + 1), and P(X <= s) = I_(1 - p)(n - s, s + 1): both rise in their argument.
    low = 0.0 if successes == 0 else float(betaincinv(successes, total - successes + 1, tail))
    high = 1.0 if successes == total else 1 - float(betaincinv(total - successes, successes + 1, tail))
    return low, high


def share_intervals(
    right: FloatArray | IntArray, total: IntArray, *, level: float, interval: Interval = "wilson"
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends for arrays of counts, in their shape; nan where total is 0.

    >>> low, high = share_intervals(np.array([8, 0]), np.array([10, 0]), level=0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4902, nan], [0.9433, nan])
    """
    one_of("interval", interval, get_args(Interval))
    ends_of: Callable[..., tuple[float, float]] = wilson_interval if interval == "wilson" else clopper_pearson_interval
    check_level(level)
    counts = zip(right.ravel().tolist(), total.ravel().tolist(), strict=True)
    ends = np.array([ends_of(s, n, level=level) for s, n in counts], dtype=np.float64).reshape(*right.shape, 2)
    return ends[..., 0], ends[..., 1]


def ratio(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Divide arrays of the same shape; nan by 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, nan]
    """
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Shares of right answers in cells, in arrays of one shape; nan where a cell has no answer.

    Attributes
    ----------
    count : int
        How many answers.
    accuracy : float
        The share that was right.
    low, high : float
        Its interval.

    Examples
    --------
    >>> cells = Accuracies.of(np.array([8, 0]), np.array([10, 0]), level=0.95)
    >>> cells.accuracy.tolist(), cells.low.round(4).tolist()
    ([0.8, nan], [0.4902, nan])
    """

    count: IntArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(
        cls, right: FloatArray | IntArray, count: IntArray, *, level: float, interval: Interval = "wilson", **more: Any
    ) -> Self:
        """Divide right answers by all of them, and find the intervals; `more` are a subclass's own fields."""
        low, high = share_intervals(right, count, level=level, interval=interval)
        return cls(frozen(count), *map(frozen, (ratio(right, count), low, high)), **more)


def simultaneous_level(level: float, count: int) -> float:
    """Return the level that each of `count` intervals needs for all to hold together at `level` (Bonferroni).

    >>> round(simultaneous_level(0.95, 10), 6)
    0.995
    """
    return level if count == 1 else min(1 - (1 - level) / count, 1 - 2**-53)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1)."""
    share("level", level, example="for a 95% interval pass 0.95")


def _check(successes: float, total: float, level: float) -> None:
    check_level(level)
    if not (0 <= successes <= total and math.isfinite(total)):
        raise InputError(f"must lie in 0..total, got {successes} of {total}.", argument="successes")


@dataclass(frozen=True)
class Share:
    """A share of right answers with its 95 % Wilson interval.

    >>> share = Share(8, 10)
    >>> share.value, [round(end, 2) for end in share.interval]
    (0.8, [0.49, 0.94])
    """

    right: int
    total: int

    @property
    def value(self) -> float:
        """The share; nan where nothing was asked."""
        return self.right / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end."""
        return wilson_interval(self.right, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.interval
        return {"accuracy": number(self.value), "low": number(low), "high": number(high), "n": self.total}


@dataclass(frozen=True)
class Comparison(Plain):
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
        Its paired score interval; nan for no items.
    level : float
        How often such intervals hold the true difference.
    p_value : float
        McNemar's: how likely so uneven a count of `only_first` and `only_second` is, were both equally good.
    only_first, only_second : int
        How many items that system alone got right.
    """

    MORE: ClassVar[tuple[str, ...]] = ("clear",)

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
        """Is one better beyond chance? By McNemar's exact test."""
        return self.p_value <= 1 - self.level


def compare(first_correct: ArrayLike, second_correct: ArrayLike, *, level: float = 0.95) -> Comparison:
    """Compare two systems on the same items: McNemar's exact test, and the interval of the difference.

    Of n items the first system alone gets b right and the second alone c. Were both equally good, b would follow
    Binomial(b + c, 1/2); the p value is min(1, 2 P(B <= min(b, c))) (McNemar 1947, in its exact form).

    The score interval (Tango 1998) holds the differences d that the score test does not reject:
    |b - c - n d| <= z sqrt(n (2 q + d (1 - d))), where q is the most likely P(second alone) given that P(first alone)
    is q + d. Half a pair of each kind is added: (b + 1/2, c + 1/2, n + 1) lifts the lowest coverage over n of at least
    30, computed exactly on a grid of P(first alone) and P(second alone), from 93 % to 94.9 %.

    Parameters
    ----------
    first_correct, second_correct : (n,) bool
        Was the first system right, was the second?
    level : float
        Of the interval, in (0, 1).

    Returns
    -------
    Comparison
        For no items the accuracies, the difference and its interval are nan, and the p value is 1, as where no item
        tells the two apart.

    Examples
    --------
    >>> gain = compare([1, 1, 1, 0], [1, 0, 0, 0])
    >>> gain.difference, gain.only_first, gain.only_second, round(gain.p_value, 6)
    (0.5, 2, 0, 0.5)
    >>> same = compare([1] * 30, [1] * 30)  # no item tells the two apart
    >>> round(same.low, 2), round(same.high, 2)
    (-0.12, 0.12)
    """
    check_level(level)
    first = flags("first_correct", first_correct)
    second = flags("second_correct", second_correct, n_items=len(first))
    n_items, only_first, only_second = len(first), int((first & ~second).sum()), int((second & ~first).sum())
    low = high = math.nan
    if n_items:
        low = _lower_end(only_first, only_second, n_items, level=level)
        high = 0.0 - _lower_end(only_second, only_first, n_items, level=level)  # 0.0 -: no minus zero
    n_apart, fewer = only_first + only_second, min(only_first, only_second)
    return Comparison(
        n=n_items,
        first=int(first.sum()) / n_items if n_items else math.nan,
        second=int(second.sum()) / n_items if n_items else math.nan,
        difference=(only_first - only_second) / n_items if n_items else math.nan,
        low=low,
        high=high,
        level=level,
        p_value=min(1.0, 2 * float(bdtr(fewer, n_apart, 0.5))) if n_apart else 1.0,
        only_first=only_first,
        only_second=only_second,
    )


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
    refuse("p_values", values, (values < 0) | (values > 1), "must lie in [0, 1]")
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(values), 0, -1) * values[order]))
    return adjusted


def _lower_end(only_first: int, only_second: int, n_items: int, *, level: float) -> float:
    """Return the smallest difference that is not rejected, by halving: the score falls as the difference rises."""
    quantile = -NormalDist().inv_cdf((1 - level) / 2)
    rejected, estimate = -1.0, (only_first - only_second) / n_items
    accepted = (only_first - only_second) / (n_items + 1)
    for _ in range(60):
        middle = (rejected + accepted) / 2
        if _score(only_first + 0.5, only_second + 0.5, n_items + 1, middle) > quantile:
            rejected = middle
        else:
            accepted = middle
    return min(accepted, estimate)  # where all items tell one way, the half pair would leave the estimate out


def _score(first: float, second: float, total: float, difference: float) -> float:
    """Return Tango's score statistic of P(first alone) - P(second alone) = difference, in (-1, 1)."""
    linear = (2 * total - first + second) * difference - first - second
    root = math.sqrt(linear**2 + 8 * total * second * difference * (1 - difference))
    share_second = (root - linear) / (4 * total)
    variance = total * (2 * share_second + difference * (1 - difference))
    return (first - second - total * difference) / math.sqrt(variance)


Z95 = 1.959964


def mean_interval(values: FloatArray, groups: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of values (n,) with a 95 % interval, where those of a group belong together.

    The standard error is that of sums over groups, so that a group counts as one draw.

    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 1.0, 0.0, 1.0]), [0, 1, 2, 3])]
    [0.5, -0.066, 1.066]
    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 0.0, 1.0, 1.0]), [0, 0, 1, 1])]
    [0.5, -0.48, 1.48]
    """
    mean, error, _ = _clustered(values, groups)
    return mean, mean - Z95 * error, mean + Z95 * error


def score_interval(scores: FloatArray, groups: ArrayLike | None = None) -> tuple[float, float, float]:
    """Return the mean of scores (n,) in [0, 1] with a 95 % interval inside [0, 1]; NaN is left out.

    Scores of 0 and 1 get Wilson's interval, which has a width where all are equal; with groups it is that of as many
    single items as have the same standard error.

    >>> [round(one, 3) for one in score_interval(np.ones(14))]
    [1.0, 0.785, 1.0]
    """
    of_group = np.arange(len(scores)) if groups is None else np.asarray(groups)
    mean, error, n_groups = _clustered(scores, of_group)
    known = scores[np.isfinite(scores)]
    if not known.size:
        return (float("nan"),) * 3
    if np.isin(known, (0.0, 1.0)).all():
        variance = mean * (1 - mean)
        total = n_groups if not error > 0 else min(variance / error**2, len(known))
        if n_groups == len(known):
            total = len(known)
        return mean, *wilson_interval(mean * total, total)
    return mean, max(mean - Z95 * error, 0.0), min(mean + Z95 * error, 1.0)


def _clustered(values: FloatArray, groups: ArrayLike) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of groups; nan for less than two groups."""
    known = np.isfinite(values)
    mean = float(values[known].mean()) if known.any() else float("nan")
    _, group = np.unique(np.asarray(groups)[known], return_inverse=True)
    n_groups = int(group.max()) + 1 if len(group) else 0
    if n_groups < 2:
        return mean, float("nan"), n_groups
    sums = np.bincount(group, weights=values[known] - mean)
    return mean, float(np.sqrt((sums**2).sum() * n_groups / (n_groups - 1))) / len(group), n_groups
