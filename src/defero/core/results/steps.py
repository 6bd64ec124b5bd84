"""What is asked and said: sets of experts, the team's label, the next step, and a case settled by asking in turn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, names, set_columns, set_frozen
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels
from defero.core.results.decision import MODEL
from defero.core.wording import Tabular, count_of, join_names


def _check_flags(name: str, value: BoolArray) -> None:
    array = np.asarray(value)
    if array.dtype != np.bool_ or array.ndim != 2:
        raise InputError(f"must be (n, J) True or False, got shape {array.shape} of {array.dtype}.", argument=name)


@dataclass(frozen=True, eq=False, repr=False)
class ExpertSets(Tabular):
    """The experts to ask for each item.

    Attributes
    ----------
    mask : (n, J) bool
        Whether expert j is in the set of item i.
    expert_names : J names
    filled : (n,) bool
        Whether the set was empty before the best expert was added; False by default.

    Examples
    --------
    >>> sets = ExpertSets(np.array([[True, False], [True, True]]), ("ann", "bob"))
    >>> sets.size.tolist(), sets.members(1)
    ([1, 2], ['ann', 'bob'])
    """

    mask: BoolArray
    expert_names: tuple[str, ...]
    filled: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        _check_flags("mask", self.mask)
        set_frozen(self, mask=np.asarray(self.mask))
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=self.mask.shape[1]))
        if np.size(self.filled) == 0:
            object.__setattr__(self, "filled", np.zeros(len(self), dtype=np.bool_))
        set_columns(self, "filled", like="mask", dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.mask)

    def headline(self) -> str:
        """Return how many sets there are, and how large they are on average."""
        mean = f"; {self.size.mean():.2f} experts on average" if len(self) else ""
        return f"ExpertSets: {count_of(len(self), 'item')}{mean}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return panel (the names), size, and one column of True or False per expert."""
        panels = ["; ".join(self.members(item)) for item in range(len(self))[:most]]
        members = {name: self.mask[:most, j] for j, name in enumerate(self.expert_names)}
        return {"panel": panels, "size": self.size[:most], **members}

    @property
    def raw_mask(self) -> BoolArray:
        """(n, J): the sets before empty ones were filled."""
        return self.mask & ~self.filled[:, None]

    @property
    def size(self) -> IntArray:
        """(n,): how many experts each set holds."""
        return self.mask.sum(axis=1).astype(np.int64)

    def members(self, item: int) -> list[str]:
        """Return the names in one item's set."""
        return [name for name, inside in zip(self.expert_names, self.mask[item], strict=True) if inside]


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Tabular):
    """The team's label for each item.

    Attributes
    ----------
    label : (n,)
        Of the type of the labels.
    confidence : (n,)
        P(the label is right).
    heard : (n, J) bool
        Whose answers were used; nobody's if the model answered.
    """

    label: Labels
    confidence: FloatArray
    heard: BoolArray

    def __post_init__(self) -> None:
        _check_flags("heard", self.heard)
        set_frozen(self, heard=np.asarray(self.heard))
        set_columns(self, "label", like="heard")
        set_columns(self, "confidence", like="heard", dtype=np.float64)

    def __len__(self) -> int:
        return len(self.label)

    def headline(self) -> str:
        """Return how many items were answered, and for how many experts were heard."""
        n_heard = int((~self.by_model).sum())
        return f"Answer: {count_of(len(self), 'item')}; experts were heard for {n_heard:,} of them."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return label, confidence, and how many experts were heard."""
        n_heard = self.heard[:most].sum(axis=1)
        return {"label": self.label[:most], "confidence": self.confidence[:most], "n_heard": n_heard}

    @property
    def by_model(self) -> BoolArray:
        """(n,): did the model answer alone?"""
        return np.logical_not(self.heard.any(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class NextSteps(Tabular):
    """The next step of n cases.

    Attributes
    ----------
    ask : (n,) int
        Index of the expert to ask next; -1: answer now.
    expert_names : J names
    label : (n,)
        The cheapest answer by what is known now.
    p_right : (n,)
        P(that label is right), as such labels keep it: people who answer one case err together.
    answer_cost : (n,)
        Expected cost of answering now.
    expected_cost : (n,)
        Expected cost from here on, with the fees of the questions to come; at most `answer_cost`.
    why_not : str
        Why cases that are answered now are not asked about.
    answer_idx : (n, J) int, optional
        Answers so far as class numbers, -1 where there is none.
    class_names : K names
        Of the classes, where there are answers so far.
    p_used : (n,), optional
        P(that label is right) by which was decided: the law of answers, before it is tempered.
    judged : (n,) bool, optional
        With a judge: whether to have the answer that is asked for judged.
    stands : (n,) int, optional
        Where answers stand as they are: whose answer stands if nobody else is asked, -1 for nobody's. `p_right` is
        then P(that answer is right), and `label` None.

    Examples
    --------
    >>> steps = NextSteps(np.array([0, -1]), ("ann",), np.array(["a", "b"]), np.array([0.6, 0.9]), np.array([0.4, 0.1]),
    ...               np.array([0.2, 0.1]))
    >>> steps.reason
    ['ask ann: 0.200 expected, 0.400 if answered now', 'answer now: 0.100 expected, no question is worth its fee']
    """

    ask: IntArray
    expert_names: tuple[str, ...]
    label: Labels
    p_right: FloatArray
    answer_cost: FloatArray
    expected_cost: FloatArray
    why_not: str = "no question is worth its fee"
    answer_idx: IntArray | None = None
    class_names: tuple[str, ...] = ()
    p_used: FloatArray | None = None
    judged: BoolArray | None = None
    stands: IntArray | None = None

    def __post_init__(self) -> None:
        who = tuple(self.expert_names)
        experts = who[:-1] if self.stands is not None and who[-1:] == ("model",) else who
        checked = names("expert_names", experts, count=len(experts))
        object.__setattr__(self, "expert_names", checked + who[len(experts) :])
        set_columns(self, "ask", "label", "p_right", "answer_cost", "expected_cost", like="ask")
        set_columns(self, "p_used", "judged", "stands", like="ask")

    def __len__(self) -> int:
        return len(self.ask)

    def headline(self) -> str:
        """Return how many cases are asked about, and how many are answered."""
        n_asked = int((self.ask != MODEL).sum())
        counts = f"ask an expert for {n_asked:,}, answer {len(self) - n_asked:,} now"
        return f"NextSteps: {count_of(len(self), 'case')}; {counts}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return ask, label (or whose answer stands) and p_right (of answered cases), expected_cost and reason."""
        asked, who = (self.ask != MODEL)[:most], np.array([*self.expert_names, ""], dtype=object)
        if self.stands is None:
            label = [None if is_asked else one for is_asked, one in zip(asked, self.label[:most], strict=True)]
            answered: dict[str, Any] = {"label": label}
        else:
            answered = {"stands": np.where(asked, "", who[self.stands[:most]])}
        return {
            "ask": who[self.ask[:most]],
            **({} if self.judged is None else {"judged": self.judged[:most]}),
            **answered,
            "p_right": np.where(asked, np.nan, self.p_right[:most]),
            **({} if self.p_used is None else {"p_used": np.where(asked, np.nan, self.p_used[:most])}),
            "expected_cost": self.expected_cost[:most],
            "reason": self.reason[:most],
        }

    @property
    def settled(self) -> BoolArray:
        """(n,): is the case answered now, after experts have answered?"""
        any_heard = np.zeros(len(self), dtype=np.bool_)
        if self.answer_idx is not None:
            any_heard = (self.answer_idx != MISSING).any(axis=1)
        return any_heard & (self.ask == MODEL)

    @property
    def reason(self) -> list[str]:
        """One short phrase per case with the two costs compared; it names the answers that settled a case."""
        return self.reasons([self.why_not] * len(self))

    def reasons(self, whys: Sequence[str]) -> list[str]:
        """Return the phrases; `whys` says for each case why it is not asked about."""
        costs, answered_now = self.expected_cost.tolist(), self.answer_cost.tolist()
        settled = self.settled.tolist()
        phrases = []
        for case, (expert, cost, now, why) in enumerate(zip(self.ask.tolist(), costs, answered_now, whys, strict=True)):
            if expert != MODEL:
                judged = " and the judge" if self.judged is not None and self.judged[case] else ""
                name = self.expert_names[expert]
                phrases.append(f"ask {name}{judged}: {cost:.3f} expected, {now:.3f} if answered now")
                continue
            how = f"settled by {self._heard(case)}" if settled[case] else "answer now"
            if self.stands is not None:
                whose = self.stands[case]
                how = "nobody can be asked" if whose == MODEL else f"the answer of {self.expert_names[whose]} stands"
            phrases.append(f"{how}: {now:.3f} expected, {why}")
        return phrases

    def _heard(self, case: int) -> str:
        """Write the answers to a case."""
        assert self.answer_idx is not None
        answers = zip(self.expert_names, self.answer_idx[case].tolist(), strict=True)
        return join_names([f"{name} ({self.class_names[k]})" for name, k in answers if k != MISSING], most=6)


@dataclass(frozen=True, eq=False, repr=False)
class InTurn(Answer):
    """Answers whose experts were asked one after the other; `heard` says who was asked.

    Attributes
    ----------
    fees : (n,)
        What the questions cost.
    expected_cost : (n,)
        Expected cost of the label given what was heard; the fees are not in it.
    """

    fees: FloatArray
    expected_cost: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        set_columns(self, "fees", "expected_cost", like="label", dtype=np.float64)

    @property
    def n_asked(self) -> IntArray:
        """(n,): how many experts were asked."""
        return self.heard.sum(axis=1).astype(np.int64)
