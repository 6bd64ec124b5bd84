"""A router on held-out cases: the team, the model, the experts and the panels, each beside what they promised."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.labels import MISSING, encode_labels
from defero.metrics.panel import panel_record
from defero.metrics.team import TeamRecord, team_record
from defero.router.chain import Router
from defero.router.panel import with_decider


def judge(
    router: Router,
    X: Any,
    y: ArrayLike,
    answers: object,
    *,
    groups: ArrayLike | None = None,
    source: str = "X",
    first_row: int = 0,
) -> TeamRecord:
    """Judge a router on cases whose labels and recorded answers are known, asking only experts who answered.

    Fees and absences are those of `conformalize`. Panels that were calibrated inside groups are judged where `groups`
    is given. `source` and `first_row` are what a message calls the table, and the number of its first row.
    """
    features = router.features(X, source=source, first_row=first_row)
    scores = router.score_features(features)
    answer_idx = router.answer_numbers(answers, n_items=len(scores))
    label_idx = encode_labels(y, router.classes)
    panel = router.panel
    terms = (
        {"costs": None, "available": None} if panel is None else {"costs": panel.costs, "available": panel.available}
    )
    recorded = answer_idx != MISSING
    present = recorded if terms["available"] is None else recorded & np.array(terms["available"])
    decision = router.decide_scores(scores, costs=terms["costs"], available=present)
    record = team_record(scores, decision, label_idx, answer_idx, classes=router.classes)
    if router.calibrator is not None:  # which hides the softmax estimate's fault from its users, not from the judge
        record = replace(record, above_one=router.scorer.score(features).above_one())
    if panel is None or (panel.grouped and groups is None):
        return record
    # Whom to defer must not depend on whose answer is recorded: the promise is for the rule that was calibrated.
    decision = router.decide_scores(scores, **terms)
    sets = router.sets_of(scores, **terms, groups=groups)
    mask = with_decider(sets, decision)
    said = panel.vote(scores, answer_idx, mask, classes=router.classes, vote="bayes").label
    eligible = router.proven if panel.available is None else router.proven & np.array(panel.available)
    kept = panel_record(
        sets,
        decision.deferred,
        encode_labels(said, router.classes),
        label_idx,
        np.where(eligible, answer_idx, MISSING),
        promise=panel.promise(),
        target=panel.predictor.target,
        alpha=panel.predictor.alpha,
    )
    return replace(record, panel=kept)
