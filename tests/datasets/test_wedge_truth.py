"""The closed forms against stated values, against plain integration, and against what must hold of any of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.datasets import (
    wedge_bayes_accuracy,
    wedge_classifier_accuracy,
    wedge_coverage,
    wedge_expert_accuracy,
    wedge_with_budget,
    wedge_with_fees,
)
from defero.datasets.wedge import region_proba

proba = st.floats(0, 1)


@st.composite
def settings_of_wedge(draw):
    n_experts = draw(st.integers(1, 5))
    one_each = st.lists(proba, min_size=n_experts, max_size=n_experts)
    return {"n_classes": draw(st.integers(2, 8)), "high": tuple(draw(one_each)), "low": tuple(draw(one_each))}


def integrated(fees, *, n_classes, high, low, n_grid=20_000):
    """Utility, accuracy and load by brute force: decide at each point of a fine grid of x_1 in each region."""
    x = (np.arange(n_grid) + 0.5) / n_grid
    model = 1 / n_classes + (1 - 1 / n_classes) * x
    utility, accuracy, load = [], [], np.zeros(len(high))
    for region in range(len(high)):
        p = np.array([high[j] if j == region else low[j] for j in range(len(high))])
        j = int(np.argmax(p - fees))
        defers = p[j] - fees[j] > model
        utility.append(np.where(defers, p[j] - fees[j], model).mean())
        accuracy.append(np.where(defers, p[j], model).mean())
        load[j] += defers.mean() / len(high)
    return np.mean(utility), np.mean(accuracy), load


def test_the_default_setting_has_the_stated_values():
    assert wedge_bayes_accuracy() == pytest.approx(0.887500, abs=5e-7)
    assert wedge_coverage() == pytest.approx(0.166667, abs=5e-7)
    assert wedge_classifier_accuracy(4) == 0.625
    np.testing.assert_allclose(wedge_expert_accuracy(), [0.425, 0.45, 0.3625, 0.4625], atol=1e-12)


def test_fees_have_the_stated_values():
    best = wedge_with_fees((0.1, 0.05, 0.0, 0.2))
    assert best.utility == pytest.approx(0.825417, abs=5e-7)
    assert best.accuracy == pytest.approx(0.878750, abs=5e-7)
    np.testing.assert_allclose(best.load, [0.2, 0.2, 0.2, 0.1167], atol=5e-5)
    assert not best.load.flags.writeable


@pytest.mark.parametrize(("budget", "accuracy"), [(0.5, 0.845833), (0.3, 0.780833), (0.0, 0.625), (1.0, 0.8875)])
def test_budgets_have_the_stated_values(budget, accuracy):
    assert wedge_with_budget(budget) == pytest.approx(accuracy, abs=5e-7)


@pytest.mark.parametrize("low", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n_classes", "high", "accuracy"), [(4, 0.6, 0.7067), (2, 0.7, 0.79), (2, 0.6, 0.76)])
def test_one_expert_has_the_stated_value_whatever_low_is(n_classes, high, accuracy, low):
    found = wedge_bayes_accuracy(n_classes=n_classes, high=(high,), low=(low,))
    assert found == pytest.approx(accuracy, abs=5e-5)


@given(settings_of_wedge())
def test_bayes_accuracy_is_the_formula_of_the_best_expert(setting):
    k = setting["n_classes"]
    best = np.maximum(region_proba(high=setting["high"], low=setting["low"]).max(axis=1), 1 / k)
    formula = np.mean((k * (1 + best**2) - 2 * best) / (2 * (k - 1)))
    assert wedge_bayes_accuracy(**setting) == pytest.approx(formula, abs=1e-12)
    assert wedge_coverage(**setting) == pytest.approx(1 - np.mean((k * best - 1) / (k - 1)), abs=1e-12)


@given(settings_of_wedge(), st.data())
def test_fees_agree_with_plain_integration(setting, data):
    n_experts = len(setting["high"])
    fees = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=n_experts, max_size=n_experts)))
    best = wedge_with_fees(fees, **setting)
    utility, accuracy, load = integrated(fees, **setting, n_grid=5_000)
    assert best.utility == pytest.approx(utility, abs=1e-6)
    assert best.accuracy == pytest.approx(accuracy, abs=3e-4)  # the grid misplaces the edge of a wedge by half a step
    np.testing.assert_allclose(best.load, load, atol=3e-4)


@given(settings_of_wedge())
def test_the_best_team_beats_each_of_its_members(setting):
    team = wedge_bayes_accuracy(**setting)
    assert team >= wedge_classifier_accuracy(setting["n_classes"]) - 1e-12
    assert np.all(team >= wedge_expert_accuracy(**setting) - 1e-12)
    assert 0 <= wedge_coverage(**setting) <= 1


@given(settings_of_wedge(), st.floats(0, 1))
def test_one_fee_for_all_is_a_number_or_a_row_of_it(setting, fee):
    one, row = wedge_with_fees(fee, **setting), wedge_with_fees([fee] * len(setting["high"]), **setting)
    assert one.utility == row.utility
    assert one.utility == pytest.approx(one.accuracy - fee * one.load.sum(), abs=1e-12)


@given(settings_of_wedge(), proba, proba)
def test_a_larger_budget_is_never_worse_and_the_gain_shrinks(setting, first, second):
    less, more = sorted((first, second))
    low, middle, high = (wedge_with_budget(b, **setting) for b in (less, (less + more) / 2, more))
    assert low <= middle + 1e-12 <= high + 2e-12
    assert middle >= (low + high) / 2 - 1e-12  # concave: the best items are deferred first


@given(settings_of_wedge())
def test_the_ends_of_the_budget_are_the_classifier_and_the_best_team(setting):
    assert wedge_with_budget(0, **setting) == pytest.approx(wedge_classifier_accuracy(setting["n_classes"]), abs=1e-12)
    enough = min(1.0, 1 - wedge_coverage(**setting) + 1e-9)
    assert wedge_with_budget(enough, **setting) == pytest.approx(wedge_bayes_accuracy(**setting), abs=1e-9)


@given(settings_of_wedge(), st.floats(0, 1))
def test_a_budget_is_a_fee_for_all(setting, fee):
    best = wedge_with_fees(fee, **setting)
    assert wedge_with_budget(min(1.0, best.load.sum()), **setting) == pytest.approx(best.accuracy, abs=1e-9)


def all_active(budget, *, n_classes, high, low):
    """The budget's closed form where every region defers something and the budget binds; None elsewhere."""
    best = region_proba(high=high, low=low).max(axis=1)
    price = best.mean() - 1 / n_classes - budget * (1 - 1 / n_classes)
    share = (n_classes * (best - price) - 1) / (n_classes - 1)
    if price < 0 or share.min() < 0 or share.max() > 1:
        return None
    return np.mean(best * share + (1 - (best - price) ** 2) / (2 * (1 - 1 / n_classes)))


