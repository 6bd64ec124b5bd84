"""A router on held-out cases: the team, the model, the experts and the panels, each beside what they promised."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.labels import MISSING, encode_labels
from defero.core.trial import PanelTrial, Trial
from defero.metrics.record.team import TeamRecord, team_record
from defero.router.panel import with_decider
from defero.router.router import Router
from defero.router.seen import check_rows_known, seen_after, told_apart_by
from defero.scorers.given import ArrayScorer, FunctionScorer

NO_STRATA = "Its panels were calibrated inside strata and are not judged here: no strata were given."


def judge(
    router: Router,
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    strata: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
    disjoint: bool = False,
    random_state: int = 0,
) -> TeamRecord:
    """Judge a router on cases whose labels and recorded answers are known.

    The arguments are those of `try_out`; `random_state` settles the draws of the bootstrap intervals.
    """
    trial = try_out(router, X, y, answers, strata=strata, source=source, first_row=first_row, disjoint=disjoint)
    return record_of(router, trial, random_state=random_state)


def record_of(router: Router, trial: Trial, *, random_state: int = 0) -> TeamRecord:
    """Judge what `try_out` returned for this router."""
    # Somebody's own probabilities were learned from nobody knows how many answers.
    learned = not isinstance(router.scorer, ArrayScorer | FunctionScorer)
    return team_record(
        trial,
        training_answers=router.answer_counts.tolist() if learned else None,
        panel_cases=None if router.panel is None else sum(router.panel.predictor.n_rows_.values()),
        rng=np.random.default_rng(random_state),
    )


def try_out(
    router: Router,
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    strata: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
    disjoint: bool = False,
) -> Trial:
    """Let a router decide cases whose labels and recorded answers are known, asking only experts who answered.

    Fees and absences are those of `conformalize`. Panels that were calibrated inside strata are tried where `strata`
    is given. `source` and `first_row` are what a message calls the table, and the number of its first row. Rows that
    an earlier stage has used are refused, unless the caller vouches with `disjoint` that there are none.
    """
    features = router.features(X, source=source, first_row=first_row)
    scores = router.score_features(features)
    answer_idx = router.answer_numbers(answers, n_items=len(scores))
    label_idx = encode_labels(y, router.classes)
    if not disjoint:
        check_rows_known(router.rows_key, argument="disjoint")
    seen_after(router.seen, "judge", told_apart_by(X, router.recipe), label_idx, answer_idx, disjoint=disjoint)
    panel = router.panel
    terms = {"fees": None, "available": None} if panel is None else {"fees": panel.fees, "available": panel.available}
    recorded = answer_idx != MISSING
    present = recorded if terms["available"] is None else recorded & np.array(terms["available"])
    heard = None
    if panel is not None and (strata is not None or not panel.stratified):
        # Whom to defer must not depend on whose answer is recorded: the promise is for the rule that was calibrated.
        decision = router.decide_scores(scores, **terms)
        sets = router.sets_of(scores, **terms, strata=strata)
        vote = router.vote_of_panel(features, scores, answer_idx, with_decider(sets, decision), vote="bayes")
        heard = PanelTrial(
            sets=sets,
            deferred=decision.deferred,
            team_label_idx=encode_labels(vote.label, router.classes),
            eligible=router.proven if panel.available is None else router.proven & np.array(panel.available),
            promise=panel.promise(),
            target=panel.predictor.target,
            alpha=panel.predictor.alpha,
        )
    return Trial(
        classes=router.classes,
        label_idx=label_idx,
        answer_idx=answer_idx,
        scores=scores,
        decision=router.decide_scores(scores, fees=terms["fees"], available=present),
        uncalibrated=scores if router.calibrator is None else router.scorer.score(features),
        panel=heard,
        panel_note=None if panel is None or heard is not None else NO_STRATA,
    )
