"""A team on held-out cases: the team, the model, the experts and the panels, each beside what they promised."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray
from defero.core.checks.options import one_of
from defero.core.labels import encode_labels
from defero.core.results import Answer
from defero.core.trial import ASK, PanelTrial, Trial
from defero.decide.terms import Terms
from defero.judge.record.team import TeamRecord, team_record
from defero.scorers.given import ArrayScorer, FunctionScorer
from defero.team.costs.under_terms import decide_under, model_labels
from defero.team.panel import Panel
from defero.team.rows import check_rows_known, seen_after, told_apart_by
from defero.team.team import Team
from defero.team.ways import Held, panel_vote, ways_of

NO_STRATA = "Its panels were calibrated inside strata and are not judged here: no strata were given."


def judge(
    team: Team,
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    strata: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
    disjoint: bool = False,
    ask: str = "one",
    terms: Terms | None = None,
    random_state: int = 0,
) -> TeamRecord:
    """Judge a team on cases whose labels and recorded answers are known.

    The arguments are those of `try_out`; `random_state` settles the draws of the bootstrap intervals.
    """
    trial = try_out(
        team,
        X,
        y,
        answers,
        strata=strata,
        source=source,
        first_row=first_row,
        disjoint=disjoint,
        ask=ask,
        terms=terms,
    )
    return record_of(team, trial, random_state=random_state)


def record_of(team: Team, trial: Trial, *, random_state: int = 0) -> TeamRecord:
    """Judge what `try_out` returned for this team."""
    # Somebody's own probabilities were learned from nobody knows how many answers.
    learned = not isinstance(team.scorer, ArrayScorer | FunctionScorer)
    return team_record(
        trial,
        training_answers=team.answer_counts.tolist() if learned else None,
        panel_cases=None if team.panel is None else sum(team.panel.predictor.n_rows_.values()),
        min_answers=team.min_answers,
        rng=np.random.default_rng(random_state),
    )


def try_out(
    team: Team,
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    strata: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
    disjoint: bool = False,
    ask: str = "one",
    terms: Terms | None = None,
    available: ArrayLike | None = None,
) -> Trial:
    """Let a team decide cases whose labels and recorded answers are known, asking only experts who answered.

    Fees and costs of errors are `terms`, by default those of `conformalize`. Experts who were absent there, and those
    who are not `available` (J,), are not asked. Panels that were
    calibrated inside strata are tried where `strata` is given. `source` and `first_row` are what a message calls the
    table, and the number of its first row. Rows that an earlier stage has used are refused, unless the caller vouches
    with `disjoint` that there are none. `ask` is the way that the team's labels are taken from: "one", "sequential" or
    "panel"; the trial has all ways side by side.
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
    terms = terms_of(team) if terms is None else terms
    present = present_experts(team, available)
    held = Held.of(features, scores, label_idx, answer_idx, terms=terms, available=present)
    decision = decide_under(team, features, scores, terms, available=held.present)
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
        fees_given=terms.fees is not None,
        cost_matrix=terms.costs.matrix if terms.costs_given else None,
        question_fees=held.fee,
        model_label_idx=None if terms.costs.symmetric else model_labels(scores, terms),
    )


def present_experts(team: Team, available: ArrayLike | None = None) -> BoolArray | None:
    """Return who can be asked, (J,): neither absent in `conformalize` nor now; None where that is everybody."""
    before = None if team.panel is None else team.panel.available
    if before is None and available is None:
        return None
    everybody = np.ones(len(team.expert_names), dtype=np.bool_)
    for one in (before, available):
        everybody &= True if one is None else np.asarray(one, dtype=np.bool_)
    return everybody


def terms_of(team: Team) -> Terms:
    """Return the terms that a team was fitted with."""
    return Terms.of(n_classes=len(team.classes)) if team.panel is None else team.panel.terms


def _try_panel(team: Team, panel: Panel, held: Held, *, strata: ArrayLike | None) -> tuple[PanelTrial, Answer]:
    """Return the panels of held-out cases and what they vote."""
    decision, sets, vote = panel_vote(team, held, strata=strata)
    tried = PanelTrial(
        sets=sets,
        deferred=decision.deferred,
        team_label_idx=encode_labels(vote.label, team.classes),
        eligible=team.proven if held.available is None else team.proven & held.available,
        promise=panel.promise(),
        target=panel.predictor.target,
        alpha=panel.predictor.alpha,
    )
    return tried, vote
