"""Shrunk heads on real crowds and new experts on WEDGE: one split here, ten or more in `make slow`. Writes results/."""

import json
import platform
import time
from pathlib import Path

import numpy as np
import pytest
from head_studies import CROWDS, crowd, crowd_split, left_out_errors, new_expert_errors
from scipy.stats import t as student

from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "statistical" / "results" / "shrunk_heads.json"
RIVALS = ("frequency, 8 pseudo-answers", "independent ridge", "common head")
SPLITS, EXPERTS = 10, 200


@pytest.mark.parametrize("name", CROWDS)
def test_one_split_of_a_crowd(name):
    found = crowd_split(crowd(name), 0)
    assert found["shrunk heads"] < min(found[rival] for rival in RIVALS) - 0.002


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


@pytest.mark.slow
def test_ten_splits_and_two_hundred_new_experts():
    started, rows = time.process_time(), {}
    for name in CROWDS:
        data = crowd(name)
        each = [crowd_split(data, seed) for seed in range(SPLITS)]
        losses = {key: [one[key] for one in each] for key in each[0]}
        gaps = {key: np.subtract(losses["shrunk heads"], losses[key]) for key in RIVALS}
        rows[name] = {
            "held-out log loss of P(annotator right)": {
                key: {"mean": float(np.mean(v)), "each": v} for key, v in losses.items()
            },
            "shrunk heads minus": {key: paired(gap) for key, gap in gaps.items()},
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
    for name in populations:
        assert rows[name]["50"]["mean"] <= 0.10, name
        assert rows[name]["200"]["mean"] <= 0.06, name
