"""PoolDecision: which member of a pool answers each item, with expected score and price; and free choices, judged."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.display import Tabular
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.results import MODEL as NOBODY
from defero.core.wording import count_of, join_names, money
from defero.pools.copies import score_interval


@dataclass(frozen=True, eq=False, repr=False)
class PoolDecision(Tabular):
    """Who answers each item, and why.

    Attributes
    ----------
    expert : (n,) int
        -1 where nobody can be asked.
    expert_names : J names
    score : (n,)
        Expected score of the one who is chosen; nan where nobody is.
    price : (n,)
        What that costs; nan where it is not known, 0 where nobody is asked.
    rule : str
        How they were chosen.
    trade_off : float
        Money per point of quality at which they were chosen; inf for quality alone.
    exception : (n,) texts
        Why an item was decided in another way; else blank. Empty for none at all.
    """

    expert: IntArray
    expert_names: tuple[str, ...]
    score: FloatArray
    price: FloatArray
    rule: str
    trade_off: float = float("inf")
    exception: Labels | None = None

    def __post_init__(self) -> None:
        n = len(self.expert)
        for name in ("expert", "score", "price"):
            array = getattr(self, name)
            if array.shape != (n,):
                raise InputError(f"must have shape ({n},) like expert, got {array.shape}.", argument=name)
            object.__setattr__(self, name, frozen(array))

    def __len__(self) -> int:
        return len(self.expert)

    @property
    def name(self) -> Labels:
        """(n,): the member's name, blank where nobody can be asked."""
        return np.array([*self.expert_names, ""], dtype=object)[self.expert]

    @property
    def load(self) -> IntArray:
        """(J,): how many items each member gets."""
        return np.bincount(self.expert[self.expert != NOBODY], minlength=len(self.expert_names)).astype(np.int64)

    @property
    def reason(self) -> list[str]:
        """One short phrase per item with the numbers that decided."""
        return self._reasons(None)

    def headline(self) -> str:
        """Return how many items each member gets, the mean expected score and the total price."""
        load = sorted(zip(self.load.tolist(), self.expert_names, strict=True), key=lambda one: -one[0])
        who = join_names((f"{name} {count:,}" for count, name in load if count), most=4)
        nobody = int((self.expert == NOBODY).sum())
        known = self.score[self.expert != NOBODY]
        quality = f"; expected score {known.mean():.3f}" if len(known) else ""
        price = f", price {money(float(np.nansum(self.price)))}" if np.nansum(self.price) > 0 else ""
        missing = f", nobody {nobody:,}" if nobody else ""
        words = who + missing if who else "nobody"
        return f"PoolDecision: {count_of(len(self), 'item')}; {words}{quality}{price}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return route, score, price and reason."""
        return {
            "route": self.name[:most],
            "score": self.score[:most],
            "price": self.price[:most],
            "reason": self._reasons(most),
        }

    def _reasons(self, most: int | None) -> list[str]:
        name: Any = self.name[:most]
        price = self.price[:most]
        distinct, place = np.unique(price, return_inverse=True)
        prices = np.array([" for " + money(one) if one > 0 else "" for one in distinct.tolist()], dtype=object)[place]
        rule = np.full(len(name), self.rule, dtype=object)
        if self.exception is not None:
            rule = np.where(self.exception[:most] == "", rule, self.exception[:most])
        scores = np.array([f"{one:.3f}" for one in self.score[:most].tolist()], dtype=object)
        phrase: Any = name + " " + scores + prices + ": " + rule
        phrase[self.expert[:most] == NOBODY] = "nobody can be asked"
        reasons: list[str] = phrase.tolist()
        return reasons


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
