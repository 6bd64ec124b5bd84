"""The rules, one that is right (`MostLikelyRight`) and baselines, and the comparison that they settle.

Cases that several experts would settle about as well are shared among these, evenly. Without that one of ten equal
experts gets a thousand cases because of the fourth decimal. Who gets a case depends on the case alone, by a hash of it:
not on the order of the cases, nor on that of the experts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, fee_matrix
from defero.core.labels import Labels
from defero.core.order import HashArray, mixed
from defero.core.registry import Registry
from defero.core.results import MODEL, Decision
from defero.core.scores import Scores, logit, sigmoid

ALIKE = 0.002
"""Expected costs that differ by less than this share of an error count as equal."""


class Sharing(NamedTuple):
    """What tells cases apart, and experts who are equally good.

    Attributes
    ----------
    cases : callable
        From the numbers of some cases to a hash of each.
    fees : (J,) or (n, J), optional
        Of equally good experts the cheapest share; None where fees are counted already.
    """

    cases: Callable[[IntArray], HashArray]
    fees: FloatArray | None = None


class Rule(Protocol):
    """Chooses between the model and the best expert of each item."""

    kind: ClassVar[str]

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return (n,): -1 for the model, else an expert. `expert_value` is -inf for those who cannot be asked."""
        ...


@dataclass(frozen=True)
class MostLikelyRight:
    """The model answers unless some expert is worth at least as much (Eq. 7 of the paper, ties included)."""

    kind: ClassVar[str] = "most-likely-right"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Ask the best expert where they are worth at least as much as the model."""
        return self.of_best(model_value, *best_expert(expert_value))

    def of_best(self, model_value: FloatArray, best: IntArray, best_value: FloatArray) -> IntArray:
        """Choose where each item's best expert and their value are at hand."""
        return np.where((best != MODEL) & (best_value >= model_value), best, MODEL)


@dataclass(frozen=True)
class NeverAsk:
    """The model answers everything."""

    kind: ClassVar[str] = "never-ask"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return the model for each item."""
        return np.full(len(model_value), MODEL)


@dataclass(frozen=True)
class AlwaysAskBest:
    """The best expert who can be asked answers everything."""

    kind: ClassVar[str] = "always-ask-best"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return the best expert of each item; the model where nobody can be asked."""
        return best_expert(expert_value)[0]


@dataclass(frozen=True)
class AskAtRandom:
    """A share of the items, drawn at random, goes to an expert drawn at random among those who can be asked."""

    share: float = 1.0
    seed: int = 0
    kind: ClassVar[str] = "ask-at-random"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Draw anew from the seed at each call: the same items in the same order get the same experts."""
        rng = np.random.default_rng(self.seed)
        can = np.isfinite(expert_value)
        drawn = best_expert(np.where(can, rng.random(expert_value.shape), -np.inf))[0]
        return np.where(rng.random(len(model_value)) < self.share, drawn, MODEL)


@dataclass(frozen=True)
class AskBelowThreshold:
    """The best expert is asked where the model is less sure than a threshold."""

    threshold: float
    kind: ClassVar[str] = "ask-below-threshold"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Compare the model's own confidence with the threshold."""
        return np.where(model_value < self.threshold, best_expert(expert_value)[0], MODEL)


RULES: Registry[type[Rule]] = Registry("rule")
for _rule in (MostLikelyRight, NeverAsk, AlwaysAskBest, AskAtRandom, AskBelowThreshold):
    RULES.register(_rule.kind, _rule)


