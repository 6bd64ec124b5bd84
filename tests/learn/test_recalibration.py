"""What `calibrate` mends of experts whose log-odds are too large; figures in statistical/results/recalibration.json."""

import time

import numpy as np
import pytest
from calibration_problems import draw_case
from study_results import write_study

from defero.judge import smooth_calibration_error
from defero.learn import Calibrator

SEED, N_NEW = 50_000, 1_000
RUNS = {30: 100, 500: 20}
FACTORS = (1.0, 1.25, 1.5, 2.5)
SHARES = np.linspace(0.1, 0.9, 10)
"""Of the items that each of ten experts has answered, where answers are uneven."""
KINDS = {"all answers": None, "uneven": SHARES}


def errors(n, factor, kind, seed):
    """Return the experts' smooth calibration error on new cases, before and after."""
    shares = KINDS[kind]
    scores, labels, correct = draw_case(n, boast=factor, seed=seed, skill_seed=seed)
    observed = np.ones(correct.shape, dtype=bool)
    if shares is not None:
        rank = np.random.default_rng([seed, 3]).permuted(np.tile(np.arange(n)[:, None], len(shares)), axis=0)
        observed = rank < np.round(shares * n)
    new, _, right = draw_case(N_NEW, boast=factor, seed=seed + 10**6, skill_seed=seed)
    after = Calibrator.fit(scores, labels, correct, observed).apply(new)
    return [smooth_calibration_error(one.expert_proba, right) for one in (new, after)]


def mean_errors(n, factor, kind, *, runs):
    each = np.array([errors(n, factor, kind, SEED + run) for run in range(runs)])
    change = each[:, 1] - each[:, 0]
    return {
        "runs": runs,
        "before": each[:, 0].mean(),
        "after": each[:, 1].mean(),
        "change_se": change.std(ddof=1) / runs**0.5,
    }


def test_a_few_runs_mend_what_claims_too_much():
    row = mean_errors(500, 2.5, "uneven", runs=2)
    assert row["after"] < row["before"] / 2


@pytest.mark.slow
def test_what_is_mended():
    start = time.process_time()
    rows = {
        f"{n} items, {kind}, factor {factor:g}": mean_errors(n, factor, kind, runs=runs)
        for n, runs in RUNS.items()
        for kind in KINDS
        for factor in FACTORS
    }
    write_study(
        "recalibration", cpu_seconds=time.process_time() - start, seeds=f"{SEED} to {SEED} + runs - 1", rows=rows
    )
    for kind in KINDS:
        assert all(rows[f"{n} items, {kind}, factor 2.5"]["after"] < 0.06 for n in RUNS)
        assert rows[f"500 items, {kind}, factor 1"]["after"] < rows[f"500 items, {kind}, factor 1"]["before"] + 0.002
        assert all(rows[f"500 items, {kind}, factor {factor:g}"]["after"] < 0.04 for factor in FACTORS)
