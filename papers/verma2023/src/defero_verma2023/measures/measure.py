"""All figures of one run, from what the network said of its test items: the same for stored and trained networks."""

import math
from typing import Any

from defero.judge import expected_calibration_error
from defero_verma2023.arrays import BoolArray, FloatArray
from defero_verma2023.calibration.calibrator import Calibrator
from defero_verma2023.measures.conformal_figures import conformal_figures
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.measures.who_decides import most_likely_right, team_correct, who_decides


def measure(
    test: TeamOutputs, *, calibration: TeamOutputs | None = None, seed: int = 0, sets: bool = True
) -> dict[str, Any]:
    """Return figure -> value; shares, not percent. A figure that is not defined is nan or left out.

    Parameters
    ----------
    test : TeamOutputs
        Of n items, K classes, J experts.
    calibration : TeamOutputs, optional
        Of items that neither the network nor `test` has seen; gives the figures after calibration, "calibrated.*".
    seed : int
        Of the splits for conformal sets.
    sets : bool
        Measure conformal sets and votes as well.

    Returns
    -------
    dict
        system_accuracy; class_accuracy, the model alone on all items; coverage, the share that the model keeps; ece,
        the mean of ece_by_expert (20 bins, all items); expert_accuracy by expert, and best_expert, the largest;
        calibrated.system_accuracy, calibrated.coverage, calibrated.ece; and those of `ConformalFigures.flat`.
        A mixture of experts, whose weights are no probabilities, has neither calibration nor sets.

    Examples
    --------
    >>> import numpy as np
    >>> one = TeamOutputs("ova", np.array([[0.0, 1.0]]), np.array([[2.0]]), np.array([[0]]), np.array([1]))
    >>> found = measure(one, sets=False)
    >>> found["system_accuracy"], found["class_accuracy"], found["coverage"]
    (0.0, 1.0, 0.0)
    """
    figures = {**_as_trained(test), **expert_figures(test.scores.expert_proba, test.expert_correct)}
    if test.link == "moe":
        return figures
    if calibration is not None:
        figures |= _after_calibration(test, calibration)
    if sets and test.n_experts:
        figures |= conformal_figures(test, seed=seed).flat()
    return figures


def expert_figures(expert_proba: FloatArray, expert_correct: BoolArray) -> dict[str, Any]:
    """Return how good each expert is, and how well the network knows it, from P(right) and who was, (n, J) each."""
    accuracy = expert_correct.mean(axis=0)
    errors = expected_calibration_error(expert_proba, expert_correct, average=None)
    return {
        "ece": float(errors.mean()) if len(accuracy) else math.nan,
        "ece_by_expert": errors.tolist(),
        "expert_accuracy": accuracy.tolist(),
        "best_expert": float(accuracy.max(initial=0.0)) if len(accuracy) else math.nan,
    }


def _as_trained(test: TeamOutputs) -> dict[str, Any]:
    expert = who_decides(test)
    return {
        "system_accuracy": float(team_correct(test, expert).mean()),
        "class_accuracy": float(test.model_correct.mean()),
        "coverage": float((expert < 0).mean()),
    }


def _after_calibration(test: TeamOutputs, calibration: TeamOutputs) -> dict[str, Any]:
    scores = Calibrator.fit(calibration.scores, calibration.labels, calibration.expert_correct).apply(test.scores)
    expert = most_likely_right(scores)
    return {
        "calibrated.system_accuracy": float(team_correct(test, expert).mean()),
        "calibrated.coverage": float((expert < 0).mean()),
        "calibrated.ece": expected_calibration_error(scores.expert_proba, test.expert_correct)
        if test.n_experts
        else math.nan,
    }
