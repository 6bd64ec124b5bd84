"""A team: a model's scores, with experts whose heads are shrunk toward the population; experts can join later."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.posterior import ClassSkill
from defero.core.scores import Scores, logit, sigmoid
from defero.heads import ClassHeads, Heads, Lens, fit_head
from defero.scorers import AnyScorer, Scorer
from defero.scorers.trees import ExpertTrees


@dataclass(frozen=True, eq=False)
class TeamScorer:
    """Scores of a base scorer for the classes and the experts it knows; the other experts have heads.

    Attributes
    ----------
    base : Scorer
    lens : Lens
        Which features the heads read.
    heads : Heads
        With the population that they come from; of nobody yet, where the base knows every expert.
    n_own : int
        How many experts the base scores.
    order : (J,) int
        Which column of the base's experts and then the heads' each expert has.
    class_heads : ClassHeads, optional
        The same experts' heads given the class, for votes and with a share for P(right); None where the base scores
        experts itself.
    trees : ExpertTrees, optional
        Boosted trees of experts with many answers, combined with their heads.
    class_share : float from 0 to 1
        The log-odds of P(right | x) are (1 - share) times those of the heads and share times those of the class heads,
        summed over the classes.
    """

    kind: ClassVar[str] = "team"
    base: AnyScorer
    lens: Lens
    heads: Heads
    n_own: Count
    order: Annotated[IntArray, Within(0)]
    class_heads: ClassHeads | None = None
    trees: ExpertTrees | None = None
    class_share: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.base, TeamScorer):
            raise InputError("must be a scorer that is no team itself.", argument="base")
        if self.class_heads is not None and self.class_heads.heads.n_experts != self.heads.n_experts:
            raise InputError(f"must be of {self.heads.n_experts} experts.", argument="class_heads")
        if not 0.0 <= self.class_share <= 1.0 or (self.class_share and self.class_heads is None):
            raise InputError(
                f"must be from 0 to 1, and 0 without class heads, got {self.class_share}.", argument="class_share"
            )
        object.__setattr__(self, "order", frozen(np.asarray(self.order, dtype=np.int64)))

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of n items, (n, d) features or what else the base takes."""
        joined_later = bool((self.order >= self.n_own).any())
        scores, head_features = self._score_and_read(features) if joined_later else (self.base.score(features), None)
        raw = scores.expert_raw
        if head_features is not None:
            log_odds = self._log_odds(features, head_features, scores.class_proba)
            joined = log_odds if scores.link == "logit" else -np.logaddexp(0.0, -log_odds)
            raw = np.hstack([raw, joined])
        if not np.array_equal(self.order, np.arange(raw.shape[1])):
            raw = raw.T[self.order].T if raw.flags.f_contiguous else raw[:, self.order]
        elif raw is scores.expert_raw:
            return scores
        return Scores.computed(scores.class_proba, scores.model_proba, raw, scores.link)

    def _log_odds(self, features: FloatArray, head_features: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return the log-odds of the experts with heads, (n, J - n_own)."""
        log_odds = self._shared(
            self.heads.log_odds(head_features), lambda heads: heads.log_odds(head_features, class_proba)
        )
        return log_odds if self.trees is None else self.trees.log_odds(features, log_odds)

    def _shared(self, of_heads: FloatArray, of_class_heads: Callable[[ClassHeads], FloatArray]) -> FloatArray:
        """Return the weighted mean of a figure of the heads and of the class heads, (n, J - n_own)."""
        if self.class_heads is None or not self.class_share:
            return of_heads
        return (1 - self.class_share) * of_heads + self.class_share * of_class_heads(self.class_heads)

    def logit_posterior(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the middle and the standard deviation of each expert's log-odds of being right, (n, J) each.

        nan for the base's own experts, and for experts of whom trees alone speak. Of what trees add, no uncertainty is
        known.
        """
        scores, head_features = self._score_and_read(features)
        classes = scores.class_proba
        sd = self.heads.logit_sd(head_features)
        # Heads.log_odds is m / sqrt(1 + pi s^2 / 8), of the mean probability; the posterior's middle is m.
        middle = self.heads.log_odds(head_features) * np.sqrt(1.0 + np.pi * sd**2 / 8.0)
        middle = self._shared(middle, lambda heads: _middle(heads, head_features, classes))
        sd = self._shared(sd, lambda heads: heads.logit_sd(head_features, classes))
        if self.trees is not None:
            weight = self.trees.head_weights(self.heads.n_experts)
            middle = self.trees.log_odds(features, middle)
            sd = np.where(weight == 0, np.nan, np.abs(weight) * sd)
        own = np.full((len(scores), scores.n_experts), np.nan)
        both = (np.hstack([own, one])[:, self.order] for one in (middle, sd))
        return next(both), next(both)

    def class_skill(self, features: FloatArray) -> ClassSkill | None:
        """Return P(expert j is right | x, y = k) of n items, (n, J, K); None where there are no class heads."""
        if self.class_heads is None:
            return None
        scores, head_features = self._score_and_read(features)
        skill = self.class_heads.skill(head_features, scores.class_proba)
        right = skill.right
        if self.trees is not None:
            # What the trees add to an expert's log-odds is added to those of each class.
            log_odds = self._log_odds(features, head_features, scores.class_proba)
            shift = log_odds - logit(np.einsum("njk,nk->nj", right, scores.class_proba))
            right = sigmoid(logit(right) + shift[:, :, None])
        return ClassSkill(right[:, self.order - self.n_own], skill.errors)

    def with_expert(
        self,
        features: FloatArray,
        correct: ArrayLike,
        *,
        label_idx: IntArray | None = None,
        weight: ArrayLike | None = None,
    ) -> "TeamScorer":
        """Return the team with one more expert at the end, of whom m answers to these (m, d) features are known.

        The items' classes `label_idx` (m,) are needed where there are class heads.
        """
        scores, head_features = self._score_and_read(features)
        if scores.link == "weight":
            raise InputError("the weights of a mixture of experts add up to 1, so no expert can join; fit again.")
        head = fit_head(head_features, correct, self.heads.prior, weight=weight)
        place = self.n_own + self.heads.n_experts
        class_heads = self.class_heads
        if class_heads is not None:
            if label_idx is None:
                raise InputError("must be the class of each item, for the class heads; got None.", argument="label_idx")
            class_heads = class_heads.with_expert(head_features, scores.class_proba, label_idx, correct, weight=weight)
        order = np.append(self.order, place)
        return replace(self, heads=self.heads.with_head(head), order=order, class_heads=class_heads)

    def with_unknown(self) -> "TeamScorer":
        """Return the team with one more expert at the end, of whom nothing but the population is known."""
        prior = self.heads.prior
        head = fit_head(np.empty((0, prior.n_features)), [], prior)
        order = np.append(self.order, self.n_own + self.heads.n_experts)
        class_heads = None if self.class_heads is None else self.class_heads.with_unknown()
        return replace(self, heads=self.heads.with_head(head), order=order, class_heads=class_heads)

    def without_expert(self, place: int) -> "TeamScorer":
        """Return the team without the expert at this place; the base keeps its own, unused."""
        gone = int(self.order[place])
        order = np.delete(self.order, place)
        if gone < self.n_own:
            return replace(self, order=order)
        stay = [j for j in range(self.heads.n_experts) if j != gone - self.n_own]
        class_heads = None if self.class_heads is None else self.class_heads.take(stay)
        order = np.where(order > gone, order - 1, order)
        trees = None if self.trees is None else self.trees.without_head(gone - self.n_own)
        return replace(self, heads=self.heads.take(stay), order=order, class_heads=class_heads, trees=trees)

    def in_order(self, experts: IntArray) -> "TeamScorer":
        """Return the same experts in another order, the j-th being expert experts[j]."""
        return replace(self, order=self.order[experts])

    def _score_and_read(self, features: FloatArray) -> tuple[Scores, FloatArray]:
        """Return the base's scores, and the features (n, f) that the heads read."""
        embedded = getattr(self.base, "score_with_embedding", None)
        if embedded is None:
            scores = self.base.score(features)
            return scores, self.lens.transform(features, scores.class_proba, hidden_units(self.base, features))
        # The heads read what the last layer of a deep net reads: single pixels mean nothing.
        scores, embedding = embedded(features)
        return scores, self.lens.transform(embedding, scores.class_proba)


def _middle(heads: ClassHeads, phi: FloatArray, class_proba: FloatArray) -> FloatArray:
    """Return the middle of the posterior of the summed log-odds, as `Heads.log_odds` relates to it."""
    return heads.log_odds(phi, class_proba) * np.sqrt(1.0 + np.pi * heads.logit_sd(phi, class_proba) ** 2 / 8.0)


def hidden_units(scorer: Scorer, features: FloatArray) -> FloatArray | None:
    """Return the hidden units that a network's experts read, (n, h); None for scorers without any."""
    hidden = getattr(scorer, "hidden", None)
    if hidden is None:
        return None
    units: FloatArray = hidden(features)
    return units if units.shape[1] else None
