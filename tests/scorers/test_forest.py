"""Forest: the same numbers as scikit-learn's trees and as a walk node by node; forged arrays are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.estimators.boosting import TreeSize, boost, forest_of
from defero.scorers.forest import Forest, join_forests, mean_forest


def rows(n, rng):
    """Two columns of categories and three of numbers, all with gaps."""
    columns = rng.normal(size=(n, 5)).round(2)
    columns[:, 0], columns[:, 1] = rng.integers(0, 9, n), rng.integers(2, 6, n)
    columns[rng.random(columns.shape) < 0.1] = np.nan
    return columns


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4), n_leaves=st.integers(2, 16))
def test_it_predicts_as_scikit_learn_does(seed, n_classes, n_leaves):
    rng = np.random.default_rng(seed)
    train, label_idx = rows(300, rng), rng.integers(0, n_classes, 300)
    model = HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=n_leaves, min_samples_leaf=5, categorical_features=[0, 1], early_stopping=False
    ).fit(train, label_idx)
    new = rows(200, rng)
    new[:, 0] = rng.integers(0, 12, 200)  # categories that training did not have count as missing
    expected = np.asarray(model.decision_function(new)).reshape(200, -1)
    np.testing.assert_allclose(forest_of(model, train[:5]).predict(new), expected, atol=1e-12)


def slow_predict(forest, row):
    """Return the outputs of one row: each tree's leaf is the first one that no split to the right has cleared."""
    raw = forest.baseline.copy()
    for t in range(len(forest.output)):
        cleared = 0
        for s in np.flatnonzero(forest.feature[t] >= 0):
            value = row[forest.feature[t, s]]
            if np.isnan(value):
                left = forest.missing_left[t, s]
            elif forest.is_category[t, s]:
                left = bool(int(forest.categories[t, s][int(value) // 64]) >> (int(value) % 64) & 1)
            else:
                left = value <= forest.threshold[t, s]
            cleared |= 0 if left else int(forest.leaves_left[t, s])
        leaf = next(place for place in range(16) if not cleared >> place & 1)
        raw[forest.output[t]] += forest.value[t, leaf]
    return raw


def grown(seed=0, n_targets=3):
    rng = np.random.default_rng(seed)
    columns, target_idx = rows(400, rng), rng.integers(0, n_targets, 400)
    bags = (np.arange(5),)
    return boost(columns, target_idx, None, TreeSize(5, 6, 10), n_targets=n_targets, n_categories=2, bags=bags), columns


def test_it_predicts_as_a_walk_through_each_tree_does():
    forest, columns = grown()
    expected = np.stack([slow_predict(forest, row) for row in columns[:50]])
    np.testing.assert_allclose(forest.predict(columns[:50]), expected)


def test_outputs_are_joined_taken_and_averaged():
    (one, columns), (other, _) = grown(0), grown(1)
    both = join_forests([one, other])
    np.testing.assert_allclose(both.predict(columns), np.hstack([one.predict(columns), other.predict(columns)]))
    np.testing.assert_allclose(both.take(np.array([4, 0])).predict(columns), both.predict(columns)[:, [4, 0]])
    mean = (one.predict(columns) + other.predict(columns)) / 2
    np.testing.assert_allclose(mean_forest([one, other]).predict(columns), mean)


def test_a_target_that_never_occurs_is_unlikely_and_one_alone_is_constant():
    columns = rows(100, np.random.default_rng(0))
    options = {"n_categories": 2, "bags": (np.arange(5),)}
    target_idx = np.arange(100) % 2 * 2
    logits = boost(columns, target_idx, None, TreeSize(3, 4, 5), n_targets=3, **options).predict(columns)
    assert (logits[:, 1] < logits[:, [0, 2]].min(axis=1)).all()
    alone = boost(columns, np.ones(100, dtype=int), None, TreeSize(3, 4, 5), n_targets=2, **options).predict(columns)
    np.testing.assert_allclose(alone, np.log(101 / 1))


def test_arrays_give_back_the_same_forest():
    forest, columns = grown()
    np.testing.assert_array_equal(unpack(Forest, pack(forest)).predict(columns), forest.predict(columns))


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("feature", lambda array: array + 5),
        ("output", lambda array: array - 1),
        ("leaves_left", lambda array: array * 0 + 0xFFFF),
        ("value", lambda array: array[:, :1]),
        ("threshold", lambda array: array * np.nan),
        ("value", lambda array: array + np.inf),
        ("baseline", lambda array: array - np.inf),
    ],
)
def test_forged_arrays_are_refused(name, spoil):
    packed = pack(grown()[0])
    forged = spoil(packed.arrays[name])
    manifest = {**packed.manifest, name: f"{forged.dtype} {forged.shape}"}
    with pytest.raises(ModelFolderError, match=rf"model\.json: .*{name} must"):
        unpack(Forest, Packed(manifest, {**packed.arrays, name: forged}))


def test_a_column_may_have_more_thresholds_than_two_bytes_can_count():
    n = 70_000
    stumps = Forest(
        1,
        np.zeros(1),
        np.zeros(n, np.int64),
        np.zeros((n, 1), np.int64),
        np.arange(n, dtype=np.float64)[:, None],
        np.zeros((n, 1), bool),
        np.zeros((n, 1, 4), np.uint64),
        np.zeros((n, 1), bool),
        np.ones((n, 1), np.uint16),
        np.tile([0.0, 1.0], (n, 1)),
    )
    assert stumps.predict(np.array([[n + 1.0], [10.5], [-1.0]]))[:, 0].tolist() == [n, 11, 0]
