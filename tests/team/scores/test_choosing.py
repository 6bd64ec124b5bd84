"""Promises where errors cost something, and prices that are not known: nothing counts what is unknown."""

from dataclasses import replace

import numpy as np
import pytest

from defero import ExpertPool, InputError, Team, Terms
from defero.decide.curve import member_means
from defero.decide.rules import ALIKE
from defero.team.score_facts import LEAST_NOISE, ScoreFacts


@pytest.mark.parametrize("seed", range(3))
def test_a_promise_is_what_is_expected_of_the_one_who_is_chosen(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(240, 4))
    scores = (rng.random((240, 3)) < [0.6, 0.65, 0.7]).astype(float)
    pool = ExpertPool(random_state=0).fit(x, scores, prices=[1.0, 2.0, 50.0])
    cheap = pool.decide(x, terms=Terms(error_cost=0.001))
    expected = pool.predict_expert_proba(x)
    lowest = expected[np.arange(240), cheap.expert] < expected.max(axis=1) - 2 * ALIKE
    np.testing.assert_allclose(cheap.p_right[lowest], expected[lowest, cheap.expert[lowest]], atol=1e-5)


def test_a_blank_price_leaves_the_other_prices_of_a_member_alone():
    price = np.array([[1.0, 4.0], [3.0, np.nan], [5.0, 8.0]])
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, 1.0]])
    cost, quality = member_means(price, scores)
    assert cost.tolist() == [2.0, 6.0]
    assert quality.tolist() == pytest.approx([0.5, 2 / 3])
    assert np.isnan(member_means(np.array([[np.nan]]), np.array([[1.0]]))[0]).all()


def test_a_newcomer_without_a_number_for_its_price_has_none():
    x = np.random.default_rng(0).normal(size=(60, 2))
    pool = ExpertPool(random_state=0).fit(x, np.tile([1.0, 0.0], (60, 1)), prices=[1.0, 2.0]).team_
    assert pool.copy().add_expert("new").prices.known.tolist() == [True, True, False]
    with pytest.raises(InputError, match="price must be a finite number"):
        pool.add_expert("new", price=float("nan"))


def test_a_floor_and_limits_of_members_are_not_dropped_silently():
    x = np.random.default_rng(0).normal(size=(60, 2))
    pool = ExpertPool(random_state=0).fit(x, np.tile([1.0, 0.0], (60, 1)), prices=[1.0, 2.0])
    with pytest.raises(InputError, match="floor"):
        pool.assign(x, terms=Terms(floor=0.5, capacity={"expert_0": 10}))


def corrected_team(proba, names=("a", "b", "c")):
    """A team of scores whose best estimates are 0.05 too high."""
    team = Team.from_probabilities(None, proba, expert_names=names)
    facts = ScoreFacts(np.full(3, 0.8), np.full(3, np.nan), 0.2 * np.eye(3), (-0.05, 1.0))
    return replace(team, score_facts=facts)


@pytest.mark.parametrize("absent", [[], ["a"], ["a", "b"]])
def test_the_promise_is_corrected_for_whoever_is_best_of_those_available_and_who_shares_with_them(absent):
    proba = np.tile([0.9, 0.8999, 0.5], (200, 1))
    decision = corrected_team(proba).decide(terms=Terms(absent=absent))
    who = decision.expert
    assert set(who.tolist()) == {0: {0, 1}, 1: {1}, 2: {2}}[len(absent)]
    np.testing.assert_allclose(decision.p_right, proba[0, who] - 0.05, atol=1e-6)


def test_the_promise_moves_with_the_experts():
    rng = np.random.default_rng(0)
    proba, order = rng.random((50, 3)), np.array([2, 0, 1])
    proba[:, 1] = np.clip(proba[:, 0] + rng.uniform(-0.001, 0.001, 50), 0, 1)
    first = corrected_team(proba).decide(terms=Terms(absent=["b"]))
    names = tuple("abc"[j] for j in order)
    second = corrected_team(proba[:, order], names).decide(terms=Terms(absent=["b"]))
    np.testing.assert_array_equal(np.array(first.name), np.array(second.name))
    np.testing.assert_allclose(first.p_right, second.p_right, atol=1e-9)


def test_facts_without_experts_have_the_least_noise():
    none = np.empty(0)
    assert ScoreFacts(none, none, np.zeros((0, 0))).noise == LEAST_NOISE
    assert ScoreFacts(none, none, np.zeros((0, 0))).promised(np.zeros(2), np.zeros((2, 0)), None).shape == (2,)
