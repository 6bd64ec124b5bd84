"""Calibration after selection: the chosen expert keeps the promise, and asking stops where it does harm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from defero import InputError, Team
from defero.core.codec import pack, unpack
from defero.core.scores import Scores
from defero.learn.logistic import Gain, fit_logistic, gain_of_asking
from defero.learn.selection import HeldOut, SelectionMap, fit_selection


def noisy_team(n, rng, *, n_experts=12, noise=1.0, share=1.0, model=0.8, skill=0.75):
    """Experts of equal skill whose estimates are the truth plus noise: the best of them is chosen for its noise."""
    true = expit(rng.normal(logit(skill), 0.3, (n, n_experts)))
    claimed = expit(logit(true) + rng.normal(0, noise, true.shape))
    correct = rng.random(true.shape) < true
    label_idx = (rng.random(n) > model).astype(int)  # the model says 0
    scores = Scores.from_probabilities(np.tile([model, 1 - model], (n, 1)), claimed)
    return HeldOut(scores, label_idx, correct, rng.random(true.shape) < share)


def promised_and_kept(team, proba):
    best = proba.argmax(axis=1)
    rows = np.arange(len(best))
    return proba[rows, best].mean(), team.correct[rows, best].mean()


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_chosen_expert_keeps_the_promise(share):
    rng = np.random.default_rng(0)
    mapped = fit_selection(noisy_team(4_000, rng, share=share))
    new = noisy_team(20_000, rng)
    promised, kept = promised_and_kept(new, new.scores.expert_proba)
    assert promised > kept + 0.1  # the curse
    promised, kept = promised_and_kept(new, mapped.apply(new.scores))
    assert promised == pytest.approx(kept, abs=0.02)


def test_only_items_count_on_which_the_best_of_all_answered_unless_these_are_few():
    rng = np.random.default_rng(6)
    for n, filled in ((4_000, False), (300, True)):
        team = noisy_team(n, rng, share=0.3)
        best = team.scores.expert_proba.argmax(axis=1)
        n_best, n_any = team.observed[np.arange(n), best].sum(), team.observed.any(axis=1).sum()
        assert fit_selection(team).n_items == (n_any if filled else n_best)


def test_calibrated_estimates_stay_as_they_are():
    rng = np.random.default_rng(1)
    team = noisy_team(5_000, rng, noise=0.0)
    np.testing.assert_allclose(fit_selection(team).weights, [0, 1, 0], atol=0.25)


def test_asking_stops_where_it_does_harm_and_not_otherwise():
    rng = np.random.default_rng(2)
    # In one half of the items the expert is always right, in the other always wrong: each half misleads the other.
    n, fold = 400, np.arange(400) % 2
    scores = Scores.from_probabilities(np.tile([0.8, 0.2], (n, 1)), np.full((n, 1), 0.85))
    misled = HeldOut(scores, (rng.random(n) > 0.8).astype(int), fold[:, None] == 0, np.ones((n, 1), bool), fold)
    assert fit_selection(misled).gain < 0
    assert not fit_selection(misled).asks
    assert fit_selection(noisy_team(2_000, rng, model=0.6)).asks
    assert fit_selection(noisy_team(20, rng)).asks  # too few to tell
    stopped = SelectionMap(np.array([0.0, 1.0, 0.0]), False, 500, -0.05, 0.01)
    router = Team.from_probabilities([[0.6, 0.4]], [[0.9]], expert_names=["ann"])
    assert router.decide().name.tolist() == ["ann"]
    router.selection = stopped
    assert router.decide().name.tolist() == ["model"]


def test_the_map_never_changes_who_looks_best():
    rng = np.random.default_rng(3)
    mapped, fresh = fit_selection(noisy_team(400, rng)), noisy_team(2_000, rng).scores
    assert mapped.weights[1] > 0
    np.testing.assert_array_equal(mapped.log_odds(fresh).argmax(axis=1), fresh.expert_proba.argmax(axis=1))


def test_packed_and_unpacked_it_is_the_same_map():
    mapped = fit_selection(noisy_team(300, np.random.default_rng(4)))
    again = unpack(SelectionMap, pack(mapped))
    np.testing.assert_array_equal(again.weights, mapped.weights)
    assert (again.asks, again.n_items, again.gain) == (mapped.asks, mapped.n_items, mapped.gain)
    with pytest.raises(InputError, match=r"weights must have shape \(3,\), got \(2,\)"):
        SelectionMap(np.zeros(2), True, 0, np.nan, np.nan)


def test_logistic_regression_is_scikit_learn_s_and_its_guess_holds_without_data():
    rng = np.random.default_rng(5)
    columns = np.column_stack([np.ones(300), rng.normal(size=(300, 2))])
    right = (rng.random(300) < expit(columns @ [0.5, 1.0, -1.0])).astype(float)
    weights = fit_logistic(columns, right, guess=np.zeros(3), strength=np.full(3, 2.0))
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(columns, right)
    np.testing.assert_allclose(weights, model.coef_[0], atol=1e-4)
    guess = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(fit_logistic(columns[:0], right[:0], guess=guess, strength=np.ones(3)), guess)


def test_whether_asking_pays_is_judged_with_the_weights_of_the_map():
    rng = np.random.default_rng(0)

    def few_top(n_top):
        """The best expert is right and answered few items; the other is worse than the model and answered all."""
        n = 5_000
        scores = Scores.from_probabilities(np.tile([0.7, 0.3], (n, 1)), np.tile([0.95, 0.75], (n, 1)))
        correct = np.column_stack([np.ones(n, bool), rng.random(n) < 0.4])
        observed = np.column_stack([np.arange(n) < n_top, np.ones(n, bool)])
        return fit_selection(HeldOut(scores, (rng.random(n) > 0.7).astype(int), correct, observed))

    one_less, enough = few_top(299), few_top(300)
    assert one_less.asks
    assert one_less.gain == pytest.approx(enough.gain, abs=0.05)
    assert one_less.n_items == pytest.approx(enough.n_items, abs=5)


def test_an_item_of_weight_0_is_as_if_absent_and_one_of_weight_2_counts_twice():
    team = noisy_team(400, np.random.default_rng(0))
    rows = np.concatenate([np.arange(100, 400), np.arange(300, 400)])
    again = HeldOut(team.scores.take(rows), team.label_idx[rows], team.correct[rows], team.observed[rows])
    weighted = fit_selection(replace(team, weight=np.repeat([0.0, 1.0, 2.0], [100, 200, 100])))
    np.testing.assert_allclose(weighted.weights, fit_selection(again).weights, atol=1e-6)


def test_the_map_never_prefers_who_looks_worse():
    rng = np.random.default_rng(0)
    team = noisy_team(2_000, rng)
    upside_down = replace(team, correct=rng.random(team.correct.shape) > team.scores.expert_proba)
    assert fit_selection(upside_down).weights[1] == 0


def test_all_answers_together_stop_what_is_asked_one_after_the_other():
    team = noisy_team(400, np.random.default_rng(7), model=0.6)
    lost = fit_selection(replace(team, several=Gain(-0.1, 0.01, 400.0)))
    assert (lost.asks, lost.asks_several) == (True, False)
    assert fit_selection(replace(team, several=Gain(-0.1, 0.01, 99.0))).asks_several  # too few to tell
    assert fit_selection(replace(team, several=Gain(-0.005, 0.01, 400.0))).asks_several


def test_the_gain_has_the_standard_error_of_its_mean_whatever_the_unit_of_the_weights():
    gain = np.random.default_rng(0).normal(-0.1, 1.0, 200)
    plain, weighted = gain_of_asking(gain), gain_of_asking(gain, np.full(200, 2.0))
    assert plain == pytest.approx(weighted)
    assert plain.standard_error == pytest.approx(gain.std(ddof=1) / np.sqrt(200))
    for shift in (-0.2, 0.0, 0.2):
        assert gain_of_asking(gain - gain.mean() + shift).asks == (shift >= 0)
