"""Assignment: who answers each item of a batch under limits, and what the limits cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, frozen, names
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.results.decision import Deciders

_NO_PRICE = 1e-9
"""A price below this share of the largest one is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Deciders):
    """Who answers each item of a batch, under capacity, a largest share of questions, and a budget.

    Attributes
    ----------
    expert : (n,) int
        -1 where the model answers, else the expert's index.
    expert_names : J names
    answer_cost : (n,)
        Expected cost if the model answers.
    expected_cost : (n,)
        Expected cost of the one who answers, with their fee.
    prices : (J,)
        What one more question to each expert would save, fees counted. Negative where the lower limit binds: one more
        question that must be asked costs so much. 0 where no limit binds.
    deferral_price : float
        What one more question to anybody would save where `at_most_asked` binds.
    money_price : float
        What a little more budget would save for each unit of money, fees counted, where the budget binds. The next
        units save less.
    gap : float
        The best assignment is at most this much cheaper in total; 0 where this one is the best.
    label : (n,), optional
        What the model would answer.
    limit : (n,) int, optional
        What keeps an item that the model answers from the question that would save most: the index of the expert whose
        capacity is used up, J where all questions are, J + 1 where the budget is; -1 where no question would save
        anything.
    why_not : str
        Why items that no limit keeps from a question are not asked about.

    Examples
    --------
    >>> batch = Assignment(np.array([0, -1]), ("ann",), np.array([0.5, 0.4]), np.array([0.1, 0.4]), np.array([0.31]))
    >>> batch.load.tolist(), batch.sentences()
    ([1], ['One more question to ann would save 0.31.'])
    """

    expert: IntArray
    expert_names: tuple[str, ...]
    answer_cost: FloatArray
    expected_cost: FloatArray
    prices: FloatArray
    deferral_price: float = 0.0
    money_price: float = 0.0
    gap: float = 0.0
    label: Labels | None = None
    limit: IntArray | None = None
    why_not: str = "no question is worth its fee"

    def __post_init__(self) -> None:
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=len(self.prices)))
        optional = [name for name in ("label", "limit") if getattr(self, name) is not None]
        for name in ("answer_cost", "expected_cost", *optional):
            array = np.asarray(getattr(self, name))
            if array.shape != np.shape(self.expert):
                raise InputError(f"must have {len(self.expert)} items like expert, got {array.shape}.", argument=name)
            object.__setattr__(self, name, frozen(array))
        object.__setattr__(self, "expert", frozen(np.asarray(self.expert, dtype=np.int64)))
        object.__setattr__(self, "prices", frozen(np.asarray(self.prices, dtype=np.float64)))

    @property
    def saved(self) -> float:
        """How much is expected to be saved against the model alone, in total."""
        return float((self.answer_cost - self.expected_cost).sum())

    @property
    def reason(self) -> list[str]:
        """One short phrase per item with the two costs compared."""
        return self.reasons(slice(None))

    def headline(self) -> str:
        """Return how many items the model and each expert get, and the first sentences about prices."""
        first = f"Assignment: {self.loads()}"
        return "\n".join([first, *self.sentences(most=2)])

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return route, label (where the model answers), expected_cost and reason."""
        by_model = {}
        if self.label is not None:
            is_asked = self.deferred[:most].tolist()
            by_model["label"] = [None if one else own for one, own in zip(is_asked, self.label[:most], strict=True)]
        return {
            "route": self.name[:most],
            **by_model,
            "expected_cost": self.expected_cost[:most],
            "reason": self.reasons(slice(most)),
        }

    def sentences(self, *, most: int | None = None) -> list[str]:
        """Say what each limit that binds costs, the dearest first."""
        least = _NO_PRICE * max(np.abs(self.prices).max(initial=0.0), self.deferral_price, 1e-300)
        words = [
            (
                abs(price),
                f"One more question to {name} would save {_money(price)}."
                if price > 0
                else f"One more question that must go to {name} would cost {_money(-price)}.",
            )
            for name, price in zip(self.expert_names, self.prices.tolist(), strict=True)
            if abs(price) > least
        ]
        if self.deferral_price > least:
            words.append((self.deferral_price, f"One more question in all would save {_money(self.deferral_price)}."))
        if self.money_price > 0:
            saved = f"one more unit of budget would save {_money(self.money_price)}, fees counted"
            words.append((self.money_price, f"At the margin {saved}; further units save less."))
        return [sentence for _, sentence in sorted(words, key=lambda one: -one[0])][:most]

    def reasons(self, rows: slice) -> list[str]:
        """Return the reasons of some items."""
        who, asked = self.name[rows].tolist(), self.deferred[rows].tolist()
        costs, model = self.expected_cost[rows].tolist(), self.answer_cost[rows].tolist()
        return [
            f"ask {name}: {cost:.3f} expected, {own:.3f} by the model"
            if is_asked
            else f"model: {own:.3f} expected, {why_not}"
            for name, is_asked, cost, own, why_not in zip(who, asked, costs, model, self.whys(rows), strict=True)
        ]

    def whys(self, rows: slice) -> list[str]:
        """Return why some items are not asked about: the limit that is used up, or that no question pays."""
        if self.limit is None:
            return [self.why_not] * len(self.expert[rows])
        used_up = [f"the capacity of {name} is used up" for name in self.expert_names]
        words = [*used_up, "all questions that are allowed are used up", "the budget is used up", self.why_not]
        return [words[one] for one in self.limit[rows].tolist()]


def _money(amount: float) -> str:
    """Write an amount with two decimals, or with two digits where it is small."""
    return f"{amount:,.2f}" if amount >= 0.1 else f"{amount:.2g}"
