"""A panel target of another package: conformalize, save, load, evaluate."""

import numpy as np
import pytest
from outside_parts import TWO_OR_ALL
from toy_team import ANSWERS, CONF, TEST, X, Y, fitted, with_panels

from defero import DeferralClassifier, InputError
from defero.decide.panels import TARGETS, ExpertSetPredictor
from defero.judge import set_coverage
from defero.team import judge


def test_conformalize_save_load_and_judge(tmp_path):
    TARGETS.register("two-or-all", TWO_OR_ALL)
    team = with_panels(target="two-or-all")
    team.save(tmp_path / "model")
    again = DeferralClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_set(X[TEST]).mask, team.predict_set(X[TEST]).mask)
    panel = judge(team.team_, X[TEST], Y[TEST], ANSWERS[TEST]).panel
    assert "with probability at least 0.8 two right experts, or the only one, are in the set" in panel.promise
    assert (panel.target, panel.bound, panel.asked_for, panel.kept_promise) == (
        "two-or-all",
        "at least",
        0.8,
        "as promised",
    )


def test_it_asks_more_than_one_right_expert_and_fewer_than_all():
    TARGETS.register("two-or-all", TWO_OR_ALL)
    rng = np.random.default_rng(1)
    proba = rng.random((2000, 5))
    right = rng.random((2000, 5)) < proba
    taus = {
        target: ExpertSetPredictor(target=target, alpha=0.1).fit(proba[:1000], right[:1000]).thresholds_[None]
        for target in ("any-correct", "two-or-all", "all-correct")
    }
    assert taus["any-correct"] > taus["two-or-all"] > taus["all-correct"]
    assert set_coverage(proba[1000:] >= taus["two-or-all"], right[1000:], target="two-or-all") > 0.86


def test_an_installed_package_adds_one_without_being_imported(installed):
    installed("defero.targets", "two-or-all", "TWO_OR_ALL")
    assert with_panels(target="two-or-all").predict_set(X[TEST]).mask.any()


def test_an_unknown_target_is_an_error_everywhere():
    for use in (
        lambda: fitted().conformalize(X[CONF], Y[CONF], experts=ANSWERS[CONF], target="any-corect"),
        lambda: ExpertSetPredictor(target="any-corect", alpha=0.1),
        lambda: set_coverage([[True]], [[True]], target="any-corect"),
    ):
        with pytest.raises(InputError, match=r"target must be one of any-correct, .*, got 'any-corect'; did you mean"):
            use()
