"""The frontier beside brute force, and its exact properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.errors import InputError
from defero.decide.curve import curve_of
from defero.decide.frontier import along, area_between, frontier_steps, upper_hull

EVERYBODY = np.ones((6, 4), dtype=bool)
tables = arrays(np.float64, (6, 4), elements=st.integers(0, 20).map(lambda k: k / 20))


def best_value(score, price, can, trade_off):
    value = np.where(can, trade_off * score - price, -np.inf)
    return value.max(axis=1)


def choices_at(steps, n_steps):
    """Who is asked about each item after so many steps."""
    expert = steps.start.copy()
    for item, after in zip(steps.item[:n_steps], steps.after[:n_steps], strict=True):
        expert[item] = after
    return expert


def cheapest_best(score, price, error_cost):
    """The largest error_cost * score - price of each row; of equals the cheapest, then the first."""
    rows = zip(error_cost * score - price, price, strict=True)
    return np.array([min(range(len(own)), key=lambda j: (-own[j], paid[j], j)) for own, paid in rows])


@given(tables, tables, arrays(np.bool_, (6, 4)), st.floats(0.01, 100))
def test_every_trade_off_is_on_the_frontier(score, price, can, trade_off):
    steps = frontier_steps(score, price, can)
    n_steps = int(np.searchsorted(steps.error_cost, trade_off, side="right"))
    expert = choices_at(steps, n_steps)
    assert ((expert == -1) == ~can.any(axis=1)).all()
    asked = np.flatnonzero(expert >= 0)
    assert can[asked, expert[asked]].all()
    value = trade_off * score[asked, expert[asked]] - price[asked, expert[asked]]
    np.testing.assert_allclose(value, best_value(score, price, can, trade_off)[asked], atol=1e-9)


@given(tables, tables)
def test_cost_and_quality_rise_along_the_frontier(score, price):
    steps = frontier_steps(score, price, EVERYBODY)
    assert (np.diff(steps.error_cost) >= 0).all()
    assert (np.diff(along(steps, price)) >= -1e-12).all()
    assert (np.diff(along(steps, score)) >= -1e-12).all()
    assert along(steps, score)[-1] == pytest.approx(score.max(axis=1).mean())


@given(arrays(np.float64, 5, elements=st.integers(0, 9).map(float)), arrays(np.float64, 5, elements=st.floats(0, 1)))
def test_nobody_is_above_the_hull(cost, quality):
    hull = upper_hull(cost, quality)
    assert (np.diff(cost[hull]) > 0).all()
    assert (np.diff(quality[hull]) > 0).all()
    inside = np.interp(cost, cost[hull], quality[hull])
    assert (quality <= inside + 1e-9).all()


def test_area_of_two_lines():
    line, flat = np.array([0.0, 1.0]), np.array([0.2, 0.2])
    assert area_between(np.array([0.0, 2.0]), line, np.array([0.0, 2.0]), flat) == pytest.approx(0.3)
    assert np.isnan(area_between(np.array([0.0, 1.0]), line, np.array([2.0, 3.0]), flat))


def test_scores_that_are_missing_are_never_chosen_in_a_curve():
    expected, price = np.array([[0.9, 0.1]]), np.array([[1.0, 0.0]])
    curve = curve_of(expected, price, scores=np.array([[np.nan, 0.4]]), expert_names=("a", "b"))
    assert curve.quality.tolist() == [0.4]
    assert curve.cost.tolist() == [0.0]


@given(tables, tables, st.floats(0, 1), st.booleans())
def test_routing_at_the_trade_off_for_a_quality_or_a_cost_keeps_it(score, price, share, thinned):
    curve = curve_of(score, price, expert_names=tuple("abcd"), most_points=3 if thinned else None)
    rows = np.arange(6)
    quality = float(curve.quality[0] + share * (curve.quality[-1] - curve.quality[0]))
    expert = cheapest_best(score, price, curve.error_cost_for(quality=quality))
    assert score[rows, expert].mean() >= quality - 1e-9
    cost = float(curve.cost[0] + share * (curve.cost[-1] - curve.cost[0]))
    expert = cheapest_best(score, price, curve.error_cost_for(cost=cost))
    assert price[rows, expert].mean() <= cost + 1e-9
    assert price[rows, expert].mean() >= curve.cost[curve.cost <= cost + 1e-9].max() - 1e-9


def test_a_cost_or_a_quality_out_of_reach_is_refused():
    curve = curve_of(
        np.array([[0.2, 0.9], [0.8, 0.9]]), np.array([[1.0, 3.0], [1.0, 3.0]]), expert_names=("small", "large")
    )
    assert 2 / 0.7 < curve.error_cost_for(cost=2.5) <= 20.0
    assert 20.0 < curve.error_cost_for(quality=0.9) < np.inf
    assert curve.zero_at_cost(2.0) == pytest.approx(0.7)
    for wrong, argument in (({"cost": 0.5}, "cost"), ({"quality": 0.95}, "quality")):
        with pytest.raises(InputError) as error:
            curve.error_cost_for(**wrong)
        assert error.value.argument == argument


@pytest.mark.parametrize("rows", [0, 3])
def test_a_curve_where_nobody_can_be_asked_has_no_points(rows):
    nobody = np.zeros((rows, 2), dtype=bool)
    score, price = np.full((rows, 2), 0.5), np.ones((rows, 2))
    curve = curve_of(score, price, expert_names=("a", "b"), can=nobody, hull=np.array([0, 1]))
    assert len(curve) == 0
    assert "nobody can be asked" in str(curve)
    assert np.isnan([curve.area, curve.at_cost(1.0), curve.zero_at_cost(1.0)]).all()
    assert len(curve.to_frame()) == 0
    with pytest.raises(InputError, match="nobody can be asked"):
        curve.error_cost_for(cost=1.0)


def test_a_member_of_the_hull_without_a_price_or_a_score_here_is_left_out():
    score, price = np.array([[0.2, np.nan, 0.9]] * 2), np.array([[1.0, 2.0, 3.0]] * 2)
    curve = curve_of(score, price, expert_names=("a", "b", "c"), hull=np.array([0, 1, 2]))
    assert curve.hull.tolist() == [0, 2]
    assert np.isfinite([curve.area, curve.zero_at_cost(2.0)]).all()
