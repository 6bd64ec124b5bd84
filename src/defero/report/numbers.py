"""Formats of all numbers of the page."""

import math
import re

from defero.core import wording
from defero.judge.intervals import Share
from defero.judge.paired import Comparison
from defero.plotting.style import NO_BREAK

NOTHING = "–"
"""In place of a missing number."""
_MINUS = re.compile(r"(?<![\w.-])-(?=\d+\.\d)")


def percent(value: float) -> str:
    """Write a share as a percentage with a no-break space, as the pictures do.

    >>> percent(0.9666).split(), percent(float("nan"))
    (['96.7', '%'], '–')
    """
    return wording.percent(value, nothing=NOTHING, space=NO_BREAK)


def plus_minus(mean: float, half_width: float) -> str:
    """Write a mean with half the width of its interval; without it if it is nan.

    >>> plus_minus(2.04, 0.31), plus_minus(1.0, float("nan")), plus_minus(float("nan"), float("nan"))
    ('2.0 ± 0.3', '1.0', '–')
    """
    if math.isnan(mean):
        return NOTHING
    return f"{mean:.1f}" if math.isnan(half_width) else f"{mean:.1f} ± {half_width:.1f}"


def interval(low: float, high: float) -> str:
    """Write the ends of an interval of a share.

    >>> interval(0.912, 0.95), interval(float("nan"), float("nan"))
    ('91.2 to 95.0', '–')
    """
    return NOTHING if math.isnan(low) or math.isnan(high) else f"{100 * low:.1f} to {100 * high:.1f}"


def with_interval(value: float, low: float, high: float) -> str:
    """Write a share with its interval in brackets.

    >>> with_interval(0.5, 0.41, 0.59).split()
    ['50.0', '%', '(41.0', 'to', '59.0)']
    """
    return percent(value) if math.isnan(low) or math.isnan(high) else f"{percent(value)} ({interval(low, high)})"


def share(value: Share) -> str:
    """Write a share of right answers with its interval."""
    return with_interval(value.value, *value.interval)


def points(value: float) -> str:
    """Write a difference of two shares in percentage points, with its sign.

    >>> points(0.0123), points(-0.2), points(float("nan"))
    ('+1.2', '−20.0', '–')
    """
    if math.isnan(value):
        return NOTHING
    rounded = round(100 * value, 1) + 0.0  # -0.04 is +0.0, not -0.0
    return f"{rounded:+.1f}".replace("-", "\u2212")


def points_interval(gain: Comparison, *, before: str = "") -> str:
    """Write in brackets the ends of an interval of a difference; empty if there is no interval."""
    if math.isnan(gain.low) or math.isnan(gain.high):
        return ""
    return f" ({before}{points(gain.low)} to {points(gain.high)})"


def by_chance(p_value: float) -> str:
    """Write a p-value.

    >>> by_chance(0.0312), by_chance(0.5), by_chance(1e-9)
    ('p = 0.031', 'p = 0.5', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def with_minus(sentence: str) -> str:
    """Write the minus sign of decimal numbers as the page does; hyphens in names stay.

    >>> with_minus("-0.1 points (-1.2 to +0.9) of dr-2.5, class -1")
    '−0.1 points (−1.2 to +0.9) of dr-2.5, class -1'
    """
    return _MINUS.sub("\u2212", sentence)


def count(value: int) -> str:
    """Write a whole number with a comma after thousands.

    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"
