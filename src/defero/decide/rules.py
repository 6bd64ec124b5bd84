"""The rules, one that is right (`MostLikelyRight`) and baselines, and the comparison that they settle."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, fee_matrix
from defero.core.labels import Labels
from defero.core.registry import Registry
from defero.core.results import MODEL, Decision
from defero.core.scores import Scores, sigmoid


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
    ) -> Decision:
        """Return the decision; `unusual`, `why_not` and `unit` are as in `Decision`."""
        nothing = np.broadcast_to(np.array("", dtype=object), self.expert.shape)  # one text: no memory for each item
        marks = nothing if unusual is None else unusual
        own = self if unit is None else self._replace(expected_cost=unit * self.expected_cost)
        for array in own:  # fresh ones: they need not be copied
            array.flags.writeable = False
        return Decision(**own._asdict(), expert_names=expert_names, unusual=marks, why_not=why_not, unit=unit)


def compare(
    scores: Scores,
    rule: Rule,
    *,
    expert_names: tuple[str, ...],
    fees: ArrayLike | None = None,
    available: ArrayLike | None = None,
    chosen_log_odds: FloatArray | None = None,
    must_ask: BoolArray | None = None,
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
    """
    shape = {"n_items": len(scores), "n_experts": scores.n_experts}
    fee = None if fees is None else fee_matrix(fees, **shape, expert_names=expert_names)
    can = None if available is None else availability(available, **shape)
    seeks_best = chosen_log_odds is not None and fee is None  # of the best alone a probability is needed
    value = _values(scores, chosen_log_odds, seeks_best=seeks_best)
    value = value if fee is None else value - fee
    value = value if can is None else np.where(can, value, -np.inf)
    by_name = np.argsort(expert_names, kind="stable")
    best, best_value = _best(value, log_odds=seeks_best, by_name=by_name)
    if isinstance(rule, MostLikelyRight):
        expert = rule.of_best(scores.model_proba, best, best_value)
    else:
        expert = rule.choose(scores.model_proba, value).astype(np.int64)
    if must_ask is not None:
        expert = np.where((expert == MODEL) & must_ask, best, expert)
    of_expert = best_value if seeks_best else _of_expert(scores, expert, chosen_log_odds)
    p_right = np.where(expert == MODEL, scores.model_proba, of_expert)
    paid = 0.0 if fee is None or not fee.shape[1] else np.where(expert == MODEL, 0.0, _at(fee, expert))
    return Grounds(expert, 1 - p_right + paid, scores.model_proba, best, best_value, p_right)


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
