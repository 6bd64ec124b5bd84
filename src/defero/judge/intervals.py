"""How far a share can be trusted: intervals for successes / total."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import betaincinv

from defero.core.checks.arrays import FloatArray, IntArray, one_of, share
from defero.core.errors import InputError

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
    right: IntArray, total: IntArray, *, level: float, interval: Interval = "wilson"
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


def number(value: float) -> float | None:
    """Return a plain float for JSON, which has no nan: None there.

    >>> number(float("nan")) is None
    True
    """
    return None if math.isnan(value) else float(value)
