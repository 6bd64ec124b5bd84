"""Asking: what a question saves, the next step of each case, asking in turn, and a batch under limits."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.posterior import AnswerLaw, ClassSkill
from defero.core.results import MODEL, Answer, Assignment, InTurn, NextSteps
from defero.core.scores import Scores, logit, sigmoid
from defero.decide.asking import ask_in_turn, next_gains, next_step
from defero.decide.assigning.assign import assign
from defero.decide.assigning.limits import capacity_of
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
        raise InputError(f"a team with the rule {team.rule.kind!r} compares no costs: fit a team that does.")
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


Heard = TypeVar("Heard", bound=Answer)
DOES_NOT_PAY = "asking did not pay on held-out cases"


def settle_in_turn(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> InTurn:
    """Ask one expert after the other on recorded answers (n, J), as long as a question is worth its fee.

    Experts who err together count less, where the panel knows how much. Nobody is asked where asking did not pay on
    held-out cases, which was judged for errors that all cost the same.
    """
    can = terms.can_ask(len(scores)) & team.proven & (not terms.costs.symmetric or asks_in_turn(team))
    own = terms.spread(len(scores)).among(can)
    settled = vote_with_skill(
        team,
        features,
        scores,
        lambda rows, part, skill: ask_in_turn(
            answer_idx[rows],
            part.expert_proba,
            part.class_proba,
            terms=own.take(rows),
            skill=skill,
            discount=None if team.panel is None else team.panel.discount,
            classes=team.classes,
        ),
    )
    settled = as_kept(team, "sequential", settled)
    if not terms.costs.symmetric:
        return settled
    return replace(settled, expected_cost=terms.costs.largest * (1 - settled.confidence))


def asks_in_turn(team: "Team") -> bool:
    """Whether asking one after the other paid on held-out cases, or nothing is known of it."""
    verdict = None if team.panel is None else team.panel.verdicts.get("sequential")
    if verdict is not None:
        return verdict.asks
    return team.selection is None or team.selection.asks


def as_kept(team: "Team", way: str, said: Heard) -> Heard:
    """Return answers with the confidence that such labels have kept on held-out cases, where that is known."""
    verdict = None if team.panel is None else team.panel.verdicts.get(way)
    if verdict is None:
        return said
    return replace(said, confidence=verdict.apply(said.confidence, said.heard.sum(axis=1)))


def next_step_of(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> NextSteps:
    """Return the next step from features and scores at hand, and answers so far (n, J) as class numbers."""
    check_probabilities(scores)
    # Whether asking pays was judged for errors that all cost the same.
    stopped = terms.costs.symmetric and not asks_in_turn(team)
    own = terms.spread(len(scores)).among(terms.can_ask(len(scores)) & team.proven & (not stopped))
    steps = vote_with_skill(
        team,
        features,
        scores,
        lambda rows, part, skill: next_step(
            part.class_proba,
            part.expert_proba,
            answers=answer_idx[rows],
            terms=own.take(rows),
            skill=skill,
            discount=None if team.panel is None else team.panel.discount,
            classes=team.classes,
            expert_names=team.expert_names,
        ),
    )
    steps = replace(steps, why_not=DOES_NOT_PAY) if stopped else steps
    return _steps_as_kept(team, steps, (answer_idx != MISSING).sum(axis=1).astype(np.float64), terms)


def _steps_as_kept(team: "Team", steps: NextSteps, n_heard: FloatArray, terms: TeamTerms) -> NextSteps:
    """Return steps with the P(right) that such labels have kept on held-out cases, where that is known."""
    verdict = None if team.panel is None else team.panel.verdicts.get("sequential")
    if verdict is None:
        return steps
    p_right = verdict.apply(steps.p_right, n_heard)
    if not terms.costs.symmetric:
        return replace(steps, p_right=p_right)
    now = steps.ask == MODEL
    cost = terms.costs.largest * (1 - p_right)
    return replace(
        steps,
        p_right=p_right,
        answer_cost=np.where(now, cost, steps.answer_cost),
        expected_cost=np.where(now, cost, steps.expected_cost),
    )


def next_gains_of(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> Gains:
    """Return what each next question saves against answering now, given answers so far (n, J) as class numbers."""
    check_probabilities(scores)
    own = terms.spread(len(scores)).among(terms.can_ask(len(scores)) & team.proven)
    gains = vote_with_skill(
        team,
        features,
        scores,
        lambda rows, part, skill: Gains(
            *next_gains(
                part.class_proba,
                part.expert_proba,
                answer_idx[rows],
                terms=own.take(rows),
                skill=skill,
                discount=None if team.panel is None else team.panel.discount,
            )
        ),
    )
    return replace(gains, stopped=terms.costs.symmetric and not asks_in_turn(team))


def assign_gains(team: "Team", gains: Gains, terms: TeamTerms, *, method: str = "auto") -> Assignment:
    """Assign a batch whose gains are at hand; see `Team.assign`."""
    if gains.stopped:  # only what lower limits ask for
        lower, _ = capacity_of(terms.capacity, team.expert_names, n_items=len(gains.gain))
        terms = replace(terms, capacity=[(one, one) for one in lower.tolist()])
    batch = assign(
        gains.gain,
        terms=terms,
        answer_cost=gains.answer_cost,
        expert_names=team.expert_names,
        label=team.classes[gains.label_idx],
        method=method,
    )
    if gains.stopped:  # the limits of 0 are not the user's, so they have no price
        return replace(batch, prices=np.minimum(batch.prices, 0.0), limit=None, why_not=DOES_NOT_PAY)
    return batch
