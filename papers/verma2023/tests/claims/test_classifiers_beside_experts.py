"""docs/explanation/losses.md says what experts cost a deep net's classifier: the committed runs say so too."""

import re
from pathlib import Path

import numpy as np
import pytest

from defero_verma2023.claims.catalogue import read_all_records
from defero_verma2023.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "papers" / "verma2023"
N_EXPERTS = EXPERIMENTS["sim1"].settings
PAGE = (ROOT / "docs" / "explanation" / "losses.md").read_text(encoding="utf-8")


def column(heading):
    """Return the cells below a heading of the page's tables of 1 to 20 experts."""
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        names, _, *rows = [line.strip("| \n").split(" | ") for line in table.splitlines()]
        if names[0] == "experts" and heading in names:
            assert [float(row[0]) for row in rows] == [float(n) for n in N_EXPERTS]
            return [row[names.index(heading)] for row in rows]
    raise AssertionError(f"no column {heading}")


@pytest.mark.parametrize(
    ("label", "method", "net", "n_seeds"),
    [
        ("two-stage", "two-stage", "wrn-28-4, frozen", 3),
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
        accuracy = [100 * one.measures["class_accuracy"] for one in records if one.setting == n]
        assert len(accuracy) == n_seeds
        cells.append(f"{np.mean(accuracy):.1f}" + (f" ± {np.std(accuracy, ddof=1):.1f}" if n_seeds > 1 else ""))
    assert column(label) == cells


def test_one_vs_all_tuned_is_that_of_the_trials():
    log = (RESULTS / "results" / "cifar10_recipe_trials.log").read_text(encoding="utf-8")
    lines = [re.search(rf"ova {n:g}: scratch.*; 9 epochs: class (\S+)", log) for n in N_EXPERTS]
    assert column("`ova`, tuned") == [f"{100 * float(line[1]):.1f}" for line in lines]