def best_expert(expert_value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return each item's best expert and their value; -1 and -inf where nobody can be asked. The first wins a tie."""
    if expert_value.shape[1] == 0:
        return np.full(len(expert_value), MODEL), np.full(len(expert_value), -np.inf)
    if expert_value.flags.f_contiguous and len(expert_value) > 1:
        best, value = _first_largest(expert_value.T)
    else:
        best = expert_value.argmax(axis=1)
        value = expert_value[np.arange(len(best)), best]
    finite = np.isfinite(value)
    return best if finite.all() else np.where(finite, best, MODEL), value


def _first_largest(columns: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return each item's first largest number of (J, n): its place and the number.

    Experts whose numbers lie side by side are compared a whole column at a time, three times as fast as item by item.
    """
    n_experts = len(columns)
    largest: FloatArray = columns.max(axis=0)
    from_the_end = np.arange(n_experts, 0, -1, dtype=np.min_scalar_type(n_experts))
    place = ((columns == largest) * from_the_end[:, None]).max(axis=0)
    return n_experts - place.astype(np.int64), largest


class Grounds(NamedTuple):
    """What a decision on n items rests on, each (n,); the names are those of `Decision`."""

    expert: IntArray
    expected_cost: FloatArray
    model_value: FloatArray
    best_expert: IntArray
    best_value: FloatArray
    p_right: FloatArray
    fee: FloatArray
    n_alike: IntArray
    reached: BoolArray

    @classmethod
    def joined(cls, blocks: Iterable["Grounds"], n_items: int) -> "Grounds":
        """Return the comparisons of n items in blocks as one; each is copied while it is in the processor's cache."""
        whole, stop = None, 0
        for block in blocks:
            start, stop = stop, stop + len(block.expert)
            if stop - start == n_items:
                return block
            whole = whole or cls._make(np.empty(n_items, dtype=array.dtype) for array in block)
            for array, part in zip(whole, block, strict=True):
                array[start:stop] = part
        assert whole is not None
        assert stop == n_items
        return whole

    def decision(
        self,
        expert_names: tuple[str, ...],
        *,
        unusual: Labels | None = None,
        why_not: str = "",
        unit: float | None = None,
        **about: Any,
    ) -> Decision:
        """Return the decision; `unusual`, `why_not`, `unit` and the rest are as in `Decision`."""
        nothing = np.broadcast_to(np.array("", dtype=object), self.expert.shape)  # one text: no memory for each item
        marks = nothing if unusual is None else unusual
        own = self
        if unit is not None:
            own = self._replace(expected_cost=unit * self.expected_cost, fee=unit * self.fee)
        for array in own:  # fresh ones: they need not be copied
            array.flags.writeable = False
        return Decision(**own._asdict(), expert_names=expert_names, unusual=marks, why_not=why_not, unit=unit, **about)


def compare(
    scores: Scores,
    rule: Rule,
    *,
    expert_names: tuple[str, ...],
    fees: ArrayLike | None = None,
    available: ArrayLike | None = None,
    chosen_log_odds: FloatArray | None = None,
    must_ask: BoolArray | None = None,
    sharing: Sharing | None = None,
) -> Grounds:
    """Compare the model with the experts and let a rule choose.

    Parameters
    ----------
    scores, rule, expert_names, fees, available
        As in `decide`.
    chosen_log_odds : (n, J), optional
        Log-odds that expert j is right, should they be chosen; by default those of the scores. For
        `MostLikelyRight` and `NeverAsk`.
    must_ask : (n,) bool, optional
        Items for the best expert who can be asked, whatever the rule says.
    sharing : Sharing, optional
        How experts who are about equally good share the items that `MostLikelyRight` asks them about.
    """
    shape = {"n_items": len(scores), "n_experts": scores.n_experts}
    fee = None if fees is None else fee_matrix(fees, **shape, expert_names=expert_names)
    can = None if available is None else availability(available, **shape)
    seeks_best = chosen_log_odds is not None and fee is None  # of the best alone a probability is needed
    value = _values(scores, chosen_log_odds, seeks_best=seeks_best)
    value = value if fee is None else value - fee
    value = value if can is None else np.where(can, value, -np.inf)
    # Of experts who tie the first by name wins, but where they share the work.
    by_name = np.arange(len(expert_names)) if sharing is not None else np.argsort(expert_names, kind="stable")
    best, best_value = _best(value, log_odds=seeks_best, by_name=by_name)
    model_value = scores.model_value
    if isinstance(rule, MostLikelyRight):
        expert = rule.of_best(model_value, best, best_value)
    else:
        expert = rule.choose(model_value, value).astype(np.int64)
    if must_ask is not None:
        expert = np.where((expert == MODEL) & must_ask, best, expert)
    n_alike = np.ones(len(expert), dtype=np.int64)
    if sharing is not None and isinstance(rule, MostLikelyRight) and value.shape[1] > 1:
        # Only who is worth as much as the model shares; where somebody must be asked, whoever can be.
        least = best_value - ALIKE
        least = np.maximum(least, model_value if must_ask is None else np.where(must_ask, -np.inf, model_value))
        least = np.where(expert == MODEL, np.nan, least)
        if seeks_best:
            least = logit(np.clip(least, 0.0, 1.0))
        expert, n_alike = shared(near_best(value, least), expert, sharing, expert_names=expert_names)
        if (n_alike > 1).any() or sharing.fees is not None:
            best = np.where(expert == MODEL, best, expert)
            own = _at(value, best)
            best_value = np.where(best == MODEL, -np.inf, sigmoid(own) if seeks_best else own)
    of_expert = best_value if seeks_best else _of_expert(scores, expert, chosen_log_odds)
    p_right = np.where(expert == MODEL, scores.model_proba, of_expert)
    paid = np.zeros(len(expert))
    if fee is not None and fee.shape[1]:
        paid = np.where(expert == MODEL, 0.0, _at(fee, expert))
    cost = 1 - p_right + paid
    if fee is None and sharing is not None and sharing.fees is not None:  # it settles ties alone
        paid = np.where(expert == MODEL, 0.0, _at(np.broadcast_to(sharing.fees, value.shape), expert))
    reached = np.ones(len(expert), dtype=np.bool_)
    return Grounds(expert, cost, model_value, best, best_value, p_right, paid, n_alike, reached)


class Members(NamedTuple):
    """The model, if there is one, as one more member after the experts.

    Attributes
    ----------
    names : M names
        Of the J experts, and "model".
    n_experts : int
        J.
    proba : (n, M)
        P(right).
    fees : (n, M)
        The model costs nothing.
    can : (n, M) bool
        Who can be asked.
    """

    names: tuple[str, ...]
    n_experts: int
    proba: FloatArray
    fees: FloatArray
    can: BoolArray

    @classmethod
    def of(
        cls, scores: Scores, expert_names: tuple[str, ...], proba: FloatArray, fees: ArrayLike, can: BoolArray
    ) -> "Members":
        """Put the model of n items after their experts, (n, J)."""
        fee = np.broadcast_to(fees, proba.shape)
        if not scores.n_classes:
            return cls(expert_names, len(expert_names), proba, fee, can)
        zero, one = np.zeros((len(scores), 1)), np.ones((len(scores), 1), dtype=np.bool_)
        beside = np.column_stack([proba, scores.model_proba])
        names = (*expert_names, "model")
        return cls(names, len(expert_names), beside, np.hstack([fee, zero]), np.hstack([can, one]))

    def settled(self, grounds: Grounds, member: IntArray, reached: BoolArray, *, counted: bool) -> Grounds:
        """Return the grounds where these members decide, (n,); -1 is nobody. Are their fees `counted` as costs?"""
        rows, nobody = np.arange(len(member)), member == MODEL
        p_right = np.where(nobody, 0.0, self.proba[rows, member])
        fee = np.where(nobody, 0.0, self.fees[rows, member])
        expert, cost, alone = self.expert(member), 1 - p_right + fee * counted, np.ones(len(member), dtype=np.int64)
        return grounds._replace(
            expert=expert, expected_cost=cost, p_right=p_right, fee=fee, n_alike=alone, reached=reached
        )

    def expert(self, member: IntArray) -> IntArray:
        """Return experts from members, (n,): -1 is the model, and nobody where there is no model."""
        return np.where(member == self.n_experts, MODEL, member)


def at_least(members: Members, floor: float) -> tuple[IntArray, BoolArray]:
    """Return the cheapest member whose P(right) reaches a floor, else the one with the highest, (n,); and if it is.

    Of equally cheap ones the likelier one to be right, then the first. Nobody (-1) where nobody can be asked.

    Examples
    --------
    >>> proba, fees = np.array([[0.9, 0.95], [0.5, 0.6]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    >>> members = Members(("ann", "bob"), 2, proba, fees, np.ones((2, 2), dtype=np.bool_))
    >>> [one.tolist() for one in at_least(members, 0.8)]
    [[0, 1], [True, False]]
    """
    enough = members.can & (members.proba >= floor)
    reached: BoolArray = np.asarray(enough.any(axis=1))
    fee = np.where(enough, members.fees, np.inf)
    cheapest = enough & (fee <= fee.min(axis=1, keepdims=True, initial=np.inf))
    some = np.where(reached[:, None], cheapest, members.can)
    member = np.where(some, members.proba, -np.inf).argmax(axis=1) if some.shape[1] else np.zeros(len(some), np.int64)
    return np.where(some.any(axis=1), member, MODEL), reached


def _values(scores: Scores, chosen_log_odds: FloatArray | None, *, seeks_best: bool) -> FloatArray:
    """Return what ranks the experts, (n, J): their probabilities, or log-odds where these will do."""
    if chosen_log_odds is None:
        return scores.expert_value
    return chosen_log_odds if seeks_best else sigmoid(chosen_log_odds)


def _best(value: FloatArray, *, log_odds: bool, by_name: IntArray) -> tuple[IntArray, FloatArray]:
    """Return each item's best expert and their value, as `best_expert` does; of log-odds the value is a probability.

    Of experts who tie the first by name wins, in whatever order they stand: `by_name` (J,) sorts them.
    """
    if (np.diff(by_name) > 0).all():
        best, best_value = best_expert(value)
    else:
        best, best_value = best_expert(value.T[by_name].T)
        best = np.where(best == MODEL, MODEL, by_name[best])
    return best, np.where(best == MODEL, -np.inf, sigmoid(best_value)) if log_odds else best_value


def _of_expert(scores: Scores, expert: IntArray, chosen_log_odds: FloatArray | None) -> FloatArray:
    """Return P(the chosen expert is right), (n,); any number where the model decides."""
    if not scores.n_experts:
        return scores.model_proba
    return _at(scores.expert_proba, expert) if chosen_log_odds is None else sigmoid(_at(chosen_log_odds, expert))


def _at(matrix: FloatArray, expert: IntArray) -> FloatArray:
    """Return each item's number of its expert, (n,); any number where the model decides."""
    numbers: FloatArray = matrix[np.arange(len(matrix)), expert]
    return numbers


def shared(
    alike: BoolArray, expert: IntArray, sharing: Sharing, *, expert_names: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """Return who decides each item, (n,), and among how many it was shared, (n,): 1 where there was nothing to share.

    Parameters
    ----------
    alike : (n, J) bool
        Who is as good as the best; nobody where the item is not asked about.
    expert : (n,) int
        Who decides otherwise.

    Examples
    --------
    >>> everybody = np.ones((6, 2), dtype=np.bool_)
    >>> by_number = Sharing(lambda rows: rows.astype(np.uint64))
    >>> who, n_alike = shared(everybody, np.zeros(6, dtype=np.int64), by_number, expert_names=("ann", "bob"))
    >>> sorted(who.tolist()), n_alike.tolist()
    ([0, 0, 0, 1, 1, 1], [2, 2, 2, 2, 2, 2])
    """
    n_alike = _counts(alike)
    rows = np.flatnonzero(n_alike > 1)
    if rows.size and sharing.fees is not None:
        fees = np.broadcast_to(np.nan_to_num(sharing.fees, nan=np.inf), alike.shape)[rows]
        some = alike[rows]
        cheapest = some & (fees <= np.where(some, fees, np.inf).min(axis=1, keepdims=True))
        alike = alike.copy()
        alike[rows] = cheapest
        n_alike = _counts(alike)
        expert = np.where(n_alike == 1, alike.argmax(axis=1), expert)
        rows = np.flatnonzero(n_alike > 1)
    n_alike = np.maximum(n_alike, 1)
    if rows.size:
        by_name = np.argsort(expert_names, kind="stable")
        place = (mixed(sharing.cases(rows)) % n_alike[rows].astype(np.uint64)).astype(np.int64)
        expert = expert.copy()
        expert[rows] = by_name[(alike[rows][:, by_name].cumsum(axis=1) > place[:, None]).argmax(axis=1)]
    return expert, n_alike


def _counts(mask: BoolArray) -> IntArray:
    """Return how many of each row are True, (n,): a product, which short rows are summed faster by."""
    return (mask @ np.ones(mask.shape[1], dtype=np.float32)).astype(np.int64)


def near_best(value: FloatArray, least: FloatArray) -> BoolArray:
    """Return who is worth at least so much, (n, J), from values (n, J) and the least (n,); nobody where that is nan.

    Who cannot be asked is worth -inf, and never among them.
    """
    with np.errstate(invalid="ignore"):
        alike: BoolArray = (value >= least[:, None]) & (value > -np.inf)
    return alike
