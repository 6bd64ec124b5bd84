"""Asking under costs: the next step of each case."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, availability, by_name, fee_matrix, price_matrix
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.results import MODEL, Steps
from defero.core.scores import Scores
from defero.decide.asking import next_step
from defero.decide.costs import ErrorCosts, in_class_order
from defero.team.deciding import DOES_NOT_PAY, Deciding
from defero.team.voting import vote_with_skill


class Asking(Deciding):
    """A team that asks while it pays, under fees and error costs, without a new fit."""

    def next_step(
        self,
        X: Any = None,
        *,
        answers: object = None,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        capacity_prices: ArrayLike | None = None,
    ) -> Steps:
        """Say for each case whom to ask next, or what to answer now.

        Ask, add the answers, and call it again, until every case is answered. Recorded answers that are asked for in
        this way lead to the labels of `answer(vote="sequential")`.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        answers : (n, J), DataFrame or {name: n answers}, optional
            Answers so far; missing where nobody was asked.
        fees : (J,), (n, J) or {name: fee}, optional
            What a question costs, in the unit of the error costs. By default 0.01 of the dearest error.
        error_cost : float
            What any error costs; ignored where `cost_matrix` is given.
        cost_matrix : (K, K), DataFrame or {truth: {answer: cost}}, optional
            What it costs to answer a class (column) where another one is true (row). An array is in the order of
            `classes`; names may stand in any order.
        available : (J,) or (n, J) bool, or {name: bool}, optional
            Who can be asked.
        capacity_prices : (J,) or {name: price}, optional
            Charged beyond the fees where somebody's time is scarce: `Assignment.prices`.

        Returns
        -------
        Steps
            `p_right` is how often such labels were right on held-out cases, where that is known.

        Examples
        --------
        >>> from defero import Team
        >>> team = Team.from_probabilities([[0.5, 0.5], [0.9, 0.1]], [[0.8], [0.8]], expert_names=["ann"])
        >>> team.next_step(fees=[2.5], error_cost=40).reason
        ['ask ann: 10.500 expected, 20.000 if answered now',
         'answer now: 4.000 expected, no question is worth its fee']
        """
        features = self.features(X)
        scores = self.score_features(features)
        answer_idx = np.full((len(scores), scores.n_experts), MISSING)
        if answers is not None:
            answer_idx = self.answer_numbers(answers, n_items=len(scores), name="answers")
        return self.next_step_of(
            features,
            scores,
            answer_idx,
            fees=fees,
            error_cost=error_cost,
            cost_matrix=cost_matrix,
            available=available,
            capacity_prices=capacity_prices,
        )

    def next_step_of(
        self,
        features: Any,
        scores: Scores,
        answer_idx: IntArray,
        *,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        capacity_prices: ArrayLike | None = None,
    ) -> Steps:
        """Return the next step from features and scores at hand, and answers so far (n, J) as class numbers."""
        fees, available = self._terms(fees, available)
        cost_matrix = in_class_order(cost_matrix, self.classes)
        prices = by_name("capacity_prices", capacity_prices, self.expert_names, default=0.0)
        scores = self._probabilities(scores)
        shape = {"n_items": len(scores), "n_experts": scores.n_experts}
        costs = ErrorCosts.of(cost_matrix, n_classes=scores.n_classes, error_cost=error_cost)
        # Whether asking pays was judged for errors that all cost the same.
        stopped = costs.symmetric and not self.asks_in_turn
        can_ask = availability(available, **shape) & self.proven & (not stopped)
        fee = None if fees is None else fee_matrix(fees, **shape, expert_names=self.expert_names)
        charge = price_matrix("capacity_prices", prices, **shape)
        steps = vote_with_skill(
            self.scorer,
            self.calibrator,
            features,
            scores,
            lambda rows, part, skill: next_step(
                part.class_proba,
                part.expert_proba,
                answers=answer_idx[rows],
                fees=None if fee is None else fee[rows],
                prices=charge[rows],
                error_cost=error_cost,
                cost_matrix=cost_matrix,
                available=can_ask[rows],
                skill=skill,
                discount=None if self.panel is None else self.panel.discount,
                classes=self.classes,
                expert_names=self.expert_names,
            ),
        )
        steps = replace(steps, why_not=DOES_NOT_PAY) if stopped else steps
        return self._steps_as_kept(steps, (answer_idx != MISSING).sum(axis=1).astype(np.float64), costs)

    def _steps_as_kept(self, steps: Steps, n_heard: FloatArray, costs: ErrorCosts) -> Steps:
        """Return steps with the P(right) that such labels have kept on held-out cases, where that is known."""
        verdict = None if self.panel is None else self.panel.verdicts.get("sequential")
        if verdict is None:
            return steps
        p_right = verdict.apply(steps.p_right, n_heard)
        if not costs.symmetric:
            return replace(steps, p_right=p_right)
        now = steps.ask == MODEL
        cost = costs.largest * (1 - p_right)
        return replace(
            steps,
            p_right=p_right,
            answer_cost=np.where(now, cost, steps.answer_cost),
            expected_cost=np.where(now, cost, steps.expected_cost),
        )

    def _probabilities(self, scores: Scores) -> Scores:
        if scores.link == "weight":
            raise InputError("a mixture of experts' weights are no probabilities: it cannot compare costs.")
        return scores
