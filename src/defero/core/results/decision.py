"""Who answers each item, the model or one expert, and why: case by case, and in a batch under limits."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_length,
    check_shape,
    names,
    refuse,
    set_columns,
)
from defero.core.errors import InputError
from defero.core.labels import Labels, missing_cells
from defero.core.wording import Tabular, count_of, join_names, money

MODEL = -1
MUCH = 10
"""Where an error costs so much or more, costs have two decimals."""


class Deciders(Tabular):
    """Who answers each of n items: `expert` (n,) with the `expert_names`; -1 is the model, or "nobody" without one."""

    expert: IntArray
    expert_names: tuple[str, ...]
    otherwise: str

    def __len__(self) -> int:
        return len(self.expert)

    @property
    def deferred(self) -> BoolArray:
        """(n,): does an expert answer?"""
        return self.expert != MODEL

    @property
    def name(self) -> Labels:
        """(n,): the expert's name, "model", or "nobody" where there is no model."""
        return np.array([*self.expert_names, self.otherwise], dtype=object)[self.expert]

    @property
    def load(self) -> IntArray:
        """(J,): how many items each expert gets."""
        return np.bincount(self.expert[self.deferred], minlength=len(self.expert_names)).astype(np.int64)

    def loads(self) -> str:
        """Say how many items the model, or nobody, and each expert get."""
        load = dict(zip(self.expert_names, self.load.tolist(), strict=True))
        n_other = len(self) - int(self.deferred.sum())
        own = [f"{self.otherwise} {n_other:,}"] if n_other or self.otherwise == "model" else []
        asked = join_names((f"{name} {count:,}" for name, count in load.items() if count), most=4)
        return f"{count_of(len(self), 'item')}; {', '.join([*own, *([asked] if asked else [])])}."


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Deciders):
    """Who answers each item, what that is expected to cost, and why.

    Attributes
    ----------
    expert : (n,) int
        -1 where the model answers, else the expert's index.
    expert_names : J names
    expected_cost : (n,)
        P(wrong) plus the fee, in units of one error.
    model_value : (n,)
        P(the model is right).
    best_expert : (n,) int
        The best expert who can be asked, -1 if there is none.
    best_value : (n,)
        P(that expert is right) minus the fee; -inf if there is none.
    p_right : (n,), optional
        P(the decider is right), calibrated for the one who is chosen; None where the scores alone say it.
    unusual : (n,) texts
        Of a case unlike those that were learned from, the columns that make it so, joined by "; "; else blank.
    why_not : str
        Why nobody is asked, if that is so for a reason beyond these numbers.
    unit : float, optional
        What the dearest error costs, where fees or costs of errors were given: reasons then compare expected costs in
        the unit of the user, not probabilities.
    fee : (n,), optional
        What the question costs, in that unit; 0 where nobody is asked, nan where it is not known.
    n_alike : (n,) int, optional
        Among how many experts with nearly the same expected cost the case was shared; 1: it was not.
    floor : float, optional
        The P(right) that was asked for: the cheapest who reaches it decides.
    reached : (n,) bool, optional
        Whether somebody does; else whoever is likeliest to be right decides.
    otherwise : str
        What -1 is called: "model", or "nobody" in a team without one.
    """

    expert: IntArray
    expert_names: tuple[str, ...]
    expected_cost: FloatArray
    model_value: FloatArray
    best_expert: IntArray
    best_value: FloatArray
    p_right: FloatArray | None = None
    unusual: Labels = field(default_factory=lambda: np.zeros(0, dtype=object))
    why_not: str = ""
    unit: float | None = None
    fee: FloatArray | None = None
    n_alike: IntArray | None = None
    floor: float | None = None
    reached: BoolArray | None = None
    otherwise: str = "model"

    def __post_init__(self) -> None:
        n_experts = len(self.expert_names)
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=n_experts))
        for name in ("expert", "best_expert"):
            array = np.asarray(getattr(self, name))
            whole = array.dtype.kind in "iu" or array.size == 0
            if array.ndim != 1 or not whole or (array.size and (array.min() < MODEL or array.max() >= n_experts)):
                raise InputError(f"must be (n,) whole numbers from -1 (the model) to {n_experts - 1}.", argument=name)
        set_columns(self, "expert", "best_expert", like="expert", dtype=np.int64)
        costs = ("expected_cost", "model_value", "best_value", "p_right", "fee")
        set_columns(self, *costs, like="expert", dtype=np.float64)
        set_columns(self, "n_alike", "reached", like="expert")
        if np.size(self.unusual) == 0:
            object.__setattr__(self, "unusual", np.full(len(self.expert), "", dtype=object))
        set_columns(self, "unusual", like="expert", dtype=object)

    def headline(self) -> str:
        """Return how many items the model and each expert get."""
        return f"Decision: {self.loads()}"

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return route, p_right and fee (where they are known), expected_cost and reason."""
        paid = self.fee is not None and (self.unit is not None or bool(self.fee.any()))
        known = {"p_right": self.p_right, "fee": self.fee if paid else None}
        return {
            "route": self.name[:most],
            **{name: one[:most] for name, one in known.items() if one is not None},
            "expected_cost": self.expected_cost[:most],
            "reason": self.phrases(most).tolist(),
        }

    @property
    def reason(self) -> list[str]:
        """One short phrase per item that names the numbers compared."""
        phrases: list[str] = self.phrases().tolist()
        return phrases

    @property
    def coverage(self) -> float:
        """The share of items that the model answers; nan for no items."""
        return float(np.mean(~self.deferred)) if len(self) else float("nan")

    def phrases(self, most: int | None = None) -> Labels:
        """Return the `reason` of the first items as an array, (n,)."""
        who, in_money = [*self.expert_names, self.otherwise], self.unit is not None
        rule = f": {self.why_not}, with " if self.why_not else " by rule, with "
        rule += "expected costs " if in_money else ""
        model_value, best_value = self.model_value[:most], self.best_value[:most]
        columns = (self.expert, self.best_expert, best_value >= model_value, self.unusual)
        rows = zip(*(one[:most].tolist() for one in columns), strict=True)
        phrases: list[str] = []
        for row, own, theirs in zip(rows, self._written(model_value), self._written(best_value), strict=True):
            asked, best, is_better, unusual = row
            if self.floor is not None or (self.otherwise != "model" and asked != MODEL):
                phrase = self._alone(len(phrases), who[asked])
            elif best == MODEL:
                phrase = "no expert available" if self.otherwise == "model" else "nobody can be asked"
            elif asked == best and is_better and not in_money:
                phrase = f"{who[best]} {theirs} >= model {own}"
            elif asked == best and (is_better or (unusual and in_money)):
                phrase = f"ask {who[best]}: {theirs} expected, {own} by the model"
            elif asked == MODEL and not is_better:
                by_model = f"model: {own} expected, {theirs} by {who[best]}"
                phrase = by_model if in_money else f"model {own} > {who[best]} {theirs}"
            elif asked == best and unusual:
                phrase = f"{who[best]} {theirs}, though model {own}"
            else:  # baselines do not decide by these numbers
                phrase = f"{who[asked]}{rule}model {own} and best expert {who[best]} {theirs}"
            if self.n_alike is not None and self.n_alike[len(phrases)] > 1:
                phrase = f"{phrase}, shared evenly among {self.n_alike[len(phrases)]} who are about as good"
            phrases.append(f"{phrase}; unusual: {unusual}" if unusual else phrase)
        return np.array(phrases, dtype=object)

    def _alone(self, item: int, name: str) -> str:
        """Write who decides an item by what is known of them, and by which rule."""
        proba = self.p_right[item] if self.p_right is not None else np.nan
        fee = 0.0 if self.fee is None else float(np.nan_to_num(self.fee[item]))
        paid = f" for {money(fee)}" if fee > 0 else ""
        if self.floor is None:
            rule = (
                "likeliest to be right" if self.unit is None else f"least expected cost, {self.expected_cost[item]:.3g}"
            )
        elif self.reached is not None and self.reached[item]:
            rule = f"cheapest that reaches {self.floor:g}"
        else:
            rule = f"likeliest to be right, none reaches {self.floor:g}"
        return f"{name} {proba:.3f}{paid}: {rule}"

    def _written(self, values: FloatArray) -> Iterator[str]:
        """Write values, or, in the unit of money, the expected costs that they stand for."""
        if self.unit is None:
            return map("{:.3f}".format, values.tolist())
        return map(f"{{:.{2 if self.unit >= MUCH else 3}f}}".format, (self.unit * (1 - values)).tolist())


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
    otherwise : str
        What -1 is called: "model", or "nobody" in a team without one.

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
    otherwise: str = "model"

    def __post_init__(self) -> None:
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=len(self.prices)))
        set_columns(self, "answer_cost", "expected_cost", "label", "limit", like="expert")
        set_columns(self, "expert", like="expert", dtype=np.int64)
        set_columns(self, "prices", like="prices", dtype=np.float64)

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
        by = "by the model" if self.otherwise == "model" else "without an answer"
        return [
            f"ask {name}: {cost:.3f} expected, {own:.3f} {by}"
            if is_asked
            else f"{self.otherwise}: {own:.3f} expected, {why_not}"
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


def chosen_experts(expert: ArrayLike | Decision) -> IntArray:
    """Return who answers each item, (n,): -1 for the model, else the expert's index.

    >>> chosen_experts([0, -1]).tolist()
    [0, -1]
    """
    chosen = np.asarray(expert.expert if isinstance(expert, Decision) else expert)
    check_shape("expert", chosen, ("n",), like=", one choice per item")
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InputError(f"must be expert numbers, -1 for the model, got dtype {chosen.dtype}.", argument="expert")
    refuse("expert", chosen, chosen < MODEL, "must be -1 (the model) or an expert's number")
    return chosen.astype(np.int64)


def asked_answers(chosen: IntArray, columns: Labels) -> tuple[IntArray, Labels]:
    """Return the items that go to an expert, (m,), and what that expert answered, (m,).

    >>> items, answers = asked_answers(np.array([1, -1, 0]), np.array([[5, 6], [7, 8], [9, -1]]))
    >>> items.tolist(), answers.tolist()
    ([0, 2], [6, 9])
    """
    n_items, n_experts = columns.shape
    check_length("expert", chosen, n_items=n_items)
    refuse("expert", chosen, chosen >= n_experts, f"must be below {n_experts}, the number of columns of answers")
    deferred = np.flatnonzero(chosen != MODEL)
    chosen_answers = columns[deferred, chosen[deferred]]
    silent = missing_cells(chosen_answers)
    if silent.any():
        item = int(deferred[np.argmax(silent)])
        raise InputError(
            f": item {item} was deferred to expert {chosen[item]}, who has no recorded answer there; "
            "let the decision choose among those who answered (available=).",
            argument="answers",
        )
    return deferred, chosen_answers
