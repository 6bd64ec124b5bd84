"""Panel: whom to ask together, what is promised of them, and how their answers are put together."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.aggregation import bayes_vote, majority_vote, vote_discount, weighted_vote
from defero.conformal.predictor import ExpertSetPredictor
from defero.conformal.targets import Target
from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels
from defero.core.results import Answer, ExpertSets
from defero.core.scores import Scores

Vote = Literal["bayes", "weighted", "majority", "expert"]


@dataclass(frozen=True, eq=False)
class Panel:
    """How panels are chosen and heard.

    Attributes
    ----------
    predictor : ExpertSetPredictor
        Calibrated on deferred items.
    costs : (J,) fees at that time, or None
        The promise is for these.
    discount : (J,)
        How much each expert's vote counts beside others who err alike.
    """

    predictor: ExpertSetPredictor
    costs: tuple[float, ...] | None
    discount: FloatArray

    @classmethod
    def fit(
        cls,
        scores: Scores,
        deferred: BoolArray,
        label_idx: IntArray,
        answer_idx: IntArray,
        *,
        alpha: float,
        target: Target,
        costs: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> "Panel":
        """Calibrate on the deferred ones of n items; votes are discounted on all of them."""
        if scores.link == "weight":
            raise InputError("a mixture of experts' weights are no probabilities: it cannot be conformalised.")
        if costs is not None and np.ndim(costs) != 1:
            raise InputError("costs must be one fee per expert (J,) here: the promise is for those fees.")
        correct, observed = answer_idx == label_idx[:, None], answer_idx != MISSING
        predictor = ExpertSetPredictor(target=target, alpha=alpha).fit(
            scores.expert_proba[deferred],
            correct[deferred],
            observed=None if observed.all() else observed[deferred],
            groups=None if groups is None else np.asarray(groups)[deferred],
        )
        fees = None if costs is None else tuple(float(fee) for fee in np.asarray(costs))
        return cls(predictor, fees, vote_discount(answer_idx, label_idx, scores.expert_proba))

    def sets(
        self,
        scores: Scores,
        *,
        expert_names: tuple[str, ...],
        fill_empty: bool,
        costs: ArrayLike | None,
        available: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> ExpertSets:
        """Return whom to ask for each item; warns where the promise does not hold."""
        now = np.zeros(len(expert_names)) if costs is None else np.asarray(costs, dtype=np.float64)
        then = np.zeros(len(expert_names)) if self.costs is None else np.array(self.costs)
        why = [] if np.array_equal(now, then) else ["other fees than in conformalize"]
        if available is not None and not np.asarray(available).all():
            why.append("absent experts")
        if why:
            warnings.warn(
                f"the panel's promise does not hold with {' and '.join(why)}; conformalize anew.", stacklevel=4
            )
        return self.predictor.predict(
            scores.expert_proba, groups=groups, fill_empty=fill_empty, available=available, expert_names=expert_names
        )

    def vote(self, scores: Scores, answer_idx: IntArray, mask: BoolArray, *, classes: Labels, vote: Vote) -> Answer:
        """Put the answers of the experts in a mask (n, J) together; the model answers where there are none."""
        experts, model = scores.expert_proba, scores.class_proba
        if vote == "bayes":
            return bayes_vote(answer_idx, mask, experts, model, discount=self.discount, classes=classes)
        n_classes = len(classes)
        if vote == "weighted":
            return weighted_vote(
                answer_idx,
                mask,
                experts,
                n_classes=n_classes,
                class_proba=model,
                discount=self.discount,
                classes=classes,
            )
        if vote == "majority":
            return majority_vote(
                answer_idx, mask, n_classes=n_classes, expert_proba=experts, class_proba=model, classes=classes
            )
        raise InputError(f"vote must be one of bayes, weighted, majority, expert, got {vote!r}.")

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        costs = None if self.costs is None else list(self.costs)
        return {"predictor": self.predictor.settings(), "costs": costs, "discount": self.discount.tolist()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Panel":
        """Return the panel that `settings()` described."""
        costs = None if settings["costs"] is None else tuple(settings["costs"])
        predictor = ExpertSetPredictor.from_settings(settings["predictor"])
        return cls(predictor, costs, np.array(settings["discount"], dtype=np.float64))
