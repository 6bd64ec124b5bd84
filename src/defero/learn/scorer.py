"""SkillScorer: a model of the classes, and the experts' skill by class; experts can join later."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.scores import Scores, logit
from defero.learn.skill import Skill, summed
from defero.scorers import AnyScorer, Scorer


@dataclass(frozen=True, eq=False)
class SkillScorer:
    """Scores of a base scorer for the classes and the experts it knows; the other experts have a skill.

    Attributes
    ----------
    base : Scorer
    skill : Skill
        Of the experts that the base does not know; of nobody yet, where it knows all. Its population is what is known
        of somebody new.
    n_own : int
        How many experts the base scores.
    order : (J,) int
        Which column of the base's experts and then the skill's each expert has.
    """

    kind: ClassVar[str] = "skill"
    base: AnyScorer
    skill: Skill
    n_own: Count
    order: Annotated[IntArray, Within(0)]

    def __post_init__(self) -> None:
        if isinstance(self.base, SkillScorer):
            raise InputError("must be a scorer that has no skill itself.", argument="base")
        object.__setattr__(self, "order", frozen(np.asarray(self.order, dtype=np.int64)))
        if len(self.order) and self.order.max() >= self.n_own + self.skill.n_experts:
            raise InputError(f"must name one of {self.n_own + self.skill.n_experts} experts.", argument="order")

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of n items, (n, d) features or what else the base takes."""
        if not (self.order >= self.n_own).any():
            scores, raw = self.base.score(features), None
        else:
            scores, seen = self._score_and_read(features)
            joined = self.raw_of(seen, scores.class_proba)
            raw = joined if scores.link == "logit" else -np.logaddexp(0.0, -joined)
        raw = scores.expert_raw if raw is None else np.hstack([scores.expert_raw, raw])
        if not np.array_equal(self.order, np.arange(raw.shape[1])):
            raw = raw.T[self.order].T if raw.flags.f_contiguous else raw[:, self.order]
        elif raw is scores.expert_raw:
            return scores
        return Scores.computed(scores.class_proba, scores.model_proba, raw, scores.link)

    def raw_of(self, features: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return the log-odds of P(right | x) of the experts with a skill, (n, J - n_own)."""
        return logit(summed(self.skill.right(features, class_proba), class_proba))

    def right_by_class(self, features: FloatArray) -> FloatArray:
        """Return P(expert j is right | x, y = k), (n, J, K): one number for all classes of the base's experts."""
        scores, seen = self._score_and_read(features)
        own = np.repeat(scores.expert_proba[:, :, None], scores.n_classes, axis=2)
        return np.concatenate([own, self.skill.right(seen, scores.class_proba)], axis=1)[:, self.order]

    def logit_posterior(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the middle and the standard deviation of each expert's log-odds of being right, (n, J) each.

        nan for the base's own experts.
        """
        scores, seen = self._score_and_read(features)
        sd = self.skill.logit_sd(seen, scores.class_proba)
        # The log-odds are m / sqrt(1 + pi s^2 / 8), of the mean probability; the posterior's middle is m.
        middle = self.raw_of(seen, scores.class_proba) * np.sqrt(1.0 + np.pi * sd**2 / 8.0)
        own = np.full((len(scores), scores.n_experts), np.nan)
        both = (np.hstack([own, one])[:, self.order] for one in (middle, sd))
        return next(both), next(both)

    def in_order(self, experts: IntArray) -> "SkillScorer":
        """Return the same experts in another order, the j-th being expert experts[j]."""
        return replace(self, order=self.order[experts])

    def with_expert(
        self, features: FloatArray, correct: ArrayLike, *, label_idx: IntArray, weight: ArrayLike | None = None
    ) -> "SkillScorer":
        """Return the scorer with one more expert at the end, of whom m answers to these (m, d) features are known."""
        scores, seen = self._score_and_read(features)
        if scores.link == "weight":
            raise InputError("the weights of a mixture of experts add up to 1, so no expert can join; fit again.")
        skill = self.skill.with_expert(seen, scores.class_proba, label_idx, correct, weight=weight)
        return replace(self, skill=skill, order=np.append(self.order, self.n_own + self.skill.n_experts))

    def after(self, items: Iterable[Any], label_idx: IntArray, answer_idx: IntArray) -> "SkillScorer":
        """Return the scorer once it has learned from the answers (n, J) of experts with a skill to n items.

        Each of the items is a batch of one.
        """
        read = ((seen, scores.class_proba) for scores, seen in map(self._score_and_read, items))
        item_idx, place = np.nonzero(answer_idx != MISSING)
        right = answer_idx[item_idx, place] == label_idx[item_idx]
        return replace(self, skill=self.skill.after(read, label_idx, item_idx, self.order[place] - self.n_own, right))

    def with_unknown(self) -> "SkillScorer":
        """Return the scorer with one more expert at the end, of whom nothing but the population is known."""
        order = np.append(self.order, self.n_own + self.skill.n_experts)
        return replace(self, skill=self.skill.with_unknown(), order=order)

    def without_expert(self, place: int) -> "SkillScorer":
        """Return the scorer without the expert at this place; the base keeps its own, unused."""
        gone = int(self.order[place])
        order = np.delete(self.order, place)
        if gone < self.n_own:
            return replace(self, order=order)
        stay = [j for j in range(self.skill.n_experts) if j != gone - self.n_own]
        return replace(self, skill=self.skill.take(stay), order=np.where(order > gone, order - 1, order))

    def _score_and_read(self, features: FloatArray) -> tuple[Scores, FloatArray]:
        """Return the base's scores, and the features (n, f) that the skill reads."""
        embedded = getattr(self.base, "score_with_embedding", None)
        if embedded is not None:  # what the last layer of a deep net reads: single pixels mean nothing
            scores, embedding = embedded(features)
            return scores, embedding
        scores = self.base.score(features)
        hidden = hidden_units(self.base, features)
        return scores, features if hidden is None else np.column_stack([features, hidden])


def hidden_units(scorer: Scorer, features: FloatArray) -> FloatArray | None:
    """Return the hidden units that a network's experts read, (n, h); None for scorers without any."""
    hidden = getattr(scorer, "hidden", None)
    if hidden is None:
        return None
    units: FloatArray = hidden(features)
    return units if units.shape[1] else None
