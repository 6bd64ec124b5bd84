"""Deciding: from scores and terms to who decides, who is on a panel, and what the team says."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.belief import at
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, one_of
from defero.core.checks.scores import columns_by_name, score_matrix
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels
from defero.core.order import HashArray
from defero.core.results import MODEL, Answer, Decision, ExpertSets
from defero.core.scores import Scores, logit, sigmoid
from defero.core.wording import join_names
from defero.decide.curve import Curve, curve_of
from defero.decide.rules import (
    ALIKE,
    Grounds,
    Members,
    MostLikelyRight,
    NeverAsk,
    Sharing,
    at_least,
    best_expert,
    compare,
    near_best,
    shared,
)
from defero.decide.terms import TeamTerms
from defero.decide.votes import VOTES, Ballot, answer_of_decider
from defero.team.asking import DOES_NOT_PAY, by_pieces, gains_of, model_answer, settle_in_turn, with_prices
from defero.team.panel import Panel, with_decider, with_recorded
from defero.team.score_facts import training_hull
from defero.team.scoring import blocks_of, cases_of, names_of, score_block

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
    if not terms.costs.symmetric:  # all items at once
        features = team.features(X)
        scores, marks = team.score_features(features), team.unusual(features)
        return decide_scored(team, features, scores, terms, unusual=marks, ask_unusual=ask_unusual, cases=X)
    blocks, n_items = blocks_of(team, X)
    named: list[Labels] = []

    def compared() -> Iterator[Grounds]:
        start = 0
        for features, outside in blocks:
            scores = score_block(team, features, outside)
            rows, start = slice(start, start + len(scores)), start + len(scores)
            names = None if outside is None else names_of(team, outside)
            named.extend([] if names is None else [names])
            own = with_prices(team, features, terms.take(rows))
            cases = cases_of(team, X, features, start=rows.start)
            yield _compare(team, scores, own, cases, unusual=names, ask_unusual=ask_unusual)

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
    cases: Any = None,
) -> Decision:
    """Decide on scores at hand; `unusual` (n,) is as in `Decision`. The table of the `cases` has their keys.

    Where every error costs the same the probabilities minus the fees in units of one error are compared. Else the
    expected costs of the model's cheapest label and of each expert's answer are.

    Returns
    -------
    Decision
        Its `expected_cost` is in money. Its `model_value` and `best_value` are 1 minus the expected cost in units of
        the dearest error, which is P(right) minus the fee where every error costs the same.
    """
    terms = with_prices(team, features, terms)
    told_apart = cases_of(team, cases, features)
    if terms.costs.symmetric:
        compared = _compare(team, scores, terms, told_apart, unusual=unusual, ask_unusual=ask_unusual)
        return _decision(team, compared, terms, unusual)
    gains = gains_of(team, features, scores, terms)
    best, gain = best_expert(gains.gain)
    pays = gain >= 0  # whether asking pays at all was judged for errors that all cost the same
    marks = np.full(len(scores), "", dtype=object) if unusual is None else unusual
    must_ask = ask_unusual & (marks != "")
    least = np.where(pays | must_ask, np.maximum(gain - ALIKE * terms.unit, np.where(must_ask, -np.inf, 0.0)), np.nan)
    best, n_alike = shared(near_best(gains.gain, least), best, Sharing(told_apart), expert_names=team.expert_names)
    gain = np.where(n_alike > 1, at(gains.gain, best), gain) if scores.n_experts else gain
    expert = np.where((best != MODEL) & (pays | must_ask), best, MODEL)
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
        fee=np.where(is_asked, terms.paid(len(scores))[rows, expert], 0.0) if scores.n_experts else None,
        n_alike=n_alike,
    )


def _compare(
    team: "Team",
    scores: Scores,
    terms: TeamTerms,
    cases: Callable[[IntArray], HashArray],
    *,
    unusual: Labels | None,
    ask_unusual: bool,
) -> Grounds:
    """Compare the model with the experts, whose probabilities are those of the one who is chosen."""
    log_odds = None
    if team.selection is not None and isinstance(team.rule, MostLikelyRight):
        log_odds = _bounded(team, team.selection.log_odds(scores), unusual)
    must_ask = unusual != "" if ask_unusual and unusual is not None else None
    grounds = compare(
        scores,
        NeverAsk() if _never_asks(team) else team.rule,
        expert_names=team.expert_names,
        fees=terms.fees_in_errors,
        available=terms.available,
        chosen_log_odds=log_odds,
        must_ask=must_ask,
        sharing=None if scores.link == "weight" else Sharing(cases, terms.fees if terms.by_score else None),
    )
    if terms.floor is not None and not _never_asks(team):
        proba = scores.expert_proba if log_odds is None else sigmoid(log_odds)
        members = members_of(team, scores, terms, proba)
        if must_ask is not None:
            members.can[must_ask & members.can[:, : scores.n_experts].any(axis=1), scores.n_experts :] = False
        grounds = members.settled(grounds, *at_least(members, terms.floor), counted=not terms.by_score)
    if team.score_facts is None:
        return grounds
    promised = team.score_facts.promised(grounds.p_right, scores.expert_proba, terms.available)
    return grounds._replace(p_right=promised, expected_cost=grounds.expected_cost + grounds.p_right - promised)


def members_of(team: "Team", scores: Scores, terms: TeamTerms, proba: FloatArray) -> Members:
    """Return the members of a team with their P(right), (n, J), and fees in units of the dearest error."""
    fees = 0.0 if terms.fees is None else terms.fees / terms.unit
    return Members.of(scores, team.expert_names, proba, fees, terms.can_ask(len(scores)))


def curve(team: "Team", X: Any, right: Any, terms: TeamTerms) -> Curve:
    """Return quality against cost; see `Team.curve`."""
    features = team.features(X)
    scores = team.score_features(features)
    own = replace(with_prices(team, features, replace(terms, costs_given=True)), floor=None)
    proba = scores.expert_proba if team.selection is None else team.selection.apply(scores)
    members = members_of(team, scores, own, proba)
    shape, real = members.proba.shape, None
    if right is not None:
        real = score_matrix(columns_by_name("right", right, members.names, shape, default=np.nan), argument="right")[0]
    if real is not None and real.shape != shape:
        who = join_names(members.names, most=6)
        raise InputError(f"must have shape {shape}, for {who}, got {real.shape}.", argument="right")
    hull = training_hull(team, np.asarray(members.can.any(axis=0)))
    return curve_of(
        members.proba, members.fees * own.unit, expert_names=members.names, scores=real, can=members.can, hull=hull
    )


def _never_asks(team: "Team") -> bool:
    """Whether asking did not pay on held-out cases."""
    return team.selection is not None and isinstance(team.rule, MostLikelyRight) and not team.selection.asks


def _decision(team: "Team", compared: Grounds, terms: TeamTerms, unusual: Labels | None) -> Decision:
    why_not = DOES_NOT_PAY if _never_asks(team) else ""
    return compared.decision(
        team.expert_names,
        unusual=unusual,
        why_not=why_not,
        unit=terms.unit if terms.given else None,
        floor=terms.floor,
        otherwise=team.otherwise,
    )


def _bounded(team: "Team", log_odds: FloatArray, unusual: Labels | None) -> FloatArray:
    """Return log-odds (n, J) in which no expert is surer of an unusual case than they are right on average."""
    if unusual is None or team.calibrator is None:
        return log_odds
    rows = np.flatnonzero(unusual != "")
    if not len(rows):
        return log_odds
    bounded = log_odds.copy()
    bounded[rows] = np.minimum(log_odds[rows], logit(team.calibrator.accuracy))
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
    panel = the_panel(team)
    if why := panel.voided(scores, terms):
        warnings.warn(f"the panel's promise does not hold with {' and '.join(why)}; conformalize anew.", stacklevel=3)
    return panel.sets(scores, terms, fill_empty=fill_empty, strata=strata)


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
    sets = sets_of(team, scores, terms, strata=strata)
    _, voted = panel_vote(team, features, scores, answer_idx, sets, terms, vote=way)
    return voted


def panel_vote(
    team: "Team", features: Any, scores: Scores, answer_idx: IntArray, sets: ExpertSets, terms: TeamTerms, *, vote: str
) -> tuple[Decision, Answer]:
    """Return who is deferred, and what the panels say by a vote on recorded answers (n, J).

    Whom to defer must not depend on whose answer is recorded: the promise is for the rule that was calibrated.
    """
    heard = terms.can_ask(len(scores)) & (answer_idx != MISSING)
    decision, among_heard = (decide_scored(team, features, scores, one) for one in (terms, terms.among(heard)))
    mask = with_recorded(with_decider(sets, decision), decision, heard, among_heard)
    return decision, vote_of_panel(team, features, scores, answer_idx, mask, terms, vote=vote)


def answer_of_one(team: "Team", scores: Scores, decision: Decision, answer_idx: IntArray, terms: TeamTerms) -> Answer:
    """Return what whoever decides says, by recorded answers (n, J); the model says its cheapest label."""
    decided = answer_of_decider(scores, decision, answer_idx, classes=team.classes)
    if terms.costs.symmetric:
        return decided
    return replace(
        decided, label=np.where(decision.deferred, decided.label, team.classes[model_answer(scores, terms)[0]])
    )


def vote_of_panel(
    team: "Team", features: Any, scores: Scores, answer_idx: IntArray, mask: BoolArray, terms: TeamTerms, *, vote: str
) -> Answer:
    """Combine the answers (n, J) of the experts in a mask (n, J) by a vote; the model answers where there are none."""
    counted = VOTES.find(vote)

    def count(rows: slice, part: Scores, right: FloatArray | None) -> Answer:
        of_part = answer_idx[rows], mask[rows], part.expert_proba, part.class_proba, team.classes
        return counted.count(Ballot(*of_part, law=team.law, right=right, cost_matrix=terms.matrix))

    return by_pieces(team, features, scores, count) if counted.uses_skill else count(slice(None), scores, None)
