"""Asking: in turn on recorded answers, the next step of each case, and a batch under limits."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.labels import MISSING
from defero.core.results import MODEL, Answer, Assignment, InTurn, Steps
from defero.core.scores import Scores
from defero.decide.asking import ask_in_turn, next_gains, next_step
from defero.decide.assigning.assign import assign
from defero.decide.assigning.limits import capacity_of
from defero.decide.terms import TeamTerms
from defero.team.gains import Gains, check_probabilities, vote_with_skill

if TYPE_CHECKING:
    from defero.team.team import Team

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


def next_step_of(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> Steps:
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


def _steps_as_kept(team: "Team", steps: Steps, n_heard: FloatArray, terms: TeamTerms) -> Steps:
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
