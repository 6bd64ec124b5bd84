"""A verdict on one claim of the paper: the number that decides it, three times over, and the reason in words."""

import math
from dataclasses import dataclass
from typing import Literal

Word = Literal["confirmed", "not confirmed", "depends", "not run yet"]
CONFIRMED: Word = "confirmed"
NOT_CONFIRMED: Word = "not confirmed"
DEPENDS: Word = "depends"
NOT_RUN: Word = "not run yet"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    Attributes
    ----------
    mean, low, high : float
        The interval is nan where nothing says how much the mean would scatter.
    n_seeds, n_settings : int
        What the mean is over.
    """

    mean: float
    low: float
    high: float
    n_seeds: int
    n_settings: int

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
    verdict : "confirmed", "not confirmed", "depends" or "not run yet"
        On our own trainings alone.
    why : str
    """

    claim: str
    where: str
    quantity: str
    published: Estimate | None
    ours: Estimate | None
    stored: Estimate | None
    verdict: Word
    why: str

    @property
    def provisional(self) -> bool:
        """Does it stand on one seed?"""
        return self.verdict != NOT_RUN and self.ours is not None and self.ours.n_seeds == 1

    @property
    def published_words(self) -> str:
        """The published number, which has no interval: its seeds are not known one by one."""
        return "" if self.published is None else _number(self.published.mean, "+")


def _number(value: float, sign: str) -> str:
    return f"{round(value, 2) + 0.0:{sign}.2f}"  # + 0.0: no minus before nothing
