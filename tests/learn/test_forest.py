"""Forest: the same numbers as a walk node by node; stages, parts and joins; forged arrays are refused."""

import numpy as np
import pytest

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.learn.boost import Bins, TreeSize
from defero.learn.forest import Forest, join_forests


def rows(n, rng):
    """Two columns of categories and three of numbers, all with gaps."""
    columns = rng.normal(size=(n, 5)).round(2)
    columns[:, 0], columns[:, 1] = rng.integers(0, 9, n), rng.integers(2, 6, n)
    columns[rng.random(columns.shape) < 0.1] = np.nan
    return columns


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


def grown(seed=0, n_outputs=3):
    rng = np.random.default_rng(seed)
    columns, target = rows(400, rng), rng.integers(0, max(n_outputs, 2), 400).astype(float)
    return Bins(columns, 2).boost(np.arange(400), target, None, TreeSize(5, 6, 10), n_outputs=n_outputs), columns


def test_it_predicts_as_a_walk_through_each_tree_does():
    forest, columns = grown()
    expected = np.stack([slow_predict(forest, row) for row in columns[:50]])
    np.testing.assert_allclose(forest.predict(columns[:50]), expected)


def test_outputs_are_joined_and_taken():
    (one, columns), (other, _) = grown(0), grown(1)
    both = join_forests([one, other])
    np.testing.assert_allclose(both.predict(columns), np.hstack([one.predict(columns), other.predict(columns)]))
    np.testing.assert_allclose(both.take(np.array([4, 0])).predict(columns), both.predict(columns)[:, [4, 0]])


def test_stages_are_what_the_first_trees_say():
    forest, columns = grown(n_outputs=1)
    shares = np.array([0.0, 0.1, 0.4, 1.0])
    stages = forest.stages(columns, shares)
    np.testing.assert_allclose(stages[0], forest.baseline[0])
    np.testing.assert_allclose(stages[-1], forest.predict(columns)[:, 0])
    for place, n_trees in ((1, 1), (2, 2), (3, 5)):  # at least one tree for a share above 0
        first = forest.first(shares[place])
        assert len(first.output) == n_trees
        np.testing.assert_allclose(stages[place], first.predict(columns)[:, 0], atol=1e-12)


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
    n_trees, n_splits = 4_400, 15
    shape = n_trees, n_splits
    counting = Forest(  # each leaf counts the thresholds of its tree that are below
        1,
        np.zeros(1),
        np.zeros(n_trees, np.int64),
        np.zeros(shape, np.int64),
        np.arange(n_trees * n_splits, dtype=np.float64).reshape(shape),
        np.zeros(shape, bool),
        np.zeros((*shape, 4), np.uint64),
        np.zeros(shape, bool),
        np.tile((2 << np.arange(n_splits)) - 1, (n_trees, 1)).astype(np.uint16),
        np.tile(np.arange(n_splits + 1.0), (n_trees, 1)),
    )
    n = n_trees * n_splits
    assert n > 2**16
    assert counting.predict(np.array([[n + 1.0], [10.5], [-1.0]]))[:, 0].tolist() == [n, 11, 0]
