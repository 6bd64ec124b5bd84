"""How long it takes to calibrate and to predict panels of experts, beside a plain grid of 1,500 thresholds."""

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.decide.panels import TARGETS, ExpertSetPredictor

ALPHA = 0.1


def draw(n_items: int, n_experts: int) -> tuple[FloatArray, BoolArray]:
    """Return scores and who was right."""
    rng = np.random.default_rng(0)
    scores = rng.random((n_items, n_experts))
    return scores, rng.random((n_items, n_experts)) < scores


def grid_threshold(scores: FloatArray, right: BoolArray) -> float:
    """Return the largest of 1,500 thresholds that keeps the missed share: the plain formulation."""
    scores, right = scores[right.any(axis=1)], right[right.any(axis=1)]
    n_right, best = right.sum(axis=1), 0.0
    for tau in np.linspace(0, 1, 1500):
        missed = (right & (scores < tau)).sum(axis=1) / n_right
        if (missed.sum() + 1) / (len(scores) + 1) <= ALPHA:
            best = float(tau)
    return best


def cpu_seconds(call: Callable[..., object], *arguments: object) -> float:
    """Return the best of five runs."""
    seconds = []
    for _ in range(5):
        before = time.process_time()
        call(*arguments)
        seconds.append(time.process_time() - before)
    return min(seconds)


def beside_a_grid() -> dict[str, float]:
    """Return what calibration takes, and what the grid takes for the same threshold."""
    scores, right = draw(7_372, 10)
    panel = ExpertSetPredictor(target="missed-share", alpha=ALPHA)
    sort, grid = cpu_seconds(panel.fit, scores, right), cpu_seconds(grid_threshold, scores, right)
    assert 0 <= panel.thresholds_[None] - grid_threshold(scores, right) <= 1 / 1499
    return {
        "7,372 items, 10 experts: calibrate missed-share": round(sort, 5),
        "7,372 items, 10 experts: a grid of 1,500 thresholds": round(grid, 3),
        "7,372 items, 10 experts: grid / calibrate": round(grid / sort, 1),
    }


def a_million() -> dict[str, float]:
    """Return what each target takes on a million items."""
    scores, right = draw(1_000_000, 20)
    figures = {}
    for target in TARGETS:
        panel = ExpertSetPredictor(target=target, alpha=ALPHA)
        figures[f"1,000,000 items, 20 experts: calibrate {target}"] = round(cpu_seconds(panel.fit, scores, right), 3)
        figures[f"1,000,000 items, 20 experts: predict {target}"] = round(cpu_seconds(panel.predict, scores), 3)
    return figures


def peak_gigabytes() -> float:
    """Return the most memory held while a million items are calibrated and predicted, the inputs among it."""
    tracemalloc.start()
    scores, right = draw(1_000_000, 20)
    tracemalloc.reset_peak()
    for target in TARGETS:
        ExpertSetPredictor(target=target, alpha=ALPHA).fit(scores, right).predict(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e9


def run() -> dict[str, float]:
    """Return the best of five for each step, the ratio to the grid, and the memory."""
    memory = {"1,000,000 items, 20 experts: peak memory with the inputs, GB": round(peak_gigabytes(), 2)}
    return beside_a_grid() | a_million() | memory
