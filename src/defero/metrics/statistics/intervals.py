"""How far a share can be trusted: intervals for successes / total."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from defero.core.checks import FloatArray, IntArray
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
    share, spread = successes / total, z * z / total
    centre = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
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
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, total - successes + 1)
    high = 1.0 if successes == total else 1 - beta_quantile(tail, total - successes, successes + 1)
    return low, high


def share_intervals(
    right: IntArray, total: IntArray, *, level: float, interval: Interval = "wilson"
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends for arrays of counts, in their shape; nan where total is 0.

    >>> low, high = share_intervals(np.array([8, 0]), np.array([10, 0]), level=0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4902, nan], [0.9433, nan])
    """
    if interval not in get_args(Interval):
        raise InputError(f"interval must be 'wilson' or 'clopper-pearson', got {interval!r}.")
    ends_of: Callable[..., tuple[float, float]] = wilson_interval if interval == "wilson" else clopper_pearson_interval
    check_level(level)
    counts = zip(right.ravel().tolist(), total.ravel().tolist(), strict=True)
    ends = np.array([ends_of(s, n, level=level) for s, n in counts], dtype=np.float64).reshape(*right.shape, 2)
    return ends[..., 0], ends[..., 1]


def simultaneous_level(level: float, count: int) -> float:
    """Return the level that each of `count` intervals needs for all to hold together at `level` (Bonferroni).

    >>> round(simultaneous_level(0.95, 10), 6)
    0.995
    """
    return level if count == 1 else min(1 - (1 - level) / count, 1 - 2**-53)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1)."""
    if not 0 < level < 1:
        raise InputError(f"level must lie in (0, 1), got {level}; for a 95% interval pass 0.95.")


def _check(successes: float, total: float, level: float) -> None:
    check_level(level)
    if not (0 <= successes <= total and math.isfinite(total)):
        raise InputError(f"successes must lie in 0..total, got {successes} of {total}.")


def beta_quantile(tail: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = tail, by halving until floats end."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if incomplete_beta(middle, a, b) < tail:
            low = middle
        else:
            high = middle
    return high


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) for x in (0, 1)."""
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x <= (a + 1) / (a + b + 2):  # where the fraction converges fast; beyond it, I_x(a, b) = 1 - I_(1 - x)(b, a)
        return math.exp(log_front) / (a * _beta_fraction(x, a, b))
    return 1 - math.exp(log_front) / (b * _beta_fraction(1 - x, b, a))


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the fraction 1 + d_1 / (1 + d_2 / (1 + ...)) of I_x(a, b) (DLMF 8.17.22), from the front (Lentz)."""
    value, upper, lower, step = 1.0, 1.0, 0.0, 1
    while True:
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower, upper = 1 / (1 + term * lower), 1 + term / upper
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            return value
        step += 1
