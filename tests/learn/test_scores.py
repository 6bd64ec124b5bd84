"""Expected scores: one regression of all experts, beside a slow twin; unknown categories, experts with few scores."""

import numpy as np
import pandas as pd
import pytest

from defero import InputError
from defero.core.codec import pack, unpack
from defero.data.recipes.recipe import FeatureRecipe
from defero.learn.fit_scores import ScoreColumns, chosen_map, fit_prices, fit_scores, score_covariance
from defero.learn.regression import Spreads, Sums, fit_spreads, solve
from defero.learn.scores import Landmarks, LearnedPrices, ScoreScorer


def slow_weights(design, targets, spreads):
    """Return c + u_j from one ridge regression with a column for each c_f and each u_jf."""
    p, n_experts = design.shape[1], targets.shape[1]
    rows, values = [], []
    for i, j in np.argwhere(np.isfinite(targets)):
        row = np.zeros(p * (n_experts + 1))
        row[:p] = row[p * (j + 1) : p * (j + 2)] = design[i]
        rows.append(row)
        values.append(targets[i, j])
    matrix = np.array(rows)
    penalty = np.concatenate([[0.0], 1.0 / spreads.common[1:], *[1.0 / spreads.own] * n_experts])
    both = np.linalg.solve(matrix.T @ matrix / spreads.noise + np.diag(penalty), matrix.T @ values / spreads.noise)
    return both[:p, None] + both[p:].reshape(n_experts, p).T


@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_the_regression_is_one_ridge_regression_of_all_columns(gaps):
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(60), rng.normal(size=(60, 3))])
    targets = rng.random((60, 4))
    targets[rng.random(targets.shape) < gaps] = np.nan
    targets[:, 3] = np.nan
    spreads = Spreads(0.2, np.array([9.0, 0.1, 0.1, 0.4]), np.array([0.05, 0.02, 0.02, 0.3]))
    weights = solve(Sums.of(design, targets), spreads)
    np.testing.assert_allclose(weights, slow_weights(design, targets, spreads), atol=1e-6)
    out = np.arange(60) % 5 == 0
    rest = solve(Sums.of(design, targets).without(design[out], targets[out]), spreads)
    np.testing.assert_allclose(rest, solve(Sums.of(design[~out], targets[~out]), spreads), atol=1e-8)


def test_variances_are_those_that_the_targets_were_drawn_with():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(500), rng.normal(size=(500, 20))])
    own = rng.normal(size=(21, 12)) * np.repeat([0.3, 0.05], [1, 20])[:, None]
    common = rng.normal(size=(21, 1)) * np.repeat([0.5, 0.2], [1, 20])[:, None]
    targets = design @ (own + common) + rng.normal(size=(500, 12)) * 0.4
    spreads = fit_spreads(Sums.of(design, targets), np.repeat([0, 1], [1, 20]))
    assert spreads.noise**0.5 == pytest.approx(0.4, rel=0.05)
    assert spreads.own[1] ** 0.5 == pytest.approx(0.05, rel=0.15)
    assert spreads.common[1] ** 0.5 == pytest.approx(0.2, rel=0.3)


def crowd(n=900, seed=0):
    """Items of three categories with two directions of words that tell them apart, and three experts."""
    rng = np.random.default_rng(seed)
    task = rng.choice(["code", "maths", "poems"], n)
    middle = {"code": (1.0, 0.2), "maths": (1.0, -0.2), "poems": (-1.0, 0.0)}
    words = np.array([middle[one] for one in task]) + rng.normal(size=(n, 2)) * 0.3
    poems = task == "poems"
    right = np.column_stack([np.where(poems, 0.2, 0.9), np.where(poems, 0.9, 0.3), np.full(n, 0.55)])
    table = pd.DataFrame({"task": task, "first": words[:, 0], "second": words[:, 1]})
    return table, (rng.random(right.shape) < right).astype(float), right


def learn(table, scores):
    recipe = FeatureRecipe.learn(table)
    features = recipe.apply(table)
    columns = ScoreColumns.of(features, recipe)
    return fit_scores(features, scores, columns=columns, fold=np.arange(len(table)) % 5), recipe


@pytest.mark.parametrize("task", ["code", "maths"])
def test_a_category_that_training_has_not_seen_falls_back_to_the_words(task):
    table, scores, right = crowd()
    old = (table.task != task).to_numpy()
    fit, recipe = learn(table[old], scores[old])
    expected = fit.scorer.predict(recipe.apply(table[~old]))
    assert (expected.argmax(axis=1) == right[~old].argmax(axis=1)).mean() > 0.85
    without, bare = learn(table[old].drop(columns="task"), scores[old])
    alone = without.scorer.predict(bare.apply(table[~old]))
    np.testing.assert_allclose(expected.mean(axis=0), alone.mean(axis=0), atol=0.08)


