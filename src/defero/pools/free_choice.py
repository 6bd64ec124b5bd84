"""FreeChoice: the choice among all members, judged where the chosen one has a score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.wording import count_of
from defero.pools.frontier import NOBODY
from defero.pools.intervals import score_interval


@dataclass(frozen=True)
class FreeChoice:
    """The pool's choice among all members, on the items for which the chosen member has a score.

    Where scores are missing by chance this is what the pool will do on new items. A choice among those with a score
    alone is worse, as the best member may be missing.

    Attributes
    ----------
    items, all_items : int
        Items whose chosen member has a score, and all items.
    quality, low, high : float
        The mean score there, with a 95 % interval; nan for no items.
    """

    items: int
    all_items: int
    quality: float
    low: float
    high: float

    @classmethod
    def of(cls, expert: IntArray, scores: FloatArray, groups: ArrayLike) -> "FreeChoice":
        """Judge choices (n,) by scores (n, J), NaN where there are none."""
        came = np.where(expert == NOBODY, np.nan, scores[np.arange(len(scores)), expert])
        return cls(int(np.isfinite(came).sum()), len(came), *score_interval(came, groups))

    def share(self) -> str:
        """Return on how many items it is judged, such as "120 of 300 items"."""
        return f"{self.items:,} of {count_of(self.all_items, 'item')}"

    def score(self, digits: int = 4) -> str:
        """Return the mean score with its interval in words; blank for no items."""
        if not self.items:
            return ""
        ends = "" if np.isnan(self.low) else f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.quality:.{digits}f}{ends}"

    def sentence(self, digits: int = 4) -> str:
        """Return the result in one sentence."""
        if not self.items:
            return "Chosen among all members, no chosen member has a score, so that this choice cannot be judged."
        return (
            f"Chosen among all members, on the {self.share()} whose chosen member has a score: "
            f"score {self.score(digits)}. This is what to expect where scores are missing by chance."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        numbers = {"quality": self.quality, "low": self.low, "high": self.high}
        return {
            "items": self.items,
            **{key: round(one, 6) if np.isfinite(one) else None for key, one in numbers.items()},
        }
