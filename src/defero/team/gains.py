"""Gains: what asking each expert once saves; and votes that know P(expert is right | x, y), as these gains do."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.class_skill import ClassSkill
from defero.core.errors import InputError
from defero.core.posterior import AnswerLaw
from defero.core.scores import Scores, logit, sigmoid
from defero.decide.costs import cost_of_answers
from defero.decide.rules import MostLikelyRight
from defero.decide.terms import TeamTerms
from defero.scorers.team import TeamScorer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from defero.team.team import Team

Voted = TypeVar("Voted", bound="DataclassInstance")

_NUMBERS_AT_ONCE = 20_000_000
"""Of P(right | x, y), which has n J K of them."""


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


def gains_of(team: "Team", features: Any, scores: Scores, terms: TeamTerms) -> Gains:
    """Return what asking each expert once saves, from features and scores at hand; see `Team.gains`.

    P(right) is that of the expert who is chosen, where that is calibrated.
    """
    if not isinstance(team.rule, MostLikelyRight):
        raise InputError(f"a team with the rule {team.rule.name!r} compares no costs: fit a team that does.")
    check_probabilities(scores)
    can, fee = terms.can_ask(len(scores)) & team.proven, terms.paid(len(scores))

    def of_part(rows: slice, part: Scores, skill: ClassSkill | None) -> Gains:
        label_idx, now = model_answer(part, terms)
        value = now[:, None] - _expert_costs(team, part, skill, terms) - fee[rows]
        return Gains(np.where(can[rows], value, -np.inf), now, label_idx)

    if terms.costs.symmetric:
        stopped = team.selection is not None and not team.selection.asks
        return replace(of_part(slice(None), scores, None), stopped=stopped)
    return vote_with_skill(team, features, scores, of_part)


def _expert_costs(team: "Team", scores: Scores, skill: ClassSkill | None, terms: TeamTerms) -> FloatArray:
    """Return the expected cost of each expert's own answer, (n, J), calibrated for the one who is chosen."""
    proba = scores.expert_proba
    if team.selection is not None:
        proba = team.selection.apply(scores)
        skill = None if skill is None else shifted(skill, scores.expert_proba, proba)
    law = AnswerLaw.of(proba, n_items=len(scores), n_experts=scores.n_experts, n_classes=scores.n_classes, skill=skill)
    return cost_of_answers(scores.class_proba, law, terms.costs)


def model_answer(scores: Scores, terms: TeamTerms) -> tuple[IntArray, FloatArray]:
    """Return the model's cheapest label and its expected cost, (n,) each."""
    costs = terms.costs
    if costs.symmetric:
        return scores.class_idx, costs.largest * (1 - scores.model_proba)
    of_labels = costs.of_labels(scores.class_proba)
    label_idx: IntArray = of_labels.argmin(axis=1)
    return label_idx, of_labels.min(axis=1)


def check_probabilities(scores: Scores) -> None:
    """Raise where scores are weights, which no cost can be expected from."""
    if scores.link == "weight":
        raise InputError("a mixture of experts' weights are no probabilities: it cannot compare costs.")


def vote_with_skill(
    team: "Team",
    features: Any,
    scores: Scores,
    vote: Callable[[slice, Scores, ClassSkill | None], Voted],
) -> Voted:
    """Return a vote that knows P(expert is right | x, y) where the team has heads that are told the class.

    Recalibration is of P(right | x): what it adds to an expert's log-odds is added to those of each class. The vote
    is taken on so many items at a time as memory allows.

    Parameters
    ----------
    team : Team
    features : (n, d)
    scores : Scores of n items
    vote : callable
        From which rows, their scores and the skill to their answers: a frozen value whose arrays have one row each.
    """
    scorer = team.scorer
    if not isinstance(scorer, TeamScorer) or scorer.class_heads is None or not len(scores):
        return vote(slice(None), scores, None)
    size = max(1, _NUMBERS_AT_ONCE // max(1, scores.n_experts * scores.n_classes))
    answers = []
    for start in range(0, len(scores), size):
        rows = slice(start, start + size)
        part, skill = scores.take(rows), scorer.class_skill(features[rows])
        if skill is not None and team.calibrator is not None:
            skill = shifted(skill, scorer.score(features[rows]).expert_proba, part.expert_proba)
        answers.append(vote(rows, part, skill))
    if len(answers) == 1:
        return answers[0]
    arrays = [one.name for one in fields(answers[0]) if isinstance(getattr(answers[0], one.name), np.ndarray)]
    whole = {name: np.concatenate([getattr(part, name) for part in answers]) for name in arrays}
    return replace(answers[0], **whole)


def shifted(skill: ClassSkill, before: FloatArray, after: FloatArray) -> ClassSkill:
    """Return P(right | x, y), moved in log-odds as P(right | x) was, from `before` to `after` (n, J)."""
    shift = logit(after) - logit(before)
    return replace(skill, right=sigmoid(logit(skill.right) + shift[:, :, None]))
