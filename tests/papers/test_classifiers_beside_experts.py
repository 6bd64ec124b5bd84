"""docs/losses.md says what experts cost a deep net's classifier: the committed runs say so too."""

from pathlib import Path

import numpy as np

from defero.papers.verma2023.claim_cells import cells
from defero.papers.verma2023.claims import read_kept
from defero.papers.verma2023.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
ROWS = {
    "`softmax`, from scratch": "softmax",
    "`ova`, from scratch": "ova",
    "`decoupled`, tuned": "decoupled",
    "`asymmetric`, tuned": "asymmetric",
    "`moe`, tuned": "moe",
    "two-stage: one finished classifier": "two-stage",
}


def test_the_classifiers_own_accuracy_is_that_of_the_runs():
    page = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
    records = read_kept(ROOT / "papers" / "verma2023").ours["sim1"]
    for label, method in ROWS.items():
        found = cells(records, method, "class_accuracy")
        means = [
            np.mean([value for (setting, _), value in found.items() if setting == n])
            for n in EXPERIMENTS["sim1"].settings
        ]
        assert f"| {label} | {' | '.join(f'{100 * mean:.1f}' for mean in means)} |" in page
