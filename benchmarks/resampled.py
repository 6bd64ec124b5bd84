"""A figure over several random splits of the same cases: its mean, its interval, and whether it differs from 0."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from defero.core.checks.arrays import numbers, one_of
from defero.core.errors import InputError
from defero.core.wording import number
from defero.judge.intervals import check_level

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class ResampledMean:
    """A mean over splits that share cases.

    Attributes
    ----------
    n_splits : int
    mean : float
    low, high : float
        Its interval by the corrected variance.
    level : float
        How often such intervals are to hold the expected value.
    t : float
        The mean in corrected standard errors; infinite where all splits agree on a value other than 0.
    p_value : float
        How likely a t so far out is, were the expected value 0.
    alternative : "two-sided", "greater" or "less"
        Which side counts as far out.
    """

    n_splits: int
    mean: float
    low: float
    high: float
    level: float
    t: float
    p_value: float
    alternative: Alternative

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is not finite is None."""
        floats = ("mean", "low", "high", "level", "t", "p_value")
        return {
            "n_splits": self.n_splits,
            **{name: number(value) if math.isfinite(value := getattr(self, name)) else None for name in floats},
            "alternative": self.alternative,
        }


def nadeau_bengio(
    values: ArrayLike,
    *,
    n_train: float,
    n_test: float,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> ResampledMean:
    """Test the mean of one value per random split, such as the difference of two systems on the same test part.

    Splits share cases, so their values are not independent and the plain t-test finds far too much. With m splits,
    mean d and sample variance s^2, the corrected statistic (Nadeau and Bengio 2003) is

        t = d / sqrt((1 / m + n_test / n_train) s^2),

    referred to Student's law with m - 1 degrees of freedom. More splits sharpen it only up to n_test / n_train.

    Parameters
    ----------
    values : (m,)
        At least two, each from a split of its own.
    n_train, n_test : float
        Cases to learn from and to judge on, in a split.
    alternative : "two-sided", "greater" or "less"
        What the p value is against: a mean other than 0, above it, or below it.
    level : float
        Of the interval, which has two sides whatever the alternative, in (0, 1).

    Returns
    -------
    ResampledMean
        Where all splits agree the interval has no width; the p value is then 0 on the side of the alternative, else 1.

    Examples
    --------
    >>> gain = nadeau_bengio([0.01, 0.02, 0.03], n_train=70, n_test=30)
    >>> round(gain.mean, 3), round(gain.t, 4), round(gain.p_value, 4)
    (0.02, 2.2913, 0.149)
    >>> round(gain.low, 4), round(gain.high, 4)
    (-0.0176, 0.0576)
    """
    check_level(level)
    array = numbers("values", values)
    count = len(array)
    if count < 2:
        raise InputError(f"must hold at least 2 splits, got {count}; one split has no spread.", argument="values")
    for name, size in (("n_train", n_train), ("n_test", n_test)):
        if not (math.isfinite(size) and size > 0):
            raise InputError(f"must be a number of cases above 0, got {size}.", argument=name)
    one_of("alternative", alternative, get_args(Alternative))
    mean = float(array.mean())
    error = 0.0 if (array == array[0]).all() else math.sqrt((1 / count + n_test / n_train) * float(array.var(ddof=1)))
    t = mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
    half = -float(stdtrit(count - 1, (1 - level) / 2)) * error if error > 0 else 0.0
    p_value = _p_value(t, count - 1, alternative) if error > 0 else _without_spread(mean, alternative)
    return ResampledMean(count, mean, mean - half, mean + half, level, t, p_value, alternative)


def _p_value(t: float, freedom: int, alternative: Alternative) -> float:
    if alternative == "two-sided":
        return min(1.0, 2 * float(stdtr(freedom, -abs(t))))
    return float(stdtr(freedom, -t if alternative == "greater" else t))


def _without_spread(mean: float, alternative: Alternative) -> float:
    sided = {"two-sided": mean != 0, "greater": mean > 0, "less": mean < 0}
    return 0.0 if sided[alternative] else 1.0
