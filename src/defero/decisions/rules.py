"""The rules: one that is right (`MostLikelyRight`), and the baselines it is measured against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, fee_matrix
from defero.core.checks.options import one_of
from defero.core.labels import Labels
from defero.core.results import MODEL, Decision
from defero.core.scores import Scores


class Rule(Protocol):
    """Chooses between the model and the best expert of each item."""

    name: ClassVar[str]

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return (n,): -1 for the model, else an expert. `expert_value` is -inf for those who cannot be asked."""
        ...


@dataclass(frozen=True)
class MostLikelyRight:
    """The model answers unless some expert is worth at least as much (Eq. 7 of the paper, ties included)."""

    name: ClassVar[str] = "most-likely-right"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Ask the best expert where they are worth at least as much as the model."""
        best, value = best_expert(expert_value)
        return np.where((best != MODEL) & (value >= model_value), best, MODEL)


@dataclass(frozen=True)
class NeverAsk:
    """The model answers everything."""

    name: ClassVar[str] = "never-ask"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return the model for each item."""
        return np.full(len(model_value), MODEL)


@dataclass(frozen=True)
class AlwaysAskBest:
    """The best expert who can be asked answers everything."""

    name: ClassVar[str] = "always-ask-best"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Return the best expert of each item; the model where nobody can be asked."""
        return best_expert(expert_value)[0]


@dataclass(frozen=True)
class AskAtRandom:
    """A share of the items, drawn at random, goes to an expert drawn at random among those who can be asked."""

    share: float = 1.0
    seed: int = 0
    name: ClassVar[str] = "ask-at-random"

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
    name: ClassVar[str] = "ask-below-threshold"

    def choose(self, model_value: FloatArray, expert_value: FloatArray) -> IntArray:
        """Compare the model's own confidence with the threshold."""
        return np.where(model_value < self.threshold, best_expert(expert_value)[0], MODEL)


_RULES: dict[str, type[Any]] = {
    rule.name: rule for rule in (MostLikelyRight, NeverAsk, AlwaysAskBest, AskAtRandom, AskBelowThreshold)
}


def rule_settings(rule: Rule) -> dict[str, Any]:
    """Return what model.json keeps of a rule."""
    return {"name": rule.name, **vars(rule)}


def rule_from_settings(settings: Mapping[str, Any]) -> Rule:
    """Build the rule that `rule_settings` described.

    >>> rule_from_settings({"name": "ask-below-threshold", "threshold": 0.8})
    AskBelowThreshold(threshold=0.8)
    """
    options = {key: value for key, value in settings.items() if key != "name"}
    one_of("rule", settings.get("name"), _RULES)
    rule: Rule = _RULES[settings["name"]](**options)
    return rule


def best_expert(expert_value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return each item's best expert and their value; -1 and -inf where nobody can be asked. The first wins a tie."""
    if expert_value.shape[1] == 0:
        return np.full(len(expert_value), MODEL), np.full(len(expert_value), -np.inf)
    best = expert_value.argmax(axis=1)
    value = np.take_along_axis(expert_value, best[:, None], axis=1)[:, 0]
    return np.where(np.isfinite(value), best, MODEL), value


def decide(
    scores: Scores,
    rule: Rule,
    *,
    expert_names: tuple[str, ...],
    fees: ArrayLike | None = None,
    available: ArrayLike | None = None,
    proven: BoolArray | None = None,
    chosen_proba: FloatArray | None = None,
    unusual: Labels | None = None,
    ask_unusual: bool = False,
) -> Decision:
    """Apply a rule to scores, fees and absences.

    Parameters
    ----------
    scores : Scores of n items
    rule : Rule
    expert_names : J names
    fees : (J,) or (n, J), optional
        What asking costs, in units of one error.
    available : (J,) or (n, J) bool, optional
        Who can be asked.
    proven : (J,) bool, optional
        Who has given enough answers to be asked alone.
    chosen_proba : (n, J), optional
        P(expert j is right, should they be chosen); by default that of the scores.
    unusual : (n,) texts, optional
        As in `Decision`.
    ask_unusual : bool
        Give an unusual case to the best expert who can be asked, even where the rule gives it to the model.

    Examples
    --------
    >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]])
    >>> decide(scores, MostLikelyRight(), expert_names=("ann",)).name.tolist()
    ['model', 'ann']
    >>> decide(scores, MostLikelyRight(), expert_names=("ann",), fees=[0.4]).name.tolist()
    ['model', 'model']
    """
    shape = {"n_items": len(scores), "n_experts": scores.n_experts}
    fee = fee_matrix(fees, **shape, expert_names=expert_names)
    can = availability(available, **shape)
    sure = np.ones(scores.n_experts, dtype=np.bool_) if proven is None else proven
    worth = scores.expert_value if chosen_proba is None else chosen_proba
    value = np.where(can, worth - fee, -np.inf)
    askable = np.where(sure, value, -np.inf)
    expert = rule.choose(scores.model_proba, askable).astype(np.int64)
    best, best_value = best_expert(askable)
    marks = np.full(len(scores), "", dtype=object) if unusual is None else unusual
    if ask_unusual:
        expert = np.where((expert == MODEL) & (marks != ""), best, expert)
    doubtful, doubtful_value = best_expert(np.where(sure, -np.inf, value))
    looked_better = doubtful_value >= np.maximum(scores.model_proba, best_value)
    rows = np.arange(len(scores))
    p_right = scores.model_proba
    fees_paid: FloatArray | float = 0.0
    if scores.n_experts:
        of_expert = (scores.expert_proba if chosen_proba is None else chosen_proba)[rows, expert]
        p_right = np.where(expert == MODEL, p_right, of_expert)
        fees_paid = np.where(expert == MODEL, 0.0, fee[rows, expert])
    return Decision(
        expert=expert,
        expert_names=expert_names,
        expected_cost=1 - p_right + fees_paid,
        model_value=scores.model_proba,
        best_expert=best,
        best_value=best_value,
        withheld=np.where((doubtful != MODEL) & looked_better, doubtful, MODEL),
        p_right=p_right,
        unusual=marks,
    )
