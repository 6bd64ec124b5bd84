"""docs/losses.md says what experts cost a deep net's classifier: the committed runs say so too."""

import re
from pathlib import Path

import numpy as np
import pytest

from defero_verma2023.claims.catalogue import read_all_records
from defero_verma2023.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "papers" / "verma2023"
N_EXPERTS = EXPERIMENTS["sim1"].settings
PAGE = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")


def row(label, cells):
    return f"| {label} | {' | '.join(cells)} |"


@pytest.mark.parametrize(
    ("label", "method", "net", "n_seeds"),
    [
        ("two-stage: one finished classifier", "two-stage", "wrn-28-4, frozen", 3),
        ("`softmax`", "softmax", "wrn-28-4", 3),
        ("`ova`", "ova", "wrn-28-4", 3),
        ("`decoupled`, tuned", "decoupled", "wrn-28-4, tuned", 1),
        ("`asymmetric`, tuned", "asymmetric", "wrn-28-4, tuned", 1),
        ("`moe`, tuned", "moe", "wrn-28-4, tuned", 1),
    ],
)
def test_the_classifiers_own_accuracy_is_that_of_the_runs(label, method, net, n_seeds):
    records = [one for one in read_all_records(RESULTS).ours["sim1"] if (one.method, one.net) == (method, net)]
    cells = []
    for n in N_EXPERTS:
        found = [100 * one.measures["class_accuracy"] for one in records if one.setting == n]
        assert len(found) == n_seeds
        cells.append(f"{np.mean(found):.1f}" + (f" ± {np.std(found, ddof=1):.1f}" if n_seeds > 1 else ""))
    assert row(label, cells) in PAGE


def test_one_vs_all_tuned_is_that_of_the_trials():
    log = (RESULTS / "results" / "cifar10_recipe_trials.log").read_text(encoding="utf-8")
    found = [re.search(rf"ova {n:g}: scratch.*; 9 epochs: class (\S+)", log) for n in N_EXPERTS]
    assert row("`ova`, tuned", [f"{100 * float(one[1]):.1f}" for one in found]) in PAGE
