"""The rules: one that is right (`MostLikelyRight`), and the baselines it is measured against."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.registry import Registry
from defero.core.results import MODEL


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
