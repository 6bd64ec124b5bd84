"""Deciding: the model and the experts of each item are compared, and a rule chooses."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, fee_matrix
from defero.core.labels import Labels
from defero.core.results import MODEL, Decision
from defero.core.scores import Scores, sigmoid
from defero.decide.rules import MostLikelyRight, Rule, best_expert


class Comparison(NamedTuple):
    """What a decision on n items rests on, each (n,); the names are those of `Decision`."""

    expert: IntArray
    expected_cost: FloatArray
    model_value: FloatArray
    best_expert: IntArray
    best_value: FloatArray
    withheld: IntArray
    p_right: FloatArray

    @classmethod
    def joined(cls, blocks: Iterable["Comparison"], n_items: int) -> "Comparison":
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
    proven: BoolArray | None = None,
    chosen_log_odds: FloatArray | None = None,
    must_ask: BoolArray | None = None,
) -> Comparison:
    """Compare the model with the experts and let a rule choose.

    Parameters
    ----------
    scores, rule, expert_names, fees, available, proven
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
    sure = np.ones(scores.n_experts, dtype=np.bool_) if proven is None else proven
    seeks_best = chosen_log_odds is not None and fee is None  # of the best alone a probability is needed
    value = _values(scores, chosen_log_odds, seeks_best=seeks_best)
    value = value if fee is None else value - fee
    value = value if can is None else np.where(can, value, -np.inf)
    askable = value if sure.all() else np.where(sure, value, -np.inf)
    best, best_value = _best(askable, log_odds=seeks_best)
    if isinstance(rule, MostLikelyRight):
        expert = rule.of_best(scores.model_proba, best, best_value)
    else:
        expert = rule.choose(scores.model_proba, askable).astype(np.int64)
    if must_ask is not None:
        expert = np.where((expert == MODEL) & must_ask, best, expert)
    withheld = np.full(len(scores), MODEL)
    if not sure.all():
        doubtful, doubtful_value = _best(np.where(sure, -np.inf, value), log_odds=seeks_best)
        looked_better = doubtful_value >= np.maximum(scores.model_proba, best_value)
        withheld = np.where((doubtful != MODEL) & looked_better, doubtful, MODEL)
    of_expert = best_value if seeks_best else _of_expert(scores, expert, chosen_log_odds)
    p_right = np.where(expert == MODEL, scores.model_proba, of_expert)
    paid = 0.0 if fee is None or not fee.shape[1] else np.where(expert == MODEL, 0.0, _at(fee, expert))
    return Comparison(expert, 1 - p_right + paid, scores.model_proba, best, best_value, withheld, p_right)


def _values(scores: Scores, chosen_log_odds: FloatArray | None, *, seeks_best: bool) -> FloatArray:
    """Return what ranks the experts, (n, J): their probabilities, or log-odds where these will do."""
    if chosen_log_odds is None:
        return scores.expert_value
    return chosen_log_odds if seeks_best else sigmoid(chosen_log_odds)


def _best(value: FloatArray, *, log_odds: bool) -> tuple[IntArray, FloatArray]:
    """Return each item's best expert and their value, as `best_expert` does; of log-odds the value is a probability."""
    best, best_value = best_expert(value)
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
