"""Asking: what a question saves, the next step of each case, asking in turn, and a batch under limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.core.belief import at, belief_of, belief_when_asked
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING
from defero.core.law import Law
from defero.core.results import MODEL, Assignment, InTurn, NextSteps
from defero.core.scores import Scores, logit, sigmoid
from defero.decide.asking import ask_in_turn, next_gains, next_step
from defero.decide.assigning.assign import assign
from defero.decide.assigning.limits import capacity_of
from defero.decide.cascade import cascade_step, check_marks, heard_marks
from defero.decide.costs import cost_of_answers
from defero.decide.rules import MostLikelyRight
from defero.decide.terms import TeamTerms
from defero.learn.scorer import SkillScorer

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
    terms = with_prices(team, features, terms)
    can = terms.can_ask(len(scores))
    fee = np.zeros(can.shape) if terms.by_score else terms.paid(len(scores))

    def of_part(rows: slice, part: Scores, right: FloatArray | None) -> Gains:
        label_idx, now = model_answer(part, terms)
        value = now[:, None] - _expert_costs(team, part, right, terms) - fee[rows]
        return Gains(np.where(can[rows], value, -np.inf), now, label_idx)

    if terms.costs.symmetric:  # P(right) is enough
        stopped = team.selection is not None and not team.selection.asks
        return replace(of_part(slice(None), scores, None), stopped=stopped)
    return by_pieces(team, features, scores, of_part)


def _expert_costs(team: "Team", scores: Scores, right: FloatArray | None, terms: TeamTerms) -> FloatArray:
    """Return the expected cost of each expert's own answer, (n, J), calibrated for the one who is chosen."""
    proba = scores.expert_proba
    if team.selection is not None:
        proba = team.selection.apply(scores)
        right = None if right is None else shifted(right, scores.expert_proba, proba)
    if not scores.n_classes:
        return terms.costs.largest * (1 - proba)
    nothing = np.full(proba.shape, MISSING)
    return cost_of_answers(belief_of(law_of(team), scores.class_proba, proba, nothing, right), terms.costs)


def model_answer(scores: Scores, terms: TeamTerms) -> tuple[IntArray, FloatArray]:
    """Return the model's cheapest label and its expected cost, (n,) each."""
    costs = terms.costs
    if costs.symmetric:
        return scores.class_idx, costs.largest * (1 - scores.model_proba)
    of_labels = costs.of_labels(scores.class_proba)
    label_idx: IntArray = of_labels.argmin(axis=1)
    return label_idx, of_labels.min(axis=1)


def proba_of_label(scores: Scores, label_idx: IntArray) -> FloatArray:
    """Return P(the model's label is right), (n,): the model's own where that is its most likely class."""
    return np.where(label_idx == scores.class_idx, scores.model_proba, at(scores.class_proba, label_idx))


def with_prices(team: "Team", features: Any, terms: TeamTerms) -> TeamTerms:
    """Return terms with the prices that `fit` learned where no fee is given."""
    if terms.fees is not None and not np.isnan(terms.fees).any():
        return terms
    return terms.priced(None if team.prices is None else team.prices.of(features))


def check_probabilities(scores: Scores) -> None:
    """Raise where scores are weights, which no cost can be expected from."""
    if scores.link == "weight":
        raise InputError("a mixture of experts' weights are no probabilities: it cannot compare costs.")


def law_of(team: "Team") -> Law:
    """Return the law of the team's answers."""
    return Law.independent(len(team.classes)) if team.law is None else team.law


def by_pieces(
    team: "Team",
    features: Any,
    scores: Scores,
    work: Callable[[slice, Scores, FloatArray | None], Voted],
) -> Voted:
    """Return what some work gives that reads P(expert is right | x, y), (n, J, K), where the team knows it.

    Recalibration is of P(right | x): what it adds to an expert's log-odds is added to those of each class. The work
    is done on so many items at a time as memory allows.

    Parameters
    ----------
    team : Team
    features : (n, d)
    scores : Scores of n items
    work : callable
        Takes the rows, their scores, and P(right | x, y) or None.
    """
    scorer = team.scorer
    if not isinstance(scorer, SkillScorer) or scores.link == "weight" or not len(scores):
        return work(slice(None), scores, None)
    size = max(1, _NUMBERS_AT_ONCE // max(1, scores.n_experts * scores.n_classes))
    results = []
    for start in range(0, len(scores), size):
        rows = slice(start, start + size)
        part = scores.take(rows)
        right = scorer.right_by_class(features[rows])
        if team.calibrator is not None:
            right = shifted(right, scorer.score(features[rows]).expert_proba, part.expert_proba)
        results.append(work(rows, part, right))
    return joined(results)


def joined(parts: Sequence[Voted]) -> Voted:
    """Return the results of pieces as one: their arrays one after the other, all else as in the first."""
    if len(parts) == 1:
        return parts[0]
    arrays = [one.name for one in fields(parts[0]) if isinstance(getattr(parts[0], one.name), np.ndarray)]
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays}
    return replace(parts[0], **whole)


