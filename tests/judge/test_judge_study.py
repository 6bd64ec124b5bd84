"""A judge with errors on the scores of nine language models. Writes results/judge_noise.json."""

import time

import numpy as np
import pytest
from judge_study import SENSITIVITY, SPECIFICITY, coverage, learned_by_task, one_sample
from study_results import write_study

from defero.datasets import llm_routing_9

pytestmark = pytest.mark.slow
CHECKED, REPETITIONS = 500, 1000


def test_nine_language_models():
    started = time.process_time()
    pool = llm_routing_9()
    binary = np.isin(pool.scores, (0, 1)).all(axis=1)
    scores, task = pool.scores[binary], pool.features["task"].to_numpy()[binary]
    corrected, raw = coverage(scores, n_items=len(scores), n_checked=CHECKED, repetitions=REPETITIONS)
    judge, rows = one_sample(scores, n_checked=CHECKED)
    learned = learned_by_task(scores, task, n_checked=CHECKED)
    write_study(
        "judge_noise",
        cpu_seconds=time.process_time() - started,
        seed=0,
        setting={
            "scores": "llm-routing-9, the items with right or wrong scores alone",
            "n_items": len(scores),
            "sensitivity": SENSITIVITY,
            "specificity": SPECIFICITY,
            "checked_answers": CHECKED,
            "repetitions": REPETITIONS,
        },
        coverage_of_95_percent_intervals={
            name: {"truth": float(mean), "corrected": float(ours), "uncorrected": float(plain)}
            for name, mean, ours, plain in zip(pool.expert_names, scores.mean(axis=0), corrected, raw, strict=True)
        },
        one_sample={
            "estimated_sensitivity": judge.sensitivity,
            "estimated_specificity": judge.specificity,
            "members": dict(zip(pool.expert_names, rows, strict=True)),
        },
        learned_by_task=learned,
    )
    assert corrected.min() >= 0.93
    fixed_point = (1 - SPECIFICITY) / (2 - SENSITIVITY - SPECIFICITY)  # there the errors of a judge cancel
    assert raw[np.abs(scores.mean(axis=0) - fixed_point) > 0.06].max() <= 0.05
    assert learned["corrected"]["rmse"] < learned["marks"]["rmse"]
