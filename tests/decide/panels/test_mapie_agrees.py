"""MAPIE controls the recall of multi-label sets on a grid: experts are labels, the right ones are the true ones."""

import numpy as np
import pytest

from defero.decide.panels import ExpertSetPredictor

risk_control = pytest.importorskip("mapie.risk_control", reason="MAPIE is a development oracle: install the dev extra")


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_our_threshold_up_to_one_step_of_its_grid(alpha, seed):
    rng = np.random.default_rng(seed)
    proba = rng.random((250, 6))
    correct = rng.random((250, 6)) < proba**2
    has_right = correct.any(axis=1)  # MAPIE asks for a label in each row; we leave the others out ourselves
    step = 0.01
    controller = risk_control.MultiLabelClassificationController(
        lambda rows: rows, risk="recall", target_level=1 - alpha, predict_params=np.arange(0, 1, step)
    ).calibrate(proba[has_right], correct[has_right].astype(int))
    ours = ExpertSetPredictor(target="missed-share", alpha=alpha).fit(proba, correct)
    theirs = float(controller.best_predict_param[0])
    assert theirs < ours.thresholds_[None] <= theirs + step + 1e-9
