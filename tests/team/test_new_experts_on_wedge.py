"""New experts on WEDGE: a few seeds here, twenty in `make slow`. Writes results/."""

import json
import platform
import time
from pathlib import Path

import numpy as np
import pytest
from newcomer_study import GIVEN, PROBLEMS, TEAMS, study

from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "statistical" / "results" / "new_experts.json"
AMONG_MANY, LIKE_NOBODY = PROBLEMS
SEEDS, MANY_SEEDS = 20, 100


def mean_of(found):
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def check_errors(mean):
    """The newcomer's probabilities are close, and by class they could not be: skill goes by region."""
    assert mean["error, 50"] <= 0.11
    assert mean["error, 200"] <= 0.06
    assert min(mean["error by class, 50"], mean["error by class, 200"]) > 0.2


def check_accuracy(mean):
    """The team is as good as one that was trained anew, and none the worse for somebody of whom nothing is known."""
    assert mean["accuracy, 0"] >= mean["accuracy, ignoring them"] - 1e-12
    for m in GIVEN[1:]:
        assert mean[f"accuracy, {m}"] >= mean[f"accuracy retrained, {m}"] - 0.01


def test_a_newcomer_among_twenty():
    mean = mean_of([study(TEAMS["two-stage"], PROBLEMS[AMONG_MANY], seed) for seed in range(2)])
    check_errors(mean)
    check_accuracy(mean)


def test_a_newcomer_among_twenty_beside_a_table_s_own_skill():
    team = TEAMS["a table"]
    check_errors(mean_of([study(team, PROBLEMS[AMONG_MANY], seed, retrain=False) for seed in range(2)]))


def test_a_newcomer_like_nobody_makes_the_team_better():
    mean = mean_of([study(TEAMS["two-stage"], PROBLEMS[LIKE_NOBODY], seed) for seed in range(4)])
    check_accuracy(mean)
    assert mean["accuracy, 50"] > mean["accuracy, ignoring them"] + 0.04


def summary(found):
    """Mean, standard error and the worst over seeds, of each figure."""
    rows = {key: np.array([one[key] for one in found]) for key in found[0]}
    return {
        key: {
            "mean": round(float(v.mean()), 4),
            "se": round(float(v.std(ddof=1) / np.sqrt(len(v))), 4),
            "worst": round(float(v.max() if "error" in key else v.min()), 4),
        }
        for key, v in rows.items()
    }


@pytest.mark.slow
def test_twenty_seeds_of_each_team():
    started, rows = time.process_time(), {}
    for name, problem in PROBLEMS.items():
        for team, make in TEAMS.items():
            rows[f"{name}; {team}"] = summary([study(make, problem, seed) for seed in range(SEEDS)])
    # Fifty answers of somebody like nobody tell more or less, as they fall: twenty seeds are too few for that figure.
    more = [study(TEAMS["two-stage"], PROBLEMS[LIKE_NOBODY], seed, retrain=False) for seed in range(MANY_SEEDS)]
    rows[f"{LIKE_NOBODY}; two-stage, {MANY_SEEDS} seeds"] = summary(more)
    facts = {
        "command": "make slow",
        "what": "mean |p_hat - p| of a new expert, and the team's true accuracy, by how many answers they gave",
        "seeds": f"0 to {SEEDS - 1} where a row names no other number",
        "versions": library_versions(),
        "machine": f"{platform.machine()}, one thread",
        "cpu_seconds": round(time.process_time() - started),
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(facts, indent=1) + "\n")
    for name, row in rows.items():
        mean = {key: one["mean"] for key, one in row.items()}
        if name.startswith(AMONG_MANY) or name.endswith("seeds"):
            check_errors(mean)
        if not name.endswith("seeds"):
            check_accuracy(mean)
