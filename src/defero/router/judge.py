"""A router on held-out cases: the team, the model, the experts and the panels, each beside what they promised."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from defero.core.labels import MISSING, encode_labels
from defero.metrics.panel import panel_record
from defero.metrics.team import TeamRecord, team_record
from defero.router.chain import Router


def judge(
    router: Router, X: Any, y: ArrayLike, answers: object, *, source: str = "X", first_row: int = 0
) -> TeamRecord:
    """Judge a router on cases whose labels and recorded answers are known, asking only experts who answered.

    `source` and `first_row` are what a message calls the table, and the number of its first row.
    """
    features = router.features(X, source=source, first_row=first_row)
    scores = router.score_features(features)
    answer_idx = router.answer_numbers(answers, n_items=len(scores))
    label_idx = encode_labels(y, router.classes)
    decision = router.decide_scores(scores, available=answer_idx != MISSING)
    record = team_record(scores, decision, label_idx, answer_idx, classes=router.classes)
    if router.calibrator is not None:  # which hides the softmax estimate's fault from its users, not from the judge
        record = replace(record, above_one=router.scorer.score(features).above_one())
    if router.panel is None or len(router.panel.predictor.n_rows_) > 1:
        return record
    # Whom to defer must not depend on whose answer is recorded: the promise is for the rule that was calibrated.
    deferred = router.decide_scores(scores, costs=router.panel.costs).deferred
    sets = router.sets_of(scores, costs=router.panel.costs)
    mask = sets.mask & deferred[:, None]
    said = router.panel.vote(scores, answer_idx, mask, classes=router.classes, vote="bayes").label
    predictor = router.panel.predictor
    panel = panel_record(
        sets,
        deferred,
        encode_labels(said, router.classes),
        label_idx,
        answer_idx,
        promise=predictor.promise(),
        target=predictor.target,
        alpha=predictor.alpha,
    )
    return replace(record, panel=panel)
