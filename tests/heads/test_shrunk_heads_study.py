"""Shrunk heads on real crowds and new experts on WEDGE: one split here, ten or more in `make slow`. Writes results/."""

import json
import platform
import time
from pathlib import Path

import numpy as np
import pytest
from head_studies import (
    CROWDS,
    ESTIMATORS,
    crowd,
    crowd_split,
    estimator_split,
    left_out_errors,
    new_expert_errors,
)
from scipy.stats import t as student

from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "statistical" / "results" / "shrunk_heads.json"
RIVALS = ("frequency, 8 pseudo-answers", "independent ridge", "common head")
SPLITS, EXPERTS = 10, 200


@pytest.mark.parametrize("name", CROWDS)
def test_one_split_of_a_crowd(name):
    found = crowd_split(crowd(name), 0)
    assert found["shrunk heads"] < min(found[rival] for rival in RIVALS) - 0.002


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_split_of_a_crowd_through_the_estimators(estimator):
    """On the smaller crowd: the estimator finds its class model and its heads itself."""
    data = crowd("keswani_toxicity")
    rivals = crowd_split(data, 0, classes=ESTIMATORS[estimator][1])
    ours = estimator_split(data, 0, (estimator,))[estimator]
    assert ours < min(rivals[rival] for rival in RIVALS)


def test_new_experts_on_wedge():
    found = [new_expert_errors(seed) for seed in range(15)]
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    assert mean["50"] <= 0.10
    assert mean["200"] <= 0.06
    assert mean["0"] <= 0.27  # nobody knows their region yet
    assert min(mean["50, by class"], mean["200, by class"]) > 0.2  # skill goes by region, not by class


def paired(differences):
    """Mean and 95 % interval of paired differences over splits, plain and corrected for their overlap."""
    mean, n = float(np.mean(differences)), len(differences)
    variance, far = float(np.var(differences, ddof=1)), float(student.ppf(0.975, n - 1))
    plain, corrected = (far * np.sqrt(variance * share) for share in (1 / n, 1 / n + 0.3 / 0.7))
    return {"mean": mean, "interval": [mean - plain, mean + plain], "corrected": [mean - corrected, mean + corrected]}


def with_means(losses):
    return {key: {"mean": float(np.mean(each)), "each": each} for key, each in losses.items()}


def through_estimators(data, plain):
    """Each estimator beside the rivals that read a class model of the same kind, and beside those of the study."""
    scaled = [crowd_split(data, seed, classes="standardised") for seed in range(SPLITS)]
    rivals = {"plain": plain, "standardised": scaled}
    each = [estimator_split(data, seed) for seed in range(SPLITS)]
    found = {}
    for name, (_, kind) in ESTIMATORS.items():
        losses = [one[name] for one in each]
        found[name] = {
            "held-out log loss of P(annotator right)": {"mean": float(np.mean(losses)), "each": losses},
            "rivals' class model": kind,
            "minus": {key: paired(np.subtract(losses, [one[key] for one in rivals[kind]])) for key in RIVALS},
            "minus those with the plain class model": {
                key: paired(np.subtract(losses, [one[key] for one in plain])) for key in RIVALS
            },
        }
    return found


@pytest.mark.slow
def test_ten_splits_and_two_hundred_new_experts():
    started, rows = time.process_time(), {}
    for name in CROWDS:
        data = crowd(name)
        each = [crowd_split(data, seed) for seed in range(SPLITS)]
        losses = {key: [one[key] for one in each] for key in each[0]}
        gaps = {key: np.subtract(losses["shrunk heads"], losses[key]) for key in RIVALS}
        rows[name] = {
            "held-out log loss of P(annotator right)": with_means(losses),
            "shrunk heads minus": {key: paired(gap) for key, gap in gaps.items()},
            "estimators": through_estimators(data, each),
        }
    populations = {
        "wedge, 20 known specialists of 500 answers each: mean |p_hat - p| of a new one": [
            new_expert_errors(seed) for seed in range(EXPERTS)
        ],
        "wedge, the default four, each new to the other three of 4,000 answers: mean |p_hat - p|": [
            left_out_errors(seed, seed % 4) for seed in range(EXPERTS)
        ],
    }
    for name, errors in populations.items():
        rows[name] = {
            key: {"mean": float(np.mean(v)), "se": float(np.std(v, ddof=1) / np.sqrt(EXPERTS))}
            for key, v in ((key, [one[key] for one in errors]) for key in errors[0])
        }
    facts = {
        "command": "make slow, with DEFERO_DATA",
        "seeds": f"splits 0 to {SPLITS - 1}, new experts 0 to {EXPERTS - 1}",
        "interval": "95 %, Student's t over splits; corrected: variance times 1/n + n_test/n_train (Nadeau and Bengio)",
        "versions": library_versions(),
        "machine": f"{platform.machine()}, one thread",
        "cpu_seconds": round(time.process_time() - started),
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(facts, indent=1) + "\n")
    for name in CROWDS:
        for rival in RIVALS:
            assert rows[name]["shrunk heads minus"][rival]["corrected"][1] < 0, (name, rival)
            for estimator, found in rows[name]["estimators"].items():
                assert found["minus"][rival]["interval"][1] < 0, (name, estimator, rival)
                assert found["minus those with the plain class model"][rival]["interval"][1] < 0, (name, estimator)
    for name in populations:
        assert rows[name]["50"]["mean"] <= 0.10, name
        assert rows[name]["200"]["mean"] <= 0.06, name
