"""Judging a team whose experts have only scores, on items whose scores are known."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.results import MODEL as NOBODY
from defero.decide.curve import curve_of, member_means
from defero.decide.terms import TeamTerms, Terms
from defero.judge.intervals import mean_interval, score_interval
from defero.judge.record.scores import FreeChoice, Interval, ScoreRecord, ScoreWay, mean
from defero.team.deciding import decide_scored
from defero.team.score_facts import best_at_cost, best_single, training_hull

if TYPE_CHECKING:
    from defero.team.team import Team

_NOT_KNOWN: Interval = (np.nan, np.nan, np.nan)


def judge_scores(
    team: "Team",
    X: Any,
    scores: FloatArray,
    *,
    terms: Terms | TeamTerms | None = None,
    groups: ArrayLike | None = None,
) -> ScoreRecord:
    """Decide items whose scores are known, and judge.

    Parameters
    ----------
    team : Team without classes
    X : n items
    scores : (n, J)
        NaN where there are none: who has no score for an item is not chosen for it. Every item has a score of somebody
        who can be asked.
    terms : Terms, optional
        As in `Team.decide`. Who is absent is in nothing that the team is compared with.
    groups : (n,), optional
        Items that belong together: the interval of the gain counts them as one draw.
    """
    own = team.known_terms(terms)
    present = own.can_ask(len(scores))
    scores = np.where(present, scores, np.nan)
    scored = np.isfinite(scores)
    if not scored.any(axis=1).all():
        raise InputError("must have a score of an expert who can be asked for every item.", argument="scores")
    features = team.features(X)
    believed = team.score_features(features)
    decision = decide_scored(team, features, believed, own.among(scored), cases=X)
    answered: BoolArray = np.asarray(decision.expert != NOBODY)
    if not answered.any():
        raise InputError("must be known of an expert with a score: nobody can be asked.", argument="fees")
    expected, fees = believed.expert_proba, own.filled(None if team.prices is None else team.prices.of(features))
    price = np.broadcast_to(np.nan if fees is None else fees, scores.shape)
    here: BoolArray = np.asarray(scored.any(axis=0))
    best = best_single(team, here)
    compared: BoolArray = scored[:, best] & answered if (scored[:, best] & answered).any() else answered
    rows = np.flatnonzero(compared)
    kept_scores, cost, can = scores[rows], price[rows], scored[rows]
    achieved = kept_scores[np.arange(len(rows)), decision.expert[rows]]
    paid = cost[np.arange(len(rows)), decision.expert[rows]]
    group_of = np.broadcast_to(np.arange(len(scores)) if groups is None else np.asarray(groups), len(scores))
    has_gaps = not bool(scored[:, here].all())
    free = decide_scored(team, features, believed, own, cases=X).expert if has_gaps else decision.expert
    error_cost = np.inf if own.by_score or own.floor is not None else own.unit
    paid_best = best_at_cost(team, error_cost, price, here)
    alone = {j: _alone(team, j, kept_scores, cost) for j in (best, paid_best) if j is not None}
    one_each = bool((scored.sum(axis=1) == 1).all()) and int(here.sum()) > 1
    hull = training_hull(team, here)
    curve = None
    if np.isfinite(np.where(can, cost, np.nan)).any():
        curve = curve_of(expected[rows], cost, scores=kept_scores, expert_names=team.expert_names, hull=hull)
    ways = {
        "pool": ScoreWay("pool", mean(achieved), mean(paid)),
        "best_single": alone[best],
        "best_at_trade_off": None if paid_best is None else alone[paid_best],
        "random": ScoreWay("random", mean(_row_means(kept_scores, can)), mean(_row_means(cost, can))),
        "cheapest": _cheapest(team, kept_scores, cost),
        "oracle": _oracle(kept_scores, cost, can),
    }
    return ScoreRecord(
        decision,
        error_cost,
        scores,
        price,
        compared,
        {name: way for name, way in ways.items() if way is not None},
        member_means(price, scores),
        *_gains(achieved - kept_scores[:, best], paid - cost[:, best], error_cost, group_of[rows], known=not one_each),
        curve,
        _free_choice(free, scores, group_of) if has_gaps else None,
    )


def _free_choice(expert: IntArray, scores: FloatArray, groups: ArrayLike) -> FreeChoice:
    """Judge choices (n,) by scores (n, J), NaN where there are none."""
    came = np.where(expert == NOBODY, np.nan, scores[np.arange(len(scores)), expert])
    return FreeChoice(int(np.isfinite(came).sum()), *score_interval(came, groups))


def _gains(
    quality: FloatArray, cost: FloatArray, error_cost: float, groups: ArrayLike, *, known: bool
) -> tuple[Interval, Interval]:
    """Return the means of quality, and of trade-off times quality minus cost: differences (n,) to the best member."""
    if not known:
        return _NOT_KNOWN, _NOT_KNOWN
    has_net = np.isfinite(error_cost) and np.isfinite(cost).any()
    net = mean_interval(error_cost * quality - cost, groups) if has_net else _NOT_KNOWN
    return mean_interval(quality, groups), net


def _alone(team: "Team", expert: int, scores: FloatArray, price: FloatArray) -> ScoreWay:
    """Return an expert alone, on the items with their score."""
    cost, quality = member_means(price[:, [expert]], scores[:, [expert]])
    return ScoreWay(team.expert_names[expert], float(quality[0]), float(cost[0]))


def _cheapest(team: "Team", scores: FloatArray, price: FloatArray) -> ScoreWay | None:
    cost, quality = member_means(price, scores)
    known = np.flatnonzero(np.isfinite(cost))
    if not known.size:
        return None
    j = int(known[np.argmin(cost[known])])
    return ScoreWay(team.expert_names[j], float(quality[j]), float(cost[j]))


def _oracle(scores: FloatArray, price: FloatArray, scored: BoolArray) -> ScoreWay:
    top = np.where(scored, scores, -np.inf).max(axis=1)
    cost = np.where(scored & (scores == top[:, None]), np.nan_to_num(price, nan=np.inf), np.inf).min(axis=1)
    return ScoreWay("oracle", mean(top), mean(cost[np.isfinite(cost)]))


def _row_means(values: FloatArray, scored: Any) -> FloatArray:
    return np.where(scored, values, 0.0).sum(axis=1) / scored.sum(axis=1)
