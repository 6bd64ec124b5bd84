"""Four hundred repetitions: the promises hold on fresh items, and no better than they must.

200 calibration rows with a right expert, 50 fresh ones, ten experts, continuous scores that are poor
probabilities. Each repetition gives one mean over its fresh items; se is the standard error of their mean.
"""

import numpy as np
import pytest

from defero.decide.panels import ExpertSetPredictor
from defero.judge import missed_share, set_coverage

N, N_FRESH, N_EXPERTS, REPETITIONS = 200, 50, 10, 400
ALPHAS = [0.05, 0.1, 0.2]
TARGETS = ["all-correct", "missed-share", "any-correct"]


def draw(rng, *, power=2.0, share_observed=1.0):
    """Return scores, correct and observed of 250 items, each with a right observed expert."""
    scores = rng.random((700, N_EXPERTS))
    correct = rng.random(scores.shape) < 0.5 * scores**power
    observed = rng.random(scores.shape) < share_observed
    usable = np.flatnonzero((correct & observed).any(axis=1))[: N + N_FRESH]
    assert len(usable) == N + N_FRESH
    return scores[usable], correct[usable], observed[usable]


def kept(target, mask, correct, observed=None):
    """One minus the loss that the target promises to keep at or below alpha."""
    if target == "missed-share":
        return 1 - missed_share(mask, correct, observed)
    return set_coverage(mask, correct, observed, target=target)


def check(target, alpha, means):
    mean, se = np.mean(means), np.std(means, ddof=1) / np.sqrt(len(means))
    assert mean >= 1 - alpha - 3 * se
    if target != "missed-share":
        assert mean <= 1 - alpha + 1 / (N + 1) + 3 * se


@pytest.fixture(scope="module")
def full():
    rng = np.random.default_rng(1)
    return [draw(rng) for _ in range(REPETITIONS)]


@pytest.fixture(scope="module")
def half_observed():
    rng = np.random.default_rng(2)
    return [draw(rng, share_observed=0.5) for _ in range(REPETITIONS)]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_promise_is_kept(full, target, alpha):
    raw, filled = [], []
    for scores, correct, _ in full:
        sets = ExpertSetPredictor(target=target, alpha=alpha).fit(scores[:N], correct[:N]).predict(scores[N:])
        raw.append(kept(target, sets.raw_mask, correct[N:]))
        filled.append(kept(target, sets, correct[N:]))
    check(target, alpha, raw)
    assert np.all(np.array(filled) >= np.array(raw))  # adding an expert never breaks a promise


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_promise_is_kept_for_observed_experts_only(half_observed, target, alpha):
    among_observed, among_all = [], []
    for scores, correct, observed in half_observed:
        predictor = ExpertSetPredictor(target=target, alpha=alpha).fit(scores[:N], correct[:N], observed[:N])
        sets = predictor.predict(scores[N:], fill_empty=False)
        among_observed.append(kept(target, sets, correct[N:], observed[N:]))
        among_all.append(kept(target, sets, correct[N:]))
    check(target, alpha, among_observed)
    if target == "all-correct":  # twice as many right experts, and the set is not made for half of them
        assert np.mean(among_all) < 1 - alpha - 10 * np.std(among_all) / np.sqrt(REPETITIONS)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("target", TARGETS)
def test_the_promise_is_kept_inside_each_stratum(target, alpha):
    """Two strata with other laws: calibrated together, one of them is failed; with strata, none."""
    rng = np.random.default_rng(3)
    found = {power: [] for power in (0.5, 3.0)}
    pooled = {power: [] for power in found}
    strata = np.repeat(list(found), N), np.repeat(list(found), N_FRESH)
    for _ in range(REPETITIONS):
        parts = [draw(rng, power=power) for power in found]
        scores, correct = (
            [np.concatenate([part[k][rows] for part in parts]) for rows in (slice(N), slice(N, None))] for k in (0, 1)
        )
        predictor = ExpertSetPredictor(target=target, alpha=alpha)
        by_stratum = predictor.fit(scores[0], correct[0], strata=strata[0]).predict(scores[1], strata=strata[1])
        together = predictor.fit(scores[0], correct[0]).predict(scores[1], fill_empty=False)
        for power in found:
            rows = strata[1] == power
            found[power].append(kept(target, by_stratum.raw_mask[rows], correct[1][rows]))
            pooled[power].append(kept(target, together.mask[rows], correct[1][rows]))
    for means in found.values():
        check(target, alpha, means)
    assert min(np.mean(means) for means in pooled.values()) < 1 - alpha - 0.1 * alpha
