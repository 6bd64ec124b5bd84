"""The selection map of a calibrated team: from held-out scores of training rows, or from the calibration rows."""

from dataclasses import replace

import numpy as np

from defero.calibration.after_selection import HeldOut, SelectionMap, fit_selection
from defero.calibration.calibrator import Calibrator
from defero.calibration.maps import Method
from defero.core.scores import Scores

_FOLDS = 5


def selection_after(
    rows: HeldOut, training: HeldOut | None, calibrator: Calibrator, *, method: Method
) -> SelectionMap | None:
    """Return the map for calibrated scores; None for weights, which are no probabilities.

    Parameters
    ----------
    rows : HeldOut
        Uncalibrated scores of the rows that the calibrator was fitted on.
    training : HeldOut, optional
        Uncalibrated out-of-fold scores of the training rows, which are many more.
    calibrator : Calibrator
    method : str
        Of the calibrator.
    """
    if rows.scores.link == "weight":
        return None
    if training is not None:
        return fit_selection(replace(training, scores=calibrator.apply(training.scores)))
    return fit_selection(_cross_fitted(rows, method))


def _cross_fitted(rows: HeldOut, method: Method) -> HeldOut:
    """Return the rows with scores that the other folds calibrated: rows that calibrated hide the selection bias."""
    n = len(rows.label_idx)
    fold = np.arange(n) % min(_FOLDS, max(n, 1))
    parts, order = [], []
    for k in np.unique(fold):
        inside, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(rest) == 0:
            continue
        calibrator = Calibrator.fit(
            rows.scores.take(rest), rows.label_idx[rest], rows.correct[rest], rows.observed[rest], method=method
        )
        parts.append(calibrator.apply(rows.scores.take(inside)))
        order.append(inside)
    if not parts:
        return rows
    place = np.argsort(np.concatenate(order))
    joined = Scores(
        np.concatenate([part.class_proba for part in parts])[place],
        np.concatenate([part.expert_proba for part in parts])[place],
        np.concatenate([part.model_proba for part in parts])[place],
        np.concatenate([part.expert_raw for part in parts])[place],
        "logit",
    )
    return replace(rows, scores=joined, fold=fold)
