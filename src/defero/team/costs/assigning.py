"""Gains of questions, and who answers each case of a batch under limits."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, availability, fee_matrix
from defero.core.errors import InputError
from defero.core.posterior import AnswerLaw, ClassSkill
from defero.core.results import Assignment
from defero.core.scores import Scores, logit, sigmoid
from defero.decide.asking import next_gains
from defero.decide.assigning.assign import assign
from defero.decide.assigning.limits import Capacity, capacity_of
from defero.decide.costs import ErrorCosts, cost_of_answers, in_class_order
from defero.decide.rules import MostLikelyRight
from defero.team.costs.asking import Asking
from defero.team.deciding import DOES_NOT_PAY
from defero.team.voting import vote_with_skill


@dataclass(frozen=True, eq=False)
class Gains:
    """What asking each expert once saves against the model's answer.

    Attributes
    ----------
    gain : (n, J)
        In the unit of the costs, fees counted, where the expert's answer is final; -inf where they cannot be asked.
    answer_cost : (n,)
        Expected cost of the model's answer.
    label_idx : (n,) int
        The model's cheapest label.
    stopped : bool
        Whether asking lost on held-out cases; that is judged for errors that all cost the same.
    """

    gain: FloatArray
    answer_cost: FloatArray
    label_idx: IntArray
    stopped: bool = False


class Assigning(Asking):
    """A team that assigns a batch under capacity, a largest share of questions and a budget, without a new fit."""

    def assign(
        self,
        X: Any = None,
        *,
        capacity: Capacity | None = None,
        budget: float | None = None,
        defer_at_most: float | None = None,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        method: str = "auto",
    ) -> Assignment:
        """Choose who answers each case of a batch, the model or one expert, so that no limit is exceeded.

        Without limits this is `decide` in your unit of cost. A panel's promise does not hold with limits, which decide
        who is deferred.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        capacity : {name: most}, {name: (fewest, most)}, optional
            Limits on the questions of each expert.
        budget : float, optional
            The most that all questions may cost in total.
        defer_at_most : float, optional
            Largest share of the cases that experts may be asked about.
        fees, error_cost, cost_matrix, available
            As in `next_step`, but questions are free by default. Of an expert the cost of their own answer counts.
        method : "auto", "exact" or "prices"
            As in `defero.decide.assign`.

        Returns
        -------
        Assignment

        Examples
        --------
        >>> from defero import Team
        >>> team = Team.from_probabilities([[0.5, 0.5], [0.6, 0.4]], [[0.9], [0.9]], expert_names=["ann"])
        >>> batch = team.assign(capacity={"ann": 1}, error_cost=40)
        >>> batch.name.tolist(), batch.sentences()
        (['ann', 'model'], ['One more question to ann would save 12.00.'])
        """
        fees, available = self._terms(fees, available)
        features = self.features(X)
        gains = self.gains_of(
            features,
            self.score_features(features),
            fees=fees,
            error_cost=error_cost,
            cost_matrix=cost_matrix,
            available=available,
        )
        return self.assign_gains(
            gains, capacity=capacity, budget=budget, defer_at_most=defer_at_most, fees=fees, method=method
        )

    def assign_gains(
        self,
        gains: Gains,
        *,
        capacity: Capacity | None = None,
        budget: float | None = None,
        defer_at_most: float | None = None,
        fees: ArrayLike | None = None,
        method: str = "auto",
    ) -> Assignment:
        """Assign a batch whose gains are at hand."""
        if gains.stopped:  # only what lower limits ask for
            lower, _ = capacity_of(capacity, self.expert_names, n_items=len(gains.gain))
            capacity = [(one, one) for one in lower.tolist()]
        batch = assign(
            gains.gain,
            capacity=capacity,
            defer_at_most=defer_at_most,
            budget=budget,
            fees=fees,
            answer_cost=gains.answer_cost,
            expert_names=self.expert_names,
            label=self.classes[gains.label_idx],
            method=method,
        )
        if gains.stopped:  # the limits of 0 are not the user's, so they have no price
            return replace(batch, prices=np.minimum(batch.prices, 0.0), limit=None, why_not=DOES_NOT_PAY)
        return batch

    def gains(
        self,
        X: Any = None,
        *,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
    ) -> Gains:
        """Return what asking each expert once saves against the model's answer, as `assign` weighs it.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fees, error_cost, cost_matrix, available
            As in `assign`.

        Examples
        --------
        >>> from defero import Team
        >>> team = Team.from_probabilities([[0.5, 0.5]], [[0.9, 0.8]], expert_names=["ann", "bob"])
        >>> team.gains(fees={"ann": 3.0}, error_cost=40).gain.round(3).tolist()
        [[13.0, 12.0]]
        """
        fees, available = self._terms(fees, available)
        features = self.features(X)
        return self.gains_of(
            features,
            self.score_features(features),
            fees=fees,
            error_cost=error_cost,
            cost_matrix=cost_matrix,
            available=available,
        )

    def gains_of(
        self,
        features: Any,
        scores: Scores,
        *,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
    ) -> Gains:
        """Return what asking each expert once saves, from features and scores at hand.

        P(right) is that of the expert who is chosen, where that is calibrated.
        """
        if not isinstance(self.rule, MostLikelyRight):
            raise InputError(f"a team with the rule {self.rule.kind!r} compares no costs: fit a team that does.")
        scores = self._probabilities(scores)
        shape = {"n_items": len(scores), "n_experts": scores.n_experts}
        matrix = in_class_order(cost_matrix, self.classes)
        costs = ErrorCosts.of(matrix, n_classes=scores.n_classes, error_cost=error_cost)
        can, fee = (
            availability(available, **shape) & self.proven,
            fee_matrix(fees, **shape, expert_names=self.expert_names),
        )

        def of_part(rows: slice, part: Scores, skill: ClassSkill | None) -> Gains:
            label_idx, now = model_answer(part, costs)
            value = now[:, None] - self._expert_costs(part, skill, costs) - fee[rows]
            return Gains(np.where(can[rows], value, -np.inf), now, label_idx)

        if costs.symmetric:
            stopped = self.selection is not None and not self.selection.asks
            return replace(of_part(slice(None), scores, None), stopped=stopped)
        return vote_with_skill(self.scorer, self.calibrator, features, scores, of_part)

    def next_gains_of(
        self,
        features: Any,
        scores: Scores,
        answer_idx: IntArray,
        *,
        fees: ArrayLike | None = None,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
    ) -> Gains:
        """Return what each next question saves against answering now, given answers so far (n, J) as class numbers."""
        scores = self._probabilities(scores)
        shape = {"n_items": len(scores), "n_experts": scores.n_experts}
        costs = ErrorCosts.of(in_class_order(cost_matrix, self.classes), n_classes=scores.n_classes)
        can = availability(available, **shape) & self.proven
        fee = None if fees is None else fee_matrix(fees, **shape, expert_names=self.expert_names)
        gains = vote_with_skill(
            self.scorer,
            self.calibrator,
            features,
            scores,
            lambda rows, part, skill: Gains(
                *next_gains(
                    part.class_proba,
                    part.expert_proba,
                    answer_idx[rows],
                    fees=None if fee is None else fee[rows],
                    costs=costs,
                    available=can[rows],
                    skill=skill,
                    discount=None if self.panel is None else self.panel.discount,
                )
            ),
        )
        return replace(gains, stopped=costs.symmetric and not self.asks_in_turn)

    def _expert_costs(self, scores: Scores, skill: ClassSkill | None, costs: ErrorCosts) -> FloatArray:
        """Return the expected cost of each expert's own answer, (n, J), calibrated for the one who is chosen."""
        proba = scores.expert_proba
        if self.selection is not None:
            proba = self.selection.apply(scores)
            if skill is not None:
                shift = logit(proba) - logit(scores.expert_proba)
                skill = replace(skill, right=sigmoid(logit(skill.right) + shift[:, :, None]))
        law = AnswerLaw.of(
            proba,
            n_items=len(scores),
            n_experts=scores.n_experts,
            n_classes=scores.n_classes,
            skill=skill,
        )
        return cost_of_answers(scores.class_proba, law, costs)


def model_answer(scores: Scores, costs: ErrorCosts) -> tuple[IntArray, FloatArray]:
    """Return the model's cheapest label and its expected cost, (n,) each."""
    if costs.symmetric:
        return scores.class_idx, costs.largest * (1 - scores.model_proba)
    of_labels = costs.of_labels(scores.class_proba)
    label_idx: IntArray = of_labels.argmin(axis=1)
    return label_idx, of_labels.min(axis=1)