def test_without_other_columns_a_new_category_is_the_mean_over_categories():
    table, scores, right = crowd()
    fit, recipe = learn(table[["task"]], scores)
    assert not fit.scorer.instead.size
    expected = fit.scorer.predict(recipe.apply(pd.DataFrame({"task": ["code", "maths", "poems", "songs"]})))
    np.testing.assert_allclose(expected[3], expected[:3].mean(axis=0), atol=0.1)  # three categories: shrunk
    assert expected[3].argmax() == expected[:3].mean(axis=0).argmax()
    np.testing.assert_allclose(expected[2], right[table.task == "poems"][0], atol=0.07)


def test_of_two_unknown_categories_each_has_its_own_stand_in():
    table, scores, _ = crowd()
    table["language"] = np.where(np.arange(len(table)) % 2, "en", "de")
    fit, recipe = learn(table, scores)
    new = pd.DataFrame({"task": ["x", "code", "x"], "language": ["en", "x", "x"], "first": [1.0] * 3, "second": 0.2})
    expected = fit.scorer.predict(recipe.apply(new))
    assert (expected.argmax(axis=1) == 0).all()
    assert fit.scorer.instead.shape == (2, fit.scorer.n_features + _n_landmarks(fit.scorer) + 1, 3)


def _n_landmarks(scorer):
    return 0 if scorer.landmarks is None else len(scorer.landmarks.points)


def test_what_is_curved_is_learned_by_likeness_and_what_is_straight_without():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    inside = (x**2).sum(axis=1) < 1.4
    fold = np.arange(1500) % 5
    ring = np.column_stack([np.where(inside, 0.9, 0.2), np.where(inside, 0.2, 0.9)])
    plane = np.column_stack([0.5 + 0.1 * x[:, 0], 0.5 - 0.1 * x[:, 1]])
    for right, curved in ((ring, True), (plane, False)):
        scores = (rng.random(right.shape) < right).astype(float)
        fit = fit_scores(x, scores, columns=ScoreColumns.of(x), fold=fold)
        assert (fit.scorer.landmarks is not None) == curved
        assert (fit.scorer.product is None) == curved
        assert np.abs(fit.scorer.predict(x) - np.clip(right, 0, 1)).mean() < (0.15 if curved else 0.03)


def test_an_expert_without_scores_is_the_population_and_one_with_few_is_near_it():
    table, scores, _ = crowd()
    scores = np.column_stack([scores, scores[:, 0], scores[:, 0]])
    scores[:, 3] = np.nan
    scores[8:, 4] = np.nan
    fit, recipe = learn(table, scores)
    expected = fit.scorer.predict(recipe.apply(table))
    others = expected[:, :3].mean(axis=1)
    np.testing.assert_allclose(expected[:, 3], others, atol=0.15)
    away = [np.abs(expected[:, j] - others).mean() for j in (4, 0)]
    assert away[0] < away[1]
    covariance = score_covariance(fit.held_out, scores)
    assert covariance.shape == (5, 5)
    assert np.linalg.eigvalsh(covariance).min() > -0.2


def test_corrected_marks_outside_of_the_range_are_learned_without_bias():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (4000, 1)).astype(float)
    right = np.where(x > 0, 0.95, 0.1)
    marks = np.where(rng.random(right.shape) < right, rng.random(right.shape) < 0.9, rng.random(right.shape) < 0.3)
    fit = fit_scores(x, (marks - 0.3) / 0.6, columns=ScoreColumns.of(x), fold=np.arange(4000) % 5)
    np.testing.assert_allclose(fit.scorer.predict(np.array([[0.0], [1.0]]))[:, 0], [0.1, 0.95], atol=0.03)


def test_many_columns_become_main_directions_and_few_rows_are_enough():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 5))
    x = base @ rng.normal(size=(5, 450)) + rng.normal(size=(300, 450)) * 0.1
    scores = (rng.random((300, 2)) < np.where(base[:, :1] > 0, [0.9, 0.2], [0.2, 0.9])).astype(float)
    columns = ScoreColumns.of(x)
    assert columns.axes.shape == (450, 256)
    fit = fit_scores(x, scores, columns=columns, fold=np.arange(300) % 5)
    chosen = fit.scorer.predict(x).argmax(axis=1)
    assert (chosen == (base[:, 0] <= 0)).mean() > 0.8
    few = fit_scores(x[:3], scores[:3], columns=ScoreColumns.of(x[:3]), fold=np.zeros(3, int))
    assert np.isfinite(few.scorer.predict(x)).all()