def shifted(right: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """Return P(right | x, y), (n, J, K), moved in log-odds as P(right | x) was, from `before` to `after` (n, J)."""
    return sigmoid(logit(right) + (logit(after) - logit(before))[:, :, None])


DOES_NOT_PAY = "asking did not pay on held-out cases"


def settle_in_turn(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> InTurn:
    """Ask one expert after the other on recorded answers (n, J), as long as a question is worth its fee.

    Nobody is asked where asking did not pay on held-out cases.
    """
    terms = with_prices(team, features, terms).spread(len(scores))
    own = terms.among(terms.can_ask(len(scores)) & asks_in_turn(team, terms))
    return by_pieces(
        team,
        features,
        scores,
        lambda rows, part, right: ask_in_turn(
            answer_idx[rows],
            part.expert_proba,
            part.class_proba,
            terms=own.take(rows),
            law=law_of(team),
            right=right,
            classes=team.classes,
        ),
    )


def asks_in_turn(team: "Team", terms: TeamTerms) -> bool:
    """Whether asking one after the other paid on held-out cases, or nothing is known of it.

    That is judged for errors that all cost the same.
    """
    return team.selection is None or team.selection.asks_several or not terms.costs.symmetric


def next_step_of(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> NextSteps:
    """Return the next step from features and scores at hand, and answers so far (n, J) as class numbers."""
    check_probabilities(scores)
    terms = with_prices(team, features, terms).spread(len(scores))
    stopped = not asks_in_turn(team, terms)
    own = terms.among(terms.can_ask(len(scores)) & (not stopped))
    steps = by_pieces(
        team,
        features,
        scores,
        lambda rows, part, right: next_step(
            part.class_proba,
            part.expert_proba,
            answers=answer_idx[rows],
            terms=own.take(rows),
            law=law_of(team),
            right=right,
            classes=team.classes,
            expert_names=team.expert_names,
        ),
    )
    return replace(steps, why_not=DOES_NOT_PAY) if stopped else steps


def next_gains_of(team: "Team", features: Any, scores: Scores, answer_idx: IntArray, terms: TeamTerms) -> Gains:
    """Return what each next question saves against answering now, given answers so far (n, J) as class numbers."""
    check_probabilities(scores)
    terms = with_prices(team, features, terms).spread(len(scores))

    def of_part(rows: slice, part: Scores, right: FloatArray | None) -> Gains:
        heard = belief_when_asked(law_of(team), part.class_proba, part.expert_proba, answer_idx[rows], right)
        return Gains(*next_gains(heard, terms.take(rows)))

    return replace(by_pieces(team, features, scores, of_part), stopped=not asks_in_turn(team, terms))


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
        label=None if team.scored_only else team.classes[gains.label_idx],
        method=method,
        ask_all=team.scored_only,
    )
    if gains.stopped:  # the limits of 0 are not the user's, so they have no price
        return replace(batch, prices=np.minimum(batch.prices, 0.0), limit=None, why_not=DOES_NOT_PAY)
    return batch


def cascade_of(team: "Team", features: Any, scores: Scores, marks: Any, asked: Any, terms: TeamTerms) -> NextSteps:
    """Return the next step where an answer stands as it is: by a judge's marks, or after one question without a judge.

    Members are the experts, and then the model if there is one.
    """
    from defero.team.deciding import decide_scored, members_of

    terms, marking = with_prices(team, features, terms), terms.marking
    if marking is not None and terms.by_score:
        raise InputError(f"needs {Argument('error_cost')}: a mark is paid for while that pays.", argument="judge")
    if marking is not None and terms.matrix is not None:
        raise InputError(
            f"and {Argument('cost_matrix')} exclude each other: a mark says that an answer is wrong, not which error "
            f"it is. Pass {Argument('error_cost')}.",
            argument="judge",
        )
    members = members_of(team, scores, terms, scores.expert_proba)
    marked, answered = check_marks(marks, asked, members.proba.shape, members.names)
    unit = terms.unit
    if marking is None:
        ask = np.where(answered.any(axis=1), MODEL, decide_scored(team, features, scores, terms).expert)
        stands = np.where(answered.any(axis=1), np.where(answered, members.proba, -1.0).argmax(axis=1), MODEL)
        rows = np.arange(len(ask))
        p_right = np.where(stands == MODEL, np.nan, members.proba[rows, stands])
        now = unit * (1 - np.nan_to_num(p_right))
        paid = 0.0 if terms.by_score else unit * members.fees[rows, ask]
        cost = np.where(ask == MODEL, now, unit * (1 - members.proba[rows, ask]) + paid)
        judged = None
    else:
        pairs = np.eye(members.proba.shape[1]) if team.score_facts is None else team.score_facts.covariance
        right = heard_marks(members.proba, marked, marking, pairs)
        step = cascade_step(
            right, unit * members.fees, answered, members.can, marking=marking, covariance=pairs, error_cost=unit
        )
        ask, judged, stands, p_right = step.ask, step.judged, step.answer, step.p_right
        now, cost = unit * (1 - np.nan_to_num(p_right)), unit - step.value
    nothing = np.full(len(ask), None, dtype=object)
    return NextSteps(ask, members.names, nothing, p_right, now, cost, judged=judged, stands=stands)
