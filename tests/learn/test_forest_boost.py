"""Boosted forests give LightGBM's own numbers: gaps, categories that training had not, start values, weights."""

import lightgbm
import numpy as np
import pytest

from defero.learn.boost import Bins, TreeSize

N, SIZE = 600, TreeSize(8, 7, 10, learning_rate=0.2)


def columns_of(n, rng, *, n_kinds=9, gaps=(0, 1, 2, 4)):
    """Two columns of categories and three of numbers, some with gaps; the last one is never negative and often 0."""
    columns = rng.normal(size=(n, 5)).round(2)
    columns[:, 0], columns[:, 1] = 25 * rng.integers(0, n_kinds, n), rng.integers(2, 6, n)
    columns[:, 4] = np.maximum(columns[:, 4], 0.0)
    for column in gaps:
        columns[rng.random(n) < 0.1, column] = np.nan
    return columns


def labels_of(columns, n_classes, rng):
    """Return class numbers that go with a category, a number and a gap."""
    signal = 0.0 + np.nan_to_num(columns[:, 2]) + (columns[:, 0] % 2 == 1) + np.isnan(columns[:, 4])
    signal += np.abs(columns[:, 3]) > 1
    return np.clip(np.floor(signal + rng.normal(0, 0.5, len(columns))), 0, n_classes - 1)


@pytest.fixture
def spied(monkeypatch):
    """Keep LightGBM's own models, to ask them what the forest is asked."""
    models, train = [], lightgbm.train

    def kept(*arguments, **options):
        models.append(train(*arguments, **options))
        return models[-1]

    monkeypatch.setattr(lightgbm, "train", kept)
    return models


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_forest_says_what_lightgbm_says(spied, n_classes, started, weighted):
    rng = np.random.default_rng(n_classes)
    columns = columns_of(N, rng)
    target, n_outputs = labels_of(columns, n_classes, rng), 1 if n_classes == 2 else n_classes
    rows = rng.permutation(N)[:500]
    weight = rng.uniform(0.2, 3.0, 500) if weighted else None
    start = rng.normal(size=500) if started and n_outputs == 1 else None
    forest = Bins(columns, 2).boost(rows, target[rows], weight, SIZE, n_outputs=n_outputs, start=start)
    new = columns_of(400, np.random.default_rng(9), n_kinds=11, gaps=range(5))  # categories and gaps that are new
    expected = np.asarray(spied[0].predict(new, raw_score=True)).reshape(400, n_outputs)
    np.testing.assert_allclose(forest.predict(new), expected + forest.baseline, rtol=0, atol=1e-12)
    assert np.ptp(expected) > 0.5  # the trees say something
    assert (forest.baseline == 0).all() == (start is not None)


def test_trees_that_start_from_the_truth_have_nothing_to_add():
    rng = np.random.default_rng(0)
    columns = columns_of(4_000, rng)
    log_odds = 2.0 * np.nan_to_num(columns[:, 2])
    right = (rng.random(4_000) < 1 / (1 + np.exp(-log_odds))).astype(float)
    bins, rows = Bins(columns, 2), np.arange(4_000)
    told = bins.boost(rows, right, None, SIZE, start=log_odds).predict(columns)[:, 0]
    untold = bins.boost(rows, right, None, SIZE, start=np.zeros(4_000)).predict(columns)[:, 0]
    assert np.abs(told).mean() < 0.25 * np.abs(untold).mean()
    assert np.corrcoef(untold, log_odds)[0, 1] > 0.9


def test_weights_count_as_so_many_answers():
    x = np.repeat([0.0, 1.0], 200)[:, None]
    right, weight = np.tile([1.0, 0.0], 200), np.where(np.arange(400) % 2 == (x[:, 0] > 0), 3.0, 1.0)
    size = TreeSize(200, 2, 10, l2=0.0)
    found = Bins(x, 0).boost(np.arange(400), right, weight, size, start=np.zeros(400)).predict(x)[:, 0]
    np.testing.assert_allclose(found, np.where(x[:, 0] > 0, -np.log(3), np.log(3)), atol=1e-3)


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(1)
    columns = columns_of(N, rng)
    target, weight, start = labels_of(columns, 2, rng), rng.uniform(0.5, 2.0, N), rng.normal(size=N)
    bins, order = Bins(columns, 2), rng.permutation(N)
    plain = bins.boost(np.arange(N), target, weight, SIZE, start=start)
    mixed = bins.boost(order, target[order], weight[order], SIZE, start=start[order])
    np.testing.assert_array_equal(mixed.predict(columns), plain.predict(columns))


def test_several_classes_start_from_their_shares():
    rng = np.random.default_rng(3)
    noise, target = rng.normal(size=(4_000, 2)), rng.choice(3, 4_000, p=[0.9, 0.07, 0.03]).astype(float)
    size = TreeSize(30, 2, 1_500, l2=0.0)
    forest = Bins(noise, 0).boost(np.arange(4_000), target, None, size, n_outputs=3)
    np.testing.assert_allclose(np.exp(forest.baseline), np.bincount(target.astype(int)) / 4_000, atol=1e-4)
    assert np.abs(forest.predict(noise) - forest.baseline).max() < 0.3


def test_a_class_that_never_occurs_is_unlikely_and_nothing_adds_nothing():
    rng = np.random.default_rng(2)
    columns = columns_of(N, rng)
    bins, target = Bins(columns, 2), (np.arange(N) % 2 * 2).astype(float)
    logits = bins.boost(np.arange(N), target, None, SIZE, n_outputs=3).predict(columns)
    assert (logits[:, 1] < logits[:, [0, 2]].min(axis=1) - 3).all()
    assert not bins.nothing().predict(columns).any()
