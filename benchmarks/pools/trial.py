"""One system on one split: quality, cost, area over the zero router, calibration, CPU seconds."""

import time
from typing import Any

import numpy as np

from benchmarks.pools.sets import PoolSet
from benchmarks.pools.systems import Outcome, PoolSystem
from defero.core.checks.arrays import FloatArray
from defero.decide.curve import curve_of, member_means
from defero.decide.frontier import upper_hull

Line = dict[str, Any]
N_BINS = 10


def run_trial(data: PoolSet, system: PoolSystem, seed: int, *, task: bool) -> Line:
    """Fit on the training rows, choose for the test rows, and judge."""
    train, test = data.split(seed)
    table = data.table if task or system.needs_task else data.table[["question"]]
    began = time.process_time()
    outcome = system.expected(table.iloc[train], data.scores[train], table.iloc[test])
    seconds = time.process_time() - began
    line: Line = {
        "study": "choice",
        "set": data.name,
        "task": task,
        "system": system.name,
        "split": seed,
        "n_train": len(train),
        "n_test": len(test),
        "chosen": outcome.chosen,
        "cpu_s": round(seconds, 2),
        **quality_figures(outcome.expected, data.scores[test], best=int(data.scores[train].mean(axis=0).argmax())),
    }
    if system.name not in ("random", "classifier of the best"):
        line |= calibration_figures(outcome, data.scores[test])
    if data.prices is not None:
        line |= price_figures(outcome.expected, data, train, test)
    return line


def quality_figures(expected: FloatArray, scores: FloatArray, *, best: int) -> Line:
    """Return the mean score of those chosen, and the share of the gap from the best single to the oracle."""
    rows, who = np.arange(len(scores)), expected.argmax(axis=1)
    quality, single, oracle = scores[rows, who].mean(), scores[:, best].mean(), scores.max(axis=1).mean()
    return {
        "quality": round(float(quality), 5),
        "best_single": round(float(single), 5),
        "oracle": round(float(oracle), 5),
        "gap_share": round(float((quality - single) / (oracle - single)), 4),
    }


def calibration_figures(outcome: Outcome, scores: FloatArray) -> Line:
    """Return what was promised of the chosen ones, and the mean error of ten bins of all expected scores."""
    inside = np.clip(outcome.expected, 0.0, 1.0)
    promised = inside.max(axis=1) if outcome.promised is None else outcome.promised
    flat, truth = inside.ravel(), scores.ravel()
    order = np.array_split(np.argsort(flat, kind="stable"), N_BINS)
    error = sum(len(part) * abs(flat[part].mean() - truth[part].mean()) for part in order) / len(flat)
    return {
        "promised": round(float(promised.mean()), 5),
        "squared_error": round(float(((inside - scores) ** 2).mean()), 5),
        "calibration_error": round(float(error), 5),
    }


def price_figures(expected: FloatArray, data: PoolSet, train: Any, test: Any) -> Line:
    """Return the area over the zero router, and the quality at the costs of two members; hull from training rows."""
    assert data.prices is not None
    cost, quality = member_means(data.prices[train], data.scores[train])
    hull, best, cheap = upper_hull(cost, quality), int(quality.argmax()), int(cost.argmin())
    curve = curve_of(expected, data.prices[test], scores=data.scores[test], expert_names=data.expert_names, hull=hull)
    middle = float((curve.member_cost[best] + curve.member_cost[cheap]) / 2)
    rows, who = np.arange(len(test)), expected.argmax(axis=1)
    return {
        "cost": round(float(data.prices[test][rows, who].mean()), 4),
        "area": round(curve.area, 5),
        "quality_at_best_cost": round(curve.at_cost(float(curve.member_cost[best])), 5),
        "quality_at_half_cost": round(curve.at_cost(middle), 5),
        "zero_at_half_cost": round(curve.zero_at_cost(middle), 5),
        "cheapest": round(float(curve.member_quality[cheap]), 5),
    }
