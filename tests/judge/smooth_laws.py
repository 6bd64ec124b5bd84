"""Forecasters whose smooth calibration error is known, and how often intervals hold it."""

from statistics import NormalDist

import numpy as np
from scipy.stats import binom

from defero.judge import smooth_calibration_interval


def overconfident(mean, spread, factor):
    """Return a law of true log-odds N(mean, spread), told `factor` times as large, and its error on a fine grid."""

    def law(logit):
        return 1 / (1 + np.exp(-factor * logit)), 1 / (1 + np.exp(-logit))

    middle = (np.arange(20_000) + 0.5) / 20_000
    grid = np.array([NormalDist(mean, spread).inv_cdf(u) for u in middle])
    return lambda rng, n: law(rng.normal(mean, spread, n)), law(grid)


def shifted(low, high, *, by=0.1):
    return lambda rng, n: (lambda s: (s, s - by))(rng.uniform(low, high, n))


LAWS = {
    "shifted": (shifted(0.1, 1.0), 0.1),
    "shifted, sure": (shifted(0.6, 0.95), 0.1),
    "over-confident": (overconfident(0, 1, 2.0122)[0], 0.1),
    "over-confident, sure": (overconfident(1, 1, 1.9478)[0], 0.1),
}
SMALL = (shifted(0.1, 1.0, by=0.02), 0.02)
"""An error that chance alone brings at such sizes."""
PERFECT = (lambda rng, n: (rng.random(n),) * 2, 0.0)
SURE = ((30, 0.8, 0.98), (30, 0.99, 0.95), (20, 0.97, 0.9), (100, 0.99, 0.97))
"""Items, claim, truth: nearly everything is right."""


def covered(draw, truth, *, n_items, n_runs, n_resamples=200):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(n_runs):
        confidence, probability = draw(rng, n_items)
        correct = rng.random(n_items) < probability
        found = smooth_calibration_interval(confidence, correct, n_resamples=n_resamples, rng=rng)
        hits += found.low <= truth <= found.high
    return hits / n_runs


def covered_at(n_items, claim, truth, *, n_resamples=100):
    """Return the coverage where all have one claim: the sum over the likely numbers of right answers."""
    rng, kept = np.random.default_rng(0), 0.0
    chance = binom.pmf(np.arange(n_items + 1), n_items, truth)
    for right in np.flatnonzero(chance > 1e-3):
        correct = np.arange(n_items) < right
        found = smooth_calibration_interval(np.full(n_items, claim), correct, n_resamples=n_resamples, rng=rng)
        kept += chance[right] * (found.low - 1e-9 <= abs(claim - truth) <= found.high + 1e-9)
    return kept / chance[chance > 1e-3].sum()