def test_a_scorer_is_packed_taken_apart_and_joined():
    table, scores, _ = crowd()
    fit, recipe = learn(table, scores)
    features, scorer = recipe.apply(table), fit.scorer
    again = unpack(ScoreScorer, pack(scorer))
    np.testing.assert_array_equal(again.predict(features), scorer.predict(features))
    some = scorer.take(np.array([2, 0]))
    np.testing.assert_allclose(some.predict(features), scorer.predict(features)[:, [2, 0]])
    joined = scorer.with_member(np.array([0.5, 0.5, 0.0]), 0.1)
    features[:5, :3] = 0.0  # of no known category
    np.testing.assert_allclose(
        joined.linear_values(features)[:, 3], scorer.linear_values(features)[:, :2].mean(axis=1) + 0.1
    )
    both = scorer.score(features)
    assert both.n_classes == 0
    np.testing.assert_array_equal(both.expert_proba, scorer.predict(features))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"intercept": np.zeros(3)}, "intercept"),
        ({"weights": np.full((2, 2), np.nan)}, "finite"),
        ({"categories": ((0, 3),)}, "columns of 2 features"),
        ({"instead": np.zeros((1, 2, 2))}, "must have shape"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    parts = {"weights": np.zeros((2, 2)), "intercept": np.zeros(2)}
    with pytest.raises(InputError, match=message):
        ScoreScorer(**(parts | change))


def test_prices_are_learned_where_they_vary_and_stay_where_they_do_not():
    x = np.random.default_rng(0).uniform(10, 100, (300, 1))
    prices = np.column_stack([0.01 * x[:, 0], np.full(300, 2.0), np.full(300, np.nan)])
    learned = fit_prices(x, prices, columns=ScoreColumns.of(x))
    assert learned.known.tolist() == [True, True, False]
    expected = learned.predict(x)
    np.testing.assert_allclose(expected[:, 0], prices[:, 0], rtol=0.02)
    np.testing.assert_allclose(expected[:, 1], 2.0)
    assert np.isnan(expected[:, 2]).all()
    assert fit_prices(x, None, columns=ScoreColumns.of(x)) is None
    joined = learned.with_member(None).with_member(3.0)
    assert joined.known.tolist() == [True, True, False, False, True]
    assert joined.take(np.array([4])).predict(x[:1]).tolist() == [[3.0]]
    with pytest.raises(InputError, match="weights"):
        LearnedPrices(np.zeros((1, 2)), np.zeros(1), np.ones(1, bool))


def test_the_best_of_many_estimates_is_corrected_and_never_turned_around():
    rng = np.random.default_rng(0)
    expected = 0.5 + rng.normal(size=(2000, 10)) * 0.1
    a, b = chosen_map(expected, (rng.random(expected.shape) < 0.5).astype(float))
    assert a + b * expected.max(axis=1).mean() == pytest.approx(0.5, abs=0.03)
    assert b < 0.3
    assert chosen_map(expected, (expected < 0.55).astype(float))[1] == 0.0
    assert chosen_map(expected[:, :1], np.ones((2000, 1))) == (0.0, 1.0)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("with_landmarks", [True, False])
def test_rows_that_are_not_finite_are_refused(wrong, kind, with_landmarks):
    points = Landmarks(np.array([0]), np.zeros(1), np.ones(1), np.array([[2.0]]), width=4.0) if with_landmarks else None
    scorer = ScoreScorer(np.full((2 + with_landmarks, 2), 0.1), np.zeros(2), points)
    features = np.zeros((3, 2), dtype=kind)
    assert np.isfinite(scorer.predict(features)).all()
    features[1, 1] = wrong
    with pytest.raises(InputError, match=r"must be finite, got .* in column 1"):
        scorer.predict(features)


def test_without_any_score_or_expert_nothing_is_nan():
    assert np.isfinite(score_covariance(np.full((3, 2), 0.5), np.full((3, 2), np.nan))).all()
    nobody = Sums.of(np.ones((2, 1)), np.zeros((2, 0)))
    assert (nobody.gram.shape, nobody.cross.shape) == ((0, 1, 1), (1, 0))
    assert nobody.without(np.ones((1, 1)), np.zeros((1, 0))).gram.shape == (0, 1, 1)
