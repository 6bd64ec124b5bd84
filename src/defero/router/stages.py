"""The stages after fit, each on rows of its own: honest scores, and panels with a promise."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from defero.calibration import Calibrator, Method
from defero.core.labels import MISSING, encode_labels
from defero.router.panel import Panel

if TYPE_CHECKING:
    from defero.router.chain import Router


def calibrate(router: "Router", X: Any, y: ArrayLike, experts: object, *, method: Method, disjoint: bool) -> "Router":
    """Return a router whose scores are recalibrated; see `Router.calibrate`."""
    raw = replace(router, calibrator=None, panel=None)
    scores = raw.scorer.score(raw.features(X))
    label_idx = encode_labels(y, router.classes)
    answer_idx = router.answer_numbers(experts, n_items=len(scores))
    raw = raw.mark_seen("calibrate", X, label_idx, answer_idx, disjoint=disjoint)
    right, asked = answer_idx == label_idx[:, None], answer_idx != MISSING
    fitted = Calibrator.fit(scores, label_idx, right, asked, method=method)
    if router.panel is not None:
        warnings.warn("calibrate drops the panel's thresholds; call conformalize again.", stacklevel=3)
    return replace(raw, calibrator=fitted)


def conformalize(
    router: "Router",
    X: Any,
    y: ArrayLike,
    experts: object,
    *,
    alpha: float,
    target: str,
    fees: Any,
    available: Any,
    strata: ArrayLike | None,
    disjoint: bool,
) -> "Router":
    """Return a router that chooses panels with a promise; see `Router.conformalize`."""
    scores = router.scores(X)
    label_idx = encode_labels(y, router.classes)
    answer_idx = router.answer_numbers(experts, n_items=len(scores))
    marked = router.mark_seen("conformalize", X, label_idx, answer_idx, disjoint=disjoint)
    panel = Panel.fit(
        scores,
        router.decide_scores(scores, fees=fees, available=available).deferred,
        label_idx,
        answer_idx,
        alpha=alpha,
        target=target,
        fees=fees,
        available=available,
        proven=router.proven,
        strata=strata,
    )
    return replace(marked, panel=panel)
