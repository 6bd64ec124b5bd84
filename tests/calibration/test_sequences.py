"""Verdicts of several answers: promised as they are kept, and stopped where asking costs more than it saves."""

import numpy as np
import pytest

from defero import Team
from defero.calibration.sequences import VerdictMap, fit_verdicts, gain_of_asking
from defero.core import InputError
from defero.core.codec import pack, unpack
from defero.team import try_out
from defero.team.asking import asks_in_turn

RNG = np.random.default_rng


def test_few_cases_change_little_and_many_are_followed():
    rng = RNG(0)
    stated, n_heard = rng.uniform(0.6, 0.99, 4_000), rng.integers(0, 4, 4_000)
    truth = np.where(n_heard >= 2, stated - 0.15, stated)
    right = rng.random(4_000) < truth
    few = fit_verdicts(stated[:5], right[:5], n_heard[:5])
    assert np.abs(few.apply(stated, n_heard) - stated).max() < 0.15
    many = fit_verdicts(stated, right, n_heard)
    for group in (n_heard == 0, n_heard == 1, n_heard >= 2):
        assert many.apply(stated, n_heard)[group].mean() == pytest.approx(right[group].mean(), abs=0.01)
    assert np.array_equal(unpack(VerdictMap, pack(many)).apply(stated, n_heard), many.apply(stated, n_heard))
    assert np.isfinite(many.apply(np.array([0.0, 1.0]), np.array([0, 9]))).all()


def test_asking_stops_where_it_costs_more_than_it_saves():
    stated, n_heard, right = np.full(400, 0.8), np.ones(400), np.ones(400)
    lost = np.tile([-1.01, -0.01, -1.01, -0.01, 0.99], 80)
    assert not fit_verdicts(stated, right, n_heard, lost).asks
    assert fit_verdicts(stated, right, n_heard, -lost).asks
    assert fit_verdicts(stated[:50], right[:50], n_heard[:50], lost[:50]).asks  # too few to tell
    with pytest.raises(InputError) as error:
        VerdictMap(np.zeros(3))
    assert error.value.argument == "weights"


def team_of_parrots(n=1_500, *, n_experts=5, copied=0.7, seed=0):
    """Experts who often repeat the first one: a product of their probabilities is far too sure."""
    rng = RNG(seed)
    truth = rng.integers(2, size=n)
    own = np.where(rng.random((n, n_experts)) < 0.75, truth[:, None], 1 - truth[:, None])
    said = np.where(rng.random((n, n_experts)) < copied, own[:, :1], own)
    return truth, said


def test_promises_of_a_team_that_errs_together_are_kept(tmp_path):
    truth, said = team_of_parrots(3_000)
    rows = np.arange(3_000)[:, None]
    team = Team.from_probabilities(
        lambda X: np.full((len(X), 2), 0.5),
        lambda X: np.full((len(X), 5), 0.75),
        classes=[0, 1],
        expert_names=list("abcde"),
    )
    fresh = slice(1_500, None)
    before = team.answer(rows[fresh], said[fresh], vote="sequential")
    assert before.confidence.mean() > np.mean(before.label == truth[fresh]) + 0.05
    team.conformalize(rows[:1_500], truth[:1_500], said[:1_500], disjoint=True)
    assert set(team.panel.verdicts) == {"sequential", "panel", "everybody_bayes"}
    for way in try_out(team, rows[fresh], truth[fresh], said[fresh], disjoint=True).ways:
        if way.name in team.panel.verdicts:
            assert way.promised.mean() == pytest.approx(way.right.mean(), abs=0.02), way.name
    settled = team.answer(rows[fresh], said[fresh], vote="sequential")
    assert settled.expected_cost == pytest.approx(1 - settled.confidence)


def test_a_team_that_loses_by_asking_does_not_ask():
    rng = RNG(1)
    truth = rng.integers(2, size=2_000)
    said = rng.integers(2, size=(2_000, 5))  # guesses, but each looks right on 80 %
    model = np.where(rng.random(2_000) < 0.75, truth, 1 - truth)
    rows = np.arange(2_000)[:, None]
    team = Team.from_probabilities(
        lambda X: np.where(model[X[:, 0].astype(int)][:, None] == [0, 1], 0.75, 0.25),
        lambda X: np.full((len(X), 5), 0.8),
        classes=[0, 1],
        expert_names=list("abcde"),
    )
    assert asks_in_turn(team)
    team.conformalize(rows[:1_000], truth[:1_000], said[:1_000], disjoint=True)
    assert not asks_in_turn(team)
    settled = team.answer(rows[1_000:], said[1_000:], vote="sequential")
    assert not settled.heard.any()


def test_asking_stops_by_one_rule_here_and_after_selection():
    """Equal weights give the mean and the standard error of the sample; weights of 2 count as two halves."""
    gain = np.random.default_rng(0).normal(-0.1, 1.0, 200)
    plain, weighted = gain_of_asking(gain), gain_of_asking(gain, np.full(200, 2.0))
    assert plain == pytest.approx(weighted)
    assert plain.standard_error == pytest.approx(gain.std(ddof=1) / np.sqrt(200))
    for shift in (-0.2, 0.0, 0.2):
        moved = gain - gain.mean() + shift
        verdict = fit_verdicts(np.full(200, 0.8), np.ones(200), np.ones(200), moved)
        assert verdict.asks == gain_of_asking(moved).asks == (shift >= 0)
