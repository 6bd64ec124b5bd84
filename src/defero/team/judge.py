"""A team on held-out cases: every way of asking, the experts and the panels, each beside what they promised."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, one_of
from defero.core.labels import MISSING, encode_labels
from defero.core.results import MODEL, Answer, Decision
from defero.core.scores import Scores
from defero.core.trial import ASK, PanelTrial, Trial, Way
from defero.decide.rules import best_expert
from defero.decide.terms import TeamTerms, Terms, checked
from defero.decide.votes import VOTES, Ballot
from defero.judge.record.team import Record, team_record
from defero.scorers.given import GivenScorer
from defero.team.asking import model_answer, proba_of_label, settle_in_turn
from defero.team.deciding import answer_of_one, decide_scored, panel_vote, vote_of_panel
from defero.team.panel import Panel
from defero.team.rows import check_rows_known, seen_after, told_apart_by

if TYPE_CHECKING:
    from defero.team.team import Team


@dataclass(frozen=True, eq=False)
class Held:
    """Held-out cases as the ways need them.

    Attributes
    ----------
    features : (n, d)
    scores : Scores
    label_idx : (n,)
        True classes.
    answer_idx : (n, J)
        Recorded answers, -1 where missing.
    terms : TeamTerms
        What questions and errors cost, and who is there.
    """

    features: Any
    scores: Scores
    label_idx: IntArray
    answer_idx: IntArray
    terms: TeamTerms

    @property
    def present(self) -> BoolArray:
        """(n, J): who can be asked: recorded, and there."""
        return (self.answer_idx != MISSING) & self.terms.can_ask(len(self.answer_idx))

    @property
    def terms_present(self) -> TeamTerms:
        """The terms among those who are present."""
        return self.terms.among(self.present)

    @property
    def fee(self) -> FloatArray:
        """(n, J): what a question costs."""
        return self.terms.charged(len(self.answer_idx))


def ways_of(team: "Team", held: Held, decision: Decision, panel: Answer | None) -> tuple[Way, ...]:
    """Settle held-out cases in every way; on recorded answers only experts who answered a case can be asked.

    Parameters
    ----------
    team : Team
    held : Held
    decision : Decision
        Of one expert, among those present.
    panel : Answer, optional
        What the panels say, where there are panels.

    Returns
    -------
    tuple of Way
        Ways that this team does not have are left out: in turn and Bayes where it goes by weights, which are no
        probabilities, panels where there are none, and everything but the model without experts.
    """
    scores, promises = held.scores, held.scores.link != "weight"
    model_idx, _ = model_answer(scores, held.terms)
    answer_of = {"one": answer_of_one(team, scores, decision, held.answer_idx, held.terms)}
    if scores.n_experts:
        answer_of["everybody_majority"] = VOTES.find("majority").count(
            Ballot(held.answer_idx, held.present, scores.expert_proba, scores.class_proba, team.classes)
        )
        answer_of["best_expert"] = _best_expert(team, held)
        if promises:
            answer_of["sequential"] = settle_in_turn(team, held.features, scores, held.answer_idx, held.terms_present)
            recorded = held.features, scores, held.answer_idx, held.present, held.terms
            answer_of["everybody_bayes"] = vote_of_panel(team, *recorded, vote="bayes")
        if panel is not None:
            answer_of["panel"] = panel
    ways = [settled_way(team, held, name, answer) for name, answer in answer_of.items()]
    zero = np.zeros(len(scores))
    right = (model_idx == held.label_idx).astype(np.float64)
    promised = proba_of_label(scores, model_idx) if promises else None
    errors = held.terms.costs.of_answers(model_idx, held.label_idx)
    ways.append(Way("model", right, zero, zero, promised, model_idx, errors))
    return (*ways, *([_random_expert(held)] if scores.n_experts else []))


def settled_way(team: "Team", held: Held, name: str, answer: Answer) -> Way:
    """Return what a way of asking cost and kept, by its answers."""
    promises = held.scores.link != "weight"
    label_idx = encode_labels(answer.label, team.classes)
    return Way(
        name,
        right=(label_idx == held.label_idx).astype(np.float64),
        questions=answer.heard.sum(axis=1),
        fees=np.where(answer.heard, held.fee, 0.0).sum(axis=1),
        promised=answer.confidence if promises and name != "everybody_majority" else None,
        label_idx=label_idx,
        errors=held.terms.costs.of_answers(label_idx, held.label_idx),
    )


def _best_expert(team: "Team", held: Held) -> Answer:
    """Let the expert with the highest mean P(right) answer; where they have not, the next best who has, or the model.

    The order is that of the predicted probabilities: the labels of these cases are not looked at.
    """
    scores = held.scores
    order = scores.expert_proba.mean(axis=0) if len(scores) else np.zeros(scores.n_experts)
    best, _ = best_expert(np.where(held.present, order, -np.inf))
    rows = np.flatnonzero(best != MODEL)
    label_idx, promised = scores.class_idx.copy(), scores.model_proba.copy()
    label_idx[rows] = held.answer_idx[rows, best[rows]]
    promised[rows] = scores.expert_proba[rows, best[rows]]
    heard_mask = np.zeros(held.present.shape, dtype=np.bool_)
    heard_mask[rows, best[rows]] = True
    return Answer(team.classes[label_idx], promised, heard_mask)


def _random_expert(held: Held) -> Way:
    """Return what is expected of an expert drawn at random among those present; the model where there is nobody."""
    count = held.present.sum(axis=1)
    some = count > 0
    share = np.where(held.present, 1 / np.maximum(count, 1)[:, None], 0.0)
    expert_right = (share * (held.answer_idx == held.label_idx[:, None])).sum(axis=1)
    promised = (share * held.scores.expert_proba).sum(axis=1)
    model_idx, _ = model_answer(held.scores, held.terms)
    of_answers = held.terms.costs.matrix[held.label_idx[:, None], held.answer_idx]  # those not present weigh nothing
    of_model = held.terms.costs.of_answers(model_idx, held.label_idx)
    promised = np.where(some, promised, proba_of_label(held.scores, model_idx))
    return Way(
        "random_expert",
        right=np.where(some, expert_right, model_idx == held.label_idx),
        questions=some.astype(np.float64),
        fees=(share * held.fee).sum(axis=1),
        errors=np.where(some, (share * of_answers).sum(axis=1), of_model),
        promised=None if held.scores.link == "weight" else promised,
    )


NO_STRATA = "Its panels were calibrated inside strata and are not judged here: no strata were given."


def judge(team: "Team", X: Any, y: ArrayLike, answers: object, *, random_state: int = 0, **options: Any) -> Record:
    """Judge a team on cases whose labels and recorded answers are known.

    The options are those of `try_out`; `random_state` settles the draws of the bootstrap intervals.
    """
    return record_of(team, try_out(team, X, y, answers, **options), random_state=random_state)


def record_of(team: "Team", trial: Trial, *, random_state: int = 0) -> Record:
    """Judge what `try_out` returned for this team."""
    # Somebody's own probabilities were learned from nobody knows how many answers.
    learned = not isinstance(team.scorer, GivenScorer)
    return team_record(
        trial,
        training_answers=team.answer_counts.tolist() if learned else None,
        panel_cases=None if team.panel is None else sum(team.panel.predictor.n_rows_.values()),
        rng=np.random.default_rng(random_state),
    )


def try_out(
    team: "Team",
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    strata: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
    disjoint: bool = False,
    ask: str = "one",
    terms: Terms | TeamTerms | None = None,
) -> Trial:
    """Let a team decide cases whose labels and recorded answers are known, asking only experts who answered.

    Fees, costs of errors and who is there are `terms`, by default those of `conformalize`; experts who were absent
    there are not asked either. Panels that were calibrated inside strata are tried where `strata` is given. `source`
    and `first_row` are what a message calls the table, and the number of its first row. Rows that an earlier stage has
    used are refused, unless the caller vouches with `disjoint` that there are none. `ask` is the way that the team's
    labels are taken from: "one", "sequential" or "panel"; the trial has all ways side by side.
    """
    one_of("ask", ask, ASK)
    features = team.features(X, source=source, first_row=first_row)
    scores = team.score_features(features)
    answer_idx = team.answer_numbers(answers, n_items=len(scores))
    label_idx = encode_labels(y, team.classes)
    if not disjoint:
        check_rows_known(team.rows_key, argument="disjoint")
    seen_after(team.seen, "judge", told_apart_by(X, team.recipe), label_idx, answer_idx, disjoint=disjoint)
    panel = team.panel
    own = terms_of(team) if terms is None else checked(terms, team.expert_names, team.classes)
    own = present_terms(team, own)
    held = Held(features, scores, label_idx, answer_idx, own)
    decision = decide_scored(team, features, scores, held.terms_present)
    tried, vote = None, None
    if panel is not None and (strata is not None or not panel.stratified):
        tried, vote = _try_panel(team, panel, held, strata=strata)
    return Trial(
        classes=team.classes,
        label_idx=label_idx,
        answer_idx=answer_idx,
        scores=scores,
        decision=decision,
        uncalibrated=scores if team.calibrator is None else team.scorer.score(features),
        panel=tried,
        panel_note=None if panel is None or tried is not None else NO_STRATA,
        ways=ways_of(team, held, decision, vote),
        ask=ask,
        fees_given=own.fees is not None,
        cost_matrix=own.costs.matrix if own.costs_given else None,
        question_fees=held.fee,
        model_label_idx=None if own.costs.symmetric else model_answer(scores, own)[0],
    )


def present_terms(team: "Team", terms: TeamTerms) -> TeamTerms:
    """Return the terms among those who can be asked: neither absent in `conformalize` nor now."""
    then = None if team.panel is None else team.panel.available
    if then is None:
        return terms
    return terms.among(np.array(then) if terms.available is None else terms.available & np.array(then))


def terms_of(team: "Team") -> TeamTerms:
    """Return the terms that a team was fitted with."""
    panel_terms = Terms() if team.panel is None else team.panel.terms
    return panel_terms.of(team.expert_names, team.classes)


def _try_panel(team: "Team", panel: Panel, held: Held, *, strata: ArrayLike | None) -> tuple[PanelTrial, Answer]:
    """Return the panels of held-out cases and what they vote."""
    sets = panel.sets(held.scores, held.terms, strata=strata)
    decision, vote = panel_vote(team, held.features, held.scores, held.answer_idx, sets, held.terms, vote="bayes")
    tried = PanelTrial(
        sets=sets,
        deferred=decision.deferred,
        team_label_idx=encode_labels(vote.label, team.classes),
        eligible=held.terms.can_ask(1)[0],
        promise=panel.promise(),
        target=panel.predictor.target,
        alpha=panel.predictor.alpha,
    )
    return tried, vote
