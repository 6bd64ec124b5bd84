"""On the authors' stored outputs: our calibration error is theirs, expert by expert and in the figures."""

import csv
import json

import numpy as np
import pytest
from stored_cases import stored_folder

from defero.judge import expected_calibration_error
from defero.losses import scores_from_logits
from defero_verma2023.stored.outputs import list_runs, read_run

FIGURES = {"fig1-ham10000": "ham10000_increase_experts", "fig2c": "cifar10_sim2_increase_confidence"}
SEEDS = {"ham10000_increase_experts": 3, "cifar10_sim2_increase_confidence": 1}


@pytest.fixture(scope="module")
def folder():
    return stored_folder()


@pytest.fixture(scope="module")
def errors(folder):
    """Each run's entry with the errors of its J experts and the distance of a confidence from a bin's border."""
    found = []
    for entry in list_runs(folder):
        if entry.has_logits:
            run = read_run(folder, entry)
            proba = scores_from_logits(entry.method, run.class_logits, run.expert_logits).expert_proba
            error = expected_calibration_error(proba, run.expert_correct, average=None)
            found.append((entry, error, inner_border_distance(proba)))
    return found


@pytest.fixture(scope="module")
def published(folder):
    with (folder / "published_figures.csv").open(encoding="utf-8", newline="") as lines:
        return [line for line in csv.DictReader(lines) if line["metric"].startswith("ece") and line["method"] != "moe"]


def inner_border_distance(proba):
    """The smallest distance of each expert's confidences from the nearest of 1/20, ..., 19/20, (J,)."""
    border = np.clip(np.round(proba * 20), 1, 19) / 20
    return np.abs(proba - border).min(axis=0)


def published_errors(errors, experiment, method, setting):
    return [
        error
        for entry, error, _ in errors
        if (entry.experiment, entry.method, entry.setting) == (experiment, method, setting)
    ]


def test_each_expert_of_each_run_has_the_recomputed_error(folder, errors):
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    theirs = {raw["file"]: raw["recomputed"].get("ece_per_expert") for raw in index["entries"]}
    ours = np.concatenate([error for _, error, _ in errors])
    expected = np.concatenate([theirs[entry.file] for entry, _, _ in errors])
    distance = np.concatenate([near for _, _, near in errors])
    off = np.abs(ours - expected)
    assert len(ours) == 1448
    # A confidence as near to a border as float32 can tell may fall into either bin: two experts at most.
    apart = off > 1e-6
    assert apart.sum() <= 2
    assert off.max() <= 2e-4
    assert (distance[apart] < 1e-7).all()


@pytest.mark.parametrize("figure", FIGURES)
def test_the_mean_over_experts_is_the_published_figure(errors, published, figure):
    rows = [row for row in published if row["figure"] == figure]
    assert len(rows) == {"fig1-ham10000": 18, "fig2c": 10}[figure]
    for row in rows:
        found = published_errors(errors, FIGURES[figure], row["method"], float(row["x"]))
        assert len(found) == SEEDS[FIGURES[figure]]
        assert 100 * np.mean([error.mean() for error in found]) == pytest.approx(float(row["mean"]), abs=0.002)


def test_the_first_expert_of_the_second_simulation_is_the_published_random_one(errors, published):
    rows = [row for row in published if row["figure"] == "fig2d"]
    assert len(rows) == 10
    for row in rows:
        (found,) = published_errors(errors, FIGURES["fig2c"], row["method"], float(row["x"]))
        assert 100 * found[0] == pytest.approx(float(row["mean"]), abs=0.002)
