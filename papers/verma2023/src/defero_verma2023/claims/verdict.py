"""A verdict on one claim of the paper: direction and size, the numbers behind them, and the reason in words."""

import math
from dataclasses import dataclass
from typing import Literal

Direction = Literal["confirmed", "contradicted", "inconclusive", "cannot be decided", "not run yet"]
CONFIRMED: Direction = "confirmed"
CONTRADICTED: Direction = "contradicted"
INCONCLUSIVE: Direction = "inconclusive"
CANNOT_DECIDE: Direction = "cannot be decided"
NOT_RUN: Direction = "not run yet"
DIRECTIONS: tuple[Direction, ...] = (CONFIRMED, CONTRADICTED, INCONCLUSIVE, CANNOT_DECIDE, NOT_RUN)

Size = Literal["as published", "smaller than published", "larger than published", ""]
AS_PUBLISHED: Size = "as published"
SMALLER: Size = "smaller than published"
LARGER: Size = "larger than published"

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes
    ----------
    mean, low, high : float
        The interval is nan where nothing says how much the mean would scatter.
    n_seeds, n_settings : int
        What the mean is over.
    deviation : float
        Standard deviation over the seeds; nan for one seed.
    level : float
        Of the interval: 0.95, or more where several settings are looked at.
    """

    mean: float
    low: float
    high: float
    n_seeds: int
    n_settings: int
    deviation: float = math.nan
    level: float = LEVEL

    def words(self, *, sign: str = "+") -> str:
        """Write the number as in a table; sign "" leaves a plus out.

        >>> Estimate(1.25, 1.0, 1.5, 3, 9).words(), Estimate(2.0, math.nan, math.nan, 1, 1).words(sign="")
        ('+1.25 [+1.00, +1.50], 3 seeds', '2.00, 1 seed')
        >>> Estimate(1.25, 1.0, 1.5, 1, 9).words()
        '+1.25 [+1.00, +1.50] over settings, 1 seed'
        """
        over = " over settings" if self.n_seeds == 1 else ""
        interval = "" if math.isnan(self.low) else f" [{_number(self.low, sign)}, {_number(self.high, sign)}]{over}"
        return f"{_number(self.mean, sign)}{interval}, {self.n_seeds} seed{'' if self.n_seeds == 1 else 's'}"


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a claim.

    Attributes
    ----------
    claim : str
        In our words.
    where : str
        Where the paper makes it, and on which network we looked.
    quantity : str
        What the numbers are; where it is a difference, above 0 speaks for the claim.
    published, ours, stored : Estimate or None
        From the published numbers, from our own trainings, and recomputed from the authors' stored outputs.
    direction : Direction
        Does the claim hold, by the intervals of our own trainings alone?
    why : str
    seeds_needed : int or None
        For an inconclusive claim: with so many seeds, of the spread seen so far, the intervals would settle it.
    size : Size
        The published number against our interval; "" where nothing is published or nothing can be decided.
    p_value, adjusted_p : float
        Of a settled direction: by itself, and with Holm's correction for all claims; nan elsewhere.
    """

    claim: str
    where: str
    quantity: str
    published: Estimate | None
    ours: Estimate | None
    stored: Estimate | None
    direction: Direction
    why: str
    seeds_needed: int | None = None
    size: Size = ""
    p_value: float = math.nan
    adjusted_p: float = math.nan

    @property
    def only_by_itself(self) -> bool:
        """Is the direction settled, but not after the correction for all claims?"""
        return self.adjusted_p >= 1 - LEVEL

    @property
    def provisional(self) -> bool:
        """Does it stand on one seed?"""
        return self.direction != NOT_RUN and self.ours is not None and self.ours.n_seeds == 1

    @property
    def published_words(self) -> str:
        """The published number, which has no interval: its seeds are not known one by one."""
        return "" if self.published is None else _number(self.published.mean, "+")

    @property
    def direction_words(self) -> str:
        """The direction as in the table: with the seeds that would settle it, and marked where it is provisional."""
        words = f"**{self.direction}**"
        if self.direction == INCONCLUSIVE and self.seeds_needed is not None:
            words += f", needs {self.seeds_needed} seeds"
        if self.only_by_itself:
            words += ", not after Holm"
        return f"{words}, provisional" if self.provisional else words


def size_of(ours: Estimate, published: Estimate | None) -> Size:
    """Compare the published number with our interval, both as they are written: to two digits.

    >>> ours = Estimate(1.25, 1.0, 1.5, 3, 9)
    >>> size_of(ours, Estimate(1.1, math.nan, math.nan, 1, 9)), size_of(ours, Estimate(2.0, math.nan, math.nan, 1, 9))
    ('as published', 'smaller than published')
    """
    if published is None or math.isnan(ours.low):
        return ""
    number = round(published.mean, 2)
    if number > round(ours.high, 2):
        return SMALLER
    return LARGER if number < round(ours.low, 2) else AS_PUBLISHED


def _number(value: float, sign: str) -> str:
    return f"{round(value, 2) + 0.0:{sign}.2f}"  # + 0.0: no minus before nothing
