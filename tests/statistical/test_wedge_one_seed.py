"""The theory survives training: one seed of each WEDGE study; `make slow` runs five."""

import numpy as np
import pytest
from wedge_study import CONSISTENT, FEES, ONE_EXPERT, study, study_numerator_only

from defero.datasets import wedge_bayes_accuracy, wedge_with_fees

AT_MOST = {"softmax": 0.4, "ova": 0.2, "decoupled": 0.2, "asymmetric": 0.2}


SLOW = pytest.mark.slow


@pytest.mark.parametrize("loss", ["ova", *(pytest.param(loss, marks=SLOW) for loss in CONSISTENT if loss != "ova")])
def test_all_answers_there(loss):
    found = study(loss, seed=0)
    assert found["excess"] <= AT_MOST[loss]
    assert found["p_error"] <= 0.02


@pytest.mark.parametrize("loss", ["ova", pytest.param("decoupled", marks=SLOW)])
def test_fees_enter_after_training(loss):
    best = wedge_with_fees(FEES)
    assert best.utility == pytest.approx(0.825417, abs=1e-6)
    found = study(loss, seed=0, fees=FEES)
    assert 100 * (best.utility - found["utility"]) <= 0.3
    np.testing.assert_allclose(found["load"], best.load, atol=0.03)


@pytest.mark.parametrize(
    "loss", ["softmax", *(pytest.param(one, marks=SLOW) for one in CONSISTENT if one != "softmax")]
)
def test_half_of_the_answers_missing(loss):
    assert study(loss, seed=0, share_missing=0.5)["excess"] <= 0.5


def test_masking_the_numerator_only_loses_eight_points(monkeypatch):
    assert study_numerator_only(0, monkeypatch)["excess"] >= 8


@SLOW
@pytest.mark.parametrize("loss", CONSISTENT)
def test_one_expert_of_skill_six_tenths(loss):
    assert wedge_bayes_accuracy(**ONE_EXPERT) == pytest.approx(0.7067, abs=5e-5)
    assert study(loss, seed=0, setting=ONE_EXPERT)["excess"] <= 0.3


@SLOW
def test_the_mixture_of_experts_loses_five_points_there():
    assert study("moe", seed=0, setting=ONE_EXPERT)["excess"] >= 5