@pytest.mark.parametrize("budget", np.linspace(0.15, 0.83, 12))
def test_bisection_agrees_with_the_closed_form_where_all_regions_are_active(budget):
    setting = {"n_classes": 4, "high": (0.95, 0.9, 0.85, 0.8), "low": (0.25, 0.3, 0.2, 0.35)}
    formula = all_active(budget, **setting)
    assert formula is not None
    assert wedge_with_budget(budget, **setting) == pytest.approx(formula, abs=1e-12)


@given(settings_of_wedge(), proba)
def test_bisection_agrees_with_the_closed_form_in_every_setting_that_has_one(setting, budget):
    formula = all_active(budget, **setting)
    if formula is not None:
        assert wedge_with_budget(budget, **setting) == pytest.approx(formula, abs=1e-12)


def test_a_region_without_a_useful_expert_is_left_to_the_model():
    # Region 0 has a perfect expert, region 1 nobody better than chance: a budget of 1/4 buys half of region 0,
    # x_1 < 1/2, worth 1 there; the model keeps the rest.
    setting = {"n_classes": 2, "high": (1.0, 0.0), "low": (0.5, 0.0)}
    region_0 = 0.5 * 1 + (1 - 0.75**2)  # the integral of (1 + x) / 2 from 1/2 to 1 is 1 - 0.75^2
    assert wedge_with_budget(0.25, **setting) == pytest.approx((region_0 + 0.75) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wedge_bayes_accuracy(high=(0.9, 1.2), low=(0.1, 0.1)), r"high must be a probability in \[0, 1\]"),
        (lambda: wedge_bayes_accuracy(high=(0.9,), low=(-0.1,)), r"low must be a probability in \[0, 1\]"),
        (lambda: wedge_coverage(high=(0.9,), low=(0.1, 0.2)), "one probability per expert.* got 1 and 2"),
        (lambda: wedge_expert_accuracy(high=(), low=()), "at least one, got 0 and 0"),
        (lambda: wedge_classifier_accuracy(1), "n_classes must be a whole number of at least 2, got 1"),
        (lambda: wedge_with_fees((0.1, 0.2)), r"one for each of the 4 experts, got shape \(2,\)"),
        (lambda: wedge_with_fees(float("nan")), "fees must be finite numbers.*got nan"),
        (lambda: wedge_with_budget(1.5), r"budget must be a probability in \[0, 1\], got 1.5"),
    ],
)
def test_a_setting_that_is_none_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
