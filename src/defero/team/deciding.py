"""Deciding: from scores and terms to who decides, who is on a panel, and what the team says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.belief import at
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, one_of
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels
from defero.core.results import MODEL, Answer, Decision, ExpertSets
from defero.core.scores import Scores, logit
from defero.decide.rules import Grounds, MostLikelyRight, NeverAsk, best_expert, compare
from defero.decide.terms import TeamTerms
from defero.decide.votes import VOTES, Ballot, answer_of_decider
from defero.team.asking import DOES_NOT_PAY, by_pieces, gains_of, model_answer, settle_in_turn
from defero.team.panel import Panel, with_decider, with_recorded
from defero.team.scoring import blocks_of, names_of, score_block

if TYPE_CHECKING:
    from defero.team.team import Team

UNUSUAL = ("flag", "ask")
"""What becomes of an unusual case: it is marked, or marked and given to a person."""
WAYS_TO_ASK = ("sequential", "expert")
"""Of `answer(vote=)`: not votes of a panel, but other ways to ask the experts."""


def decide(team: "Team", X: Any, terms: TeamTerms, *, unusual: str) -> Decision:
    """Say who should decide each item; see `Team.decide`."""
    one_of("unusual", unusual, UNUSUAL)
    ask_unusual = unusual == "ask"
    if not terms.costs.symmetric or terms.by_item:  # all items at once
        features = team.features(X)
        scores, marks = team.score_features(features), team.unusual(features)
        return decide_scored(team, features, scores, terms, unusual=marks, ask_unusual=ask_unusual)
    blocks, n_items = blocks_of(team, X)
    named: list[Labels] = []

    def compared() -> Iterator[Grounds]:
        for features, outside in blocks:
            scores = score_block(team, features, outside)
            names = None if outside is None else names_of(team, outside)
            named.extend([] if names is None else [names])
            yield _compare(team, scores, terms, unusual=names, ask_unusual=ask_unusual)

    whole = next(compared()) if n_items is None else Grounds.joined(compared(), n_items)
    return _decision(team, whole, terms, np.concatenate(named) if named else None)


def decide_scored(
    team: "Team",
    features: Any,
    scores: Scores,
    terms: TeamTerms,
    *,
    unusual: Labels | None = None,
    ask_unusual: bool = False,
) -> Decision:
    """Decide on scores at hand; `unusual` (n,) is as in `Decision`.

    Where every error costs the same the probabilities minus the fees in units of one error are compared. Else the
    expected costs of the model's cheapest label and of each expert's answer are.

    Returns
    -------
    Decision
        Its `expected_cost` is in money. Its `model_value` and `best_value` are 1 minus the expected cost in units of
        the dearest error, which is P(right) minus the fee where every error costs the same.
    """
    if terms.costs.symmetric:
        compared = _compare(team, scores, terms, unusual=unusual, ask_unusual=ask_unusual)
        return _decision(team, compared, terms, unusual)
    gains = gains_of(team, features, scores, terms)
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
        p_right=p_right,
        unusual=marks,
        unit=terms.unit,
    )


def _compare(team: "Team", scores: Scores, terms: TeamTerms, *, unusual: Labels | None, ask_unusual: bool) -> Grounds:
    """Compare the model with the experts, whose probabilities are those of the one who is chosen."""
    log_odds = None
    if team.selection is not None and isinstance(team.rule, MostLikelyRight):
        log_odds = _bounded(team, team.selection.log_odds(scores), unusual)
    return compare(
        scores,
        NeverAsk() if _never_asks(team) else team.rule,
        expert_names=team.expert_names,
        fees=terms.fees_in_errors,
        available=terms.available,
        chosen_log_odds=log_odds,
        must_ask=unusual != "" if ask_unusual and unusual is not None else None,
    )


def _never_asks(team: "Team") -> bool:
    """Whether asking did not pay on held-out cases."""
    return team.selection is not None and isinstance(team.rule, MostLikelyRight) and not team.selection.asks


def _decision(team: "Team", compared: Grounds, terms: TeamTerms, unusual: Labels | None) -> Decision:
    why_not = DOES_NOT_PAY if _never_asks(team) else ""
    unit = terms.unit if terms.given else None
    return compared.decision(team.expert_names, unusual=unusual, why_not=why_not, unit=unit)


def _bounded(team: "Team", log_odds: FloatArray, unusual: Labels | None) -> FloatArray:
    """Return log-odds (n, J) in which no expert is surer of an unusual case than they are right on average."""
    accuracy = None if team.calibrator is None else team.calibrator.accuracy
    if unusual is None or accuracy is None:
        return log_odds
    rows = np.flatnonzero(unusual != "")
    if not len(rows):
        return log_odds
    bounded = log_odds.copy()
    bounded[rows] = np.minimum(log_odds[rows], logit(np.array(accuracy.experts)))
    return bounded


# Panels and what the team says.


def the_panel(team: "Team") -> Panel:
    """Return the panel; raises where there is none yet."""
    if team.panel is None:
        raise InputError("no panel yet: call conformalize(X, y, experts=..., alpha=..., target=...) first.")
    return team.panel


def sets_of(
    team: "Team", scores: Scores, terms: TeamTerms, *, fill_empty: bool = True, strata: ArrayLike | None = None
) -> ExpertSets:
    """Return whom to ask for each item, should it be deferred; see `Team.predict_set`."""
    return the_panel(team).sets(scores, terms, fill_empty=fill_empty, strata=strata)


def answer(
    team: "Team", X: Any, answers: object, terms: TeamTerms, *, vote: str | None, strata: ArrayLike | None
) -> Answer:
    """Give the team's label; see `Team.answer`."""
    if vote is not None and vote not in WAYS_TO_ASK:
        VOTES.find(vote, also=WAYS_TO_ASK)
    features = team.features(X)
    scores = team.score_features(features)
    answer_idx = team.answer_numbers(answers, n_items=len(scores), name="answers")
    way = vote or ("expert" if team.panel is None or team.panel.useless else "bayes")
    recorded = terms.among(terms.can_ask(len(scores)) & (answer_idx != MISSING))
    if way == "sequential":
        return settle_in_turn(team, features, scores, answer_idx, recorded)
    if way == "expert":
        return answer_of_one(team, scores, decide_scored(team, features, scores, recorded), answer_idx, terms)
    decision = decide_scored(team, features, scores, terms)
    sets = sets_of(team, scores, terms, strata=strata)
    among_recorded = decide_scored(team, features, scores, recorded)
    mask = with_recorded(with_decider(sets, decision), decision, recorded.can_ask(len(scores)), among_recorded)
    return vote_of_panel(team, features, scores, answer_idx, mask, terms, vote=way)


def answer_of_one(team: "Team", scores: Scores, decision: Decision, answer_idx: IntArray, terms: TeamTerms) -> Answer:
    """Return what whoever decides says, by recorded answers (n, J); the model says its cheapest label."""
    said = answer_of_decider(scores, decision, answer_idx, classes=team.classes)
    if terms.costs.symmetric:
        return said
    return replace(said, label=np.where(decision.deferred, said.label, team.classes[model_answer(scores, terms)[0]]))


def vote_of_panel(
    team: "Team", features: Any, scores: Scores, answer_idx: IntArray, mask: BoolArray, terms: TeamTerms, *, vote: str
) -> Answer:
    """Combine the answers (n, J) of the experts in a mask (n, J) by a vote; the model answers where there are none."""
    counted = VOTES.find(vote)

    def count(rows: slice, part: Scores, right: FloatArray | None) -> Answer:
        of_part = answer_idx[rows], mask[rows], part.expert_proba, part.class_proba, team.classes
        return counted.count(Ballot(*of_part, law=team.law, right=right, cost_matrix=terms.matrix))

    return by_pieces(team, features, scores, count) if counted.uses_skill else count(slice(None), scores, None)
