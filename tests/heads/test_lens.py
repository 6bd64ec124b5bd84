import numpy as np
import pytest
from sklearn.decomposition import PCA

from defero import InputError
from defero.core.codec import pack, unpack
from defero.heads import Lens, class_features

RNG = np.random.default_rng(0)


def test_few_features_are_looked_at_as_they_are():
    features = RNG.normal(size=(50, 32))
    lens = Lens.fit(features, reads_classes=False)
    assert lens.directions is None
    assert np.array_equal(lens.transform(features, np.empty((50, 0))), features)


def test_beliefs_come_first_and_hidden_units_last():
    features, hidden = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 3))
    proba = RNG.dirichlet(np.ones(3), size=4)
    lens = Lens.fit(features, reads_classes=True, n_hidden=3)
    expected = np.column_stack([class_features(proba), features, hidden])
    assert np.array_equal(lens.transform(features, proba, hidden), expected)


@pytest.mark.parametrize("n", [30, 400])  # fewer items than features, and more
def test_of_many_features_the_main_directions_are_kept_as_by_scikit_learn(n):
    rng = np.random.default_rng(n)
    features = rng.normal(size=(n, 40)) @ rng.normal(size=(40, 60)) + rng.normal(size=60)
    lens = Lens.fit(features, reads_classes=False)
    seen = lens.transform(features, np.empty((n, 0)))
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    oracle = PCA(16).fit_transform(standard)
    assert seen.shape == (n, 16)
    assert np.allclose(np.abs(seen), np.abs(oracle), atol=1e-8)


def test_directions_without_any_spread_are_left_out():
    features = np.outer(np.arange(20.0), np.ones(50))  # one direction, fifty times
    assert Lens.fit(features, reads_classes=False).transform(features, np.empty((20, 0))).shape == (20, 1)


def test_a_constant_column_harms_nothing():
    features = np.column_stack([RNG.normal(size=(100, 39)), np.full(100, 0.1)])
    assert np.isfinite(Lens.fit(features, reads_classes=False).transform(features, np.empty((100, 0)))).all()


def test_what_shares_a_spread():
    coded = np.column_stack([RNG.normal(size=6), np.eye(3)[[0, 1, 2, 0, 1, 2]]])
    lens = Lens.fit(coded, reads_classes=True, n_hidden=2)
    assert lens.groups(coded, n_classes=2).tolist() == [0, 1, 2, 3, 4, 4, 4, 5, 5]
    many = RNG.normal(size=(100, 33))
    groups = Lens.fit(many, reads_classes=False, n_hidden=1).groups(many, n_classes=2)
    assert groups.tolist() == [0] * 16 + [1]
    nothing = Lens.fit(np.empty((5, 0)), reads_classes=True)
    assert nothing.groups(np.empty((5, 0)), n_classes=3).tolist() == list(range(6))


@pytest.mark.parametrize("d", [3, 40])
def test_saved_and_read_it_looks_the_same(d):
    features, proba = RNG.normal(size=(60, d)), RNG.dirichlet(np.ones(4), size=60)
    lens = Lens.fit(features, reads_classes=True)
    again = unpack(Lens, pack(lens))
    assert np.array_equal(again.transform(features, proba), lens.transform(features, proba))


def test_a_damaged_lens_is_refused():
    with pytest.raises(InputError, match="center must be finite, with 3 rows"):
        Lens(3, True, 0, np.zeros(2), np.ones(3), None)


def test_of_many_classes_the_main_directions_are_looked_at():
    rng = np.random.default_rng(3)
    features, proba = rng.normal(size=(200, 2)), rng.dirichlet(np.ones(40), size=200)
    lens = Lens.fit(features, reads_classes=True, class_proba=proba)
    beliefs = class_features(proba)
    seen = lens.transform(features, proba)
    assert seen.shape == (200, 16 + 2)
    oracle = PCA(16).fit_transform(beliefs)
    assert np.allclose(np.abs(seen[:, :16] - seen[:, :16].mean(axis=0)), np.abs(oracle), atol=1e-7)
    assert lens.groups(features, n_classes=40).tolist() == [*range(16), 16, 17]
    again = unpack(Lens, pack(lens))
    assert np.array_equal(again.transform(features, proba), seen)
    few = Lens.fit(features, reads_classes=True, class_proba=proba[:, :16] / proba[:, :16].sum(axis=1, keepdims=True))
    assert few.class_directions is None
