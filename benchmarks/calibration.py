"""How long the calibration metrics take on a million items and twenty experts, and beside a plain loop."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.judge import (
    brier_score,
    calibration_by_group,
    decision_calibration,
    expected_calibration_error,
    reliability_bins,
    smooth_calibration_error,
    smooth_calibration_interval,
)


def draw(n_items: int, n_experts: int) -> tuple[FloatArray, BoolArray]:
    """Return confidences, mostly high as those of good experts, and who was right."""
    rng = np.random.default_rng(0)
    confidence = rng.beta(4.0, 1.5, size=(n_items, n_experts))
    return confidence, rng.random((n_items, n_experts)) < confidence**1.2


def plain_error(confidence: FloatArray, correct: BoolArray) -> float:
    """Return the expected calibration error item by item: the plain formulation."""
    errors = []
    for column, right in zip(confidence.T.tolist(), correct.T.tolist(), strict=True):
        gap = [0.0] * 20
        for said, came_true in zip(column, right, strict=True):
            b = 0
            while said > (b + 1) / 20:
                b += 1
            gap[b] += said - came_true
        errors.append(sum(abs(one) for one in gap) / len(column))
    return sum(errors) / len(errors)


def masked_error(confidence: FloatArray, correct: BoolArray) -> float:
    """Return the same bin by bin, with one mask per bin: the formulation most often seen."""
    errors = []
    for column, right in zip(confidence.T, correct.T, strict=True):
        error = 0.0
        for b in range(20):
            inside = (column > b / 20) & (column <= (b + 1) / 20)
            if inside.any():
                error += float(inside.mean() * abs(column[inside].mean() - right[inside].mean()))
        errors.append(error)
    return sum(errors) / len(errors)


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the best of five runs."""
    seconds = []
    for _ in range(5):
        before = time.process_time()
        call()
        seconds.append(time.process_time() - before)
    return min(seconds)


def beside_a_loop() -> dict[str, float]:
    """Return what the expected calibration error takes on 9,216 items and ten experts, and what loops take."""
    case = draw(9_216, 10)
    found = expected_calibration_error(*case)
    assert abs(found - plain_error(*case)) < 1e-9
    assert abs(found - masked_error(*case)) < 1e-9
    ours, masks, loop = (
        cpu_seconds(partial(call, *case)) for call in (expected_calibration_error, masked_error, plain_error)
    )
    size = "9,216 items, 10 experts"
    return {
        f"{size}: expected calibration error": round(ours, 5),
        f"{size}: with one mask per bin": round(masks, 4),
        f"{size}: item by item": round(loop, 3),
        f"{size}: masks / ours": round(masks / ours, 1),
        f"{size}: item by item / ours": round(loop / ours, 1),
    }


def a_million() -> dict[str, float]:
    """Return what each metric takes on a million items and twenty experts."""
    confidence, correct = draw(1_000_000, 20)
    groups, whom = np.arange(1_000_000) % 10, np.arange(1_000_000) % 21 - 1
    calls: dict[str, Callable[[], object]] = {
        "expected calibration error": partial(expected_calibration_error, confidence, correct),
        "pooled expected calibration error": partial(expected_calibration_error, confidence.ravel(), correct.ravel()),
        "reliability bins": partial(reliability_bins, confidence, correct),
        "calibration by group": partial(calibration_by_group, confidence, correct, groups),
        "decision calibration": partial(decision_calibration, whom, confidence, correct),
        "smooth calibration error": partial(smooth_calibration_error, confidence, correct),
        "smooth calibration error of one expert, 200 resamples": partial(
            smooth_calibration_interval, confidence[:, 0], correct[:, 0], rng=np.random.default_rng(0)
        ),
        "Brier score": partial(brier_score, confidence, correct),
    }
    return {f"1,000,000 items, 20 experts: {name}": round(cpu_seconds(call), 3) for name, call in calls.items()}


def run() -> dict[str, float]:
    """Return the best of five for each metric, and the ratio to plain formulations."""
    return beside_a_loop() | a_million()
