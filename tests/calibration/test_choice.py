"""Method "auto": whom it changes and whom it leaves alone, with few answers and many, and what it costs."""

import numpy as np
import pytest
from calibration_problems import draw_case, draw_experts
from recalibration_runs import run_many

from defero.calibration.choice import FOLDS, ChosenMaps, choose_maps, folds
from defero.calibration.maps import Untouched
from defero.calibration.platt import PlattMaps
from defero.core.errors import InputError


def everyone(correct):
    return np.ones(correct.shape, dtype=bool)


def test_folds_are_even_and_always_the_same():
    assert np.array_equal(folds(1003), folds(1003))
    assert np.ptp(np.bincount(folds(1003), minlength=FOLDS)) <= 1


def test_who_boasts_is_changed_and_who_is_honest_is_not():
    logits, correct = draw_experts(3_000, n_experts=8)
    raw = logits * np.where(np.arange(8) < 2, 3.0, 1.0)
    assert choose_maps(raw, correct, everyone(correct), link="logit").methods == ("platt",) * 2 + ("none",) * 6


def test_a_curve_that_no_slope_bends_gets_steps():
    """Claims of 0.5 on half of the items, where the truth is near 0.1 or near 0.9: a staircase in the score."""
    logits, correct = draw_experts(4_000, n_experts=3)
    raw = np.where(logits > 0, 4.0 + 0.2 * logits, 0.05 * (0.2 * logits - 4.0))
    observed = everyone(correct)
    observed[900:, 2] = False
    assert choose_maps(raw, correct, observed, link="logit").methods == ("isotonic", "isotonic", "platt")
    assert "isotonic" not in choose_maps(raw[:900], correct[:900], observed[:900], link="logit").methods


def test_the_pool_decides_for_who_has_few_answers():
    logits, correct = draw_experts(600, n_experts=6)
    observed = everyone(correct)
    observed[5:, 0] = False
    observed[:, 1] = False
    assert choose_maps(3 * logits, correct, observed, link="logit").methods == ("platt",) * 6
    assert choose_maps(logits, correct, observed, link="logit").methods[:2] == ("none",) * 2


def test_fewer_than_twenty_answers_change_nothing():
    logits, correct = draw_experts(19, n_experts=1)
    assert choose_maps(9 * logits, correct, everyone(correct), link="logit") == Untouched("logit", 1)


@pytest.mark.parametrize("link", ["logit", "log"])
def test_permuting_experts_permutes_the_choice(link):
    scores, _, correct = draw_case(300, n_experts=6, boast=1.4, link=link)
    order = [3, 0, 5, 1, 2, 4]
    plain = choose_maps(scores.expert_raw, correct, everyone(correct), link=link)
    again = choose_maps(scores.expert_raw[:, order], correct[:, order], everyone(correct), link=link)
    assert again.methods == tuple(plain.methods[j] for j in order)


@pytest.mark.parametrize(
    ("parts", "experts", "words"),
    [
        ((), (), "parts and experts must be as many"),
        ((Untouched("logit", 2),), ((0,),), "parts and experts must be as many"),
        ((Untouched("logit", 2),), ((0, 2),), "experts must name each column 0..J-1 once"),
        ((Untouched("logit", 1), Untouched("log", 1)), ((0,), (1,)), "parts must be of one link"),
    ],
)
def test_chosen_maps_are_checked_when_built(parts, experts, words):
    with pytest.raises(InputError, match=words):
        ChosenMaps(parts, experts)


def test_each_column_goes_through_its_own_map():
    maps = ChosenMaps((Untouched("logit", 1), PlattMaps("logit", (2.0,), (1.0,), (1.0, 0.0))), ((1,), (0,)))
    assert maps.logits(np.array([[3.0, 5.0]])).tolist() == [[7.0, 5.0]]
    assert maps.methods == ("platt", "none")


# What 30 answers an expert do, on average: the full study is test_recalibration_study.py.


@pytest.mark.parametrize("boast", [1.5, 2.5])
def test_thirty_answers_an_expert_do_no_harm_on_average(boast):
    for method, found in run_many(12, n=30, boast=boast, methods=["auto", "platt"], n_test=1_000).items():
        assert found["error"] <= 0, method
        assert found["log_loss"] <= 0, method


@pytest.mark.parametrize(("n", "observed", "runs"), [(30, "all", 12), (30, "uneven half", 12), (500, "uneven half", 4)])
def test_honest_scores_lose_little(n, observed, runs):
    found = run_many(runs, n=n, boast=1.0, methods=["auto"], observed=observed, n_test=1_000)["auto"]
    assert found["error"] <= 0.01
    assert found["log_loss"] <= 0.005
