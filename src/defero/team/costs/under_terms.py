"""Deciding under terms: who decides, in the user's unit of money, also where errors cost differently."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.posterior import at
from defero.core.results import MODEL, Decision
from defero.core.scores import Scores
from defero.decide.rules import best_expert
from defero.decide.terms import Terms
from defero.team.costs.assigning import Assigning, model_answer


def decide_under(
    team: Assigning,
    features: Any,
    scores: Scores,
    terms: Terms,
    *,
    available: ArrayLike | None = None,
    unusual: Labels | None = None,
    ask_unusual: bool = False,
) -> Decision:
    """Decide on scores at hand under fees and costs of errors; no new fit is needed.

    Where every error costs the same this is `decide` with the fees in units of one error. Else the expected costs of
    the model's cheapest label and of each expert's answer are compared.

    Returns
    -------
    Decision
        Its `expected_cost` is in money. Its `model_value` and `best_value` are 1 minus the expected cost in units of
        the dearest error, which is P(right) minus the fee where every error costs the same.
    """
    if terms.costs.symmetric:
        decision = team.decide_scores(
            scores, fees=terms.fees_in_errors, available=available, unusual=unusual, ask_unusual=ask_unusual
        )
        unit = terms.unit if terms.given else None
        return replace(decision, expected_cost=terms.unit * decision.expected_cost, unit=unit)
    gains = team.gains_of(features, scores, fees=terms.fees, cost_matrix=terms.costs.matrix, available=available)
    best, gain = best_expert(gains.gain)
    pays = gain >= 0  # whether asking pays at all was judged for errors that all cost the same
    marks = np.full(len(scores), "", dtype=object) if unusual is None else unusual
    expert = np.where((best != MODEL) & (pays | (ask_unusual & (marks != ""))), best, MODEL)
    is_asked, rows = expert != MODEL, np.arange(len(scores))
    model_value = 1 - gains.answer_cost / terms.unit
    p_right = at(scores.class_proba, gains.label_idx)
    if scores.n_experts:
        proba = scores.expert_proba if team.selection is None else team.selection.apply(scores)
        p_right = np.where(is_asked, proba[rows, expert], p_right)
    return Decision(
        expert=expert,
        expert_names=team.expert_names,
        expected_cost=gains.answer_cost - np.where(is_asked, gain, 0.0),
        model_value=model_value,
        best_expert=best,
        best_value=model_value + gain / terms.unit,
        withheld=np.full(len(scores), MODEL),
        p_right=p_right,
        unusual=marks,
        unit=terms.unit,
    )


def model_labels(scores: Scores, terms: Terms) -> IntArray:
    """Return the model's cheapest labels, (n,); its most likely classes where every error costs the same."""
    return model_answer(scores, terms.costs)[0]


def cost_of_labels(label_idx: IntArray, true_idx: IntArray, terms: Terms) -> FloatArray:
    """Return what labels cost, (n,), by the true classes."""
    cost: FloatArray = terms.costs.matrix[true_idx, label_idx]
    return cost
