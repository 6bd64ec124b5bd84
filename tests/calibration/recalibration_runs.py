"""Many runs of one recalibration: what it changes on new cases, on average over the runs."""

import numpy as np
from calibration_problems import draw_case

from defero.calibration import Calibrator
from defero.judge.smooth import smooth_calibration_error


def errors_of(scores, correct):
    """Mean smooth calibration error over the experts, and mean log loss."""
    log_loss = np.logaddexp(0, np.where(correct, -scores.expert_raw, scores.expert_raw)).mean()
    return np.array([smooth_calibration_error(scores.expert_proba, correct), log_loss])


def seen_cells(correct, observed, seed):
    """All answers, or a half that is uneven: 10 % of the first expert's to 90 % of the last one's."""
    if observed == "all":
        return np.ones_like(correct)
    return np.random.default_rng(seed).random(correct.shape) < np.linspace(0.1, 0.9, correct.shape[1])


def run_many(runs, *, n, boast, methods, link="logit", observed="all", n_test=2_000, first_seed=0):
    """For each method: both errors before, the mean change by it (after minus before), and its standard error."""
    changes, before = {method: [] for method in methods}, []
    for seed in range(first_seed, first_seed + runs):
        scores, labels, correct = draw_case(n, boast=boast, link=link, seed=seed, skill_seed=seed)
        new, _, new_correct = draw_case(n_test, boast=boast, link=link, seed=100_000 + seed, skill_seed=seed)
        seen = seen_cells(correct, observed, seed)
        plain = Calibrator.fit(scores, labels, correct, seen, method="none").apply(new)
        before.append(errors_of(plain, new_correct))
        for method in methods:
            honest = Calibrator.fit(scores, labels, correct, seen, method=method).apply(new)
            changes[method].append(errors_of(honest, new_correct) - before[-1])
    start = np.mean(before, axis=0)
    found = {}
    for method, each in changes.items():
        mean, error = np.mean(each, axis=0), np.std(each, axis=0, ddof=1) / np.sqrt(runs)
        found[method] = {
            "before": start[0], "error": mean[0], "error_se": error[0],
            "log_loss_before": start[1], "log_loss": mean[1], "log_loss_se": error[1],
        }  # fmt: skip
    return {method: {key: float(value) for key, value in row.items()} for method, row in found.items()}
