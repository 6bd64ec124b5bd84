"""The classes of a table: linear and boosted, blended by what they say of held-out items."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.learn.boost import Bins
from defero.learn.classes import Classes, TreeColumns, Trees
from defero.learn.fit_classes import Labelled, best_strength, fit_classes, fit_linear
from defero.learn.kept import KeptClassifier, LinearMap
from defero.learn.prior import scaling


def learned(features, label_idx, n_classes, *, weight=None, trees=True, fold=None):
    data = Labelled(features, label_idx, np.ones(len(label_idx)) if weight is None else weight, n_classes)
    columns = TreeColumns.of(features.shape[1])
    bins = Bins(features, 0) if trees and features.shape[1] else None
    classes, held_out = fit_classes(data, columns, bins, np.arange(len(label_idx)) % 5 if fold is None else fold)
    return data, classes, held_out


def plane(n, rng):
    features = rng.normal(size=(n, 3))
    proba = sigmoid(0.5 + features @ [1.5, -1.0, 0.0])
    return features, (rng.random(n) < proba).astype(int), proba


def checkers(n, rng):
    features = rng.uniform(-1, 1, (n, 2))
    proba = np.where(features[:, 0] * features[:, 1] > 0, 0.9, 0.1)
    return features, (rng.random(n) < proba).astype(int), proba


@pytest.mark.parametrize(("draw", "most"), [(plane, 0.05), (checkers, 0.08)])
def test_a_plane_and_a_checkerboard_are_found_and_held_out_items_say_how_well(draw, most):
    rng = np.random.default_rng(0)
    features, label_idx, _ = draw(1_500, rng)
    _, classes, held_out = learned(features, label_idx, 2)
    new, new_idx, proba = draw(3_000, rng)
    found = classes.proba(new)
    assert np.abs(found[:, 1] - proba).mean() < most
    claimed = -np.log(held_out[np.arange(1_500), label_idx]).mean()
    kept = -np.log(found[np.arange(3_000), new_idx]).mean()
    assert claimed == pytest.approx(kept, abs=0.05)
    linear, trees = classes.weights
    assert (linear > 2 * trees) == (draw is plane)
    assert (trees > 2 * linear) == (draw is checkers)


def test_three_classes_and_the_folder():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(900, 2))
    label_idx = np.where(features[:, 0] * features[:, 1] > 0, 2, (features[:, 0] > 0).astype(int))
    _, classes, _ = learned(features, label_idx, 3)
    proba = classes.proba(features)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba.argmax(axis=1) == label_idx).mean() > 0.9
    again = unpack(Classes, pack(classes))
    np.testing.assert_array_equal(again.proba(features), proba)
    assert again.score(features).expert_proba.shape == (900, 0)


@pytest.mark.parametrize("trees", [True, False])
def test_held_out_items_are_not_seen(trees):
    """Other labels in a fold change what is said of the others, not of the fold; the blend is of them all."""
    rng = np.random.default_rng(2)
    features, label_idx, _ = checkers(400, rng)
    fold = np.arange(400) % 4
    one = features[:, :1] if not trees else features
    other = np.where((fold == 1) & (rng.random(400) < 0.05), 1 - label_idx, label_idx)
    _, _, before = learned(one, label_idx, 2, trees=trees, fold=fold)
    _, _, after = learned(one, other, 2, trees=trees, fold=fold)
    moved = np.abs(after - before).max(axis=1)
    if not trees:  # of one part the temperature alone is common to all
        odds = [np.log(one[:, 1] / one[:, 0]) for one in (before, after)]
        ratio = (odds[1] / odds[0])[fold == 1]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert moved[fold != 1].mean() > 2 * moved[fold == 1].mean()


def test_a_ridge_as_scikit_learn_s_and_an_absent_class_is_never_likely():
    rng = np.random.default_rng(3)
    features, label_idx, _ = plane(300, rng)
    data = Labelled(features, 2 * label_idx, rng.uniform(0.5, 2.0, 300), 3)
    linear = fit_linear(data, 4.0)
    center, scale = scaling(features, data.weight)
    oracle = LogisticRegression(C=0.25, max_iter=1_000).fit(
        (features - center) / scale, label_idx, sample_weight=data.weight
    )
    logits = linear.outputs(features)
    np.testing.assert_allclose(logits[:, 2] - logits[:, 0], oracle.decision_function((features - center) / scale))
    assert (logits[:, 1] == -20).all()


def test_one_class_alone_and_a_feature_that_never_changes():
    _, classes, held_out = learned(np.zeros((20, 2)), np.zeros(20, int), 2)
    np.testing.assert_allclose(held_out, [[1.0, 0.0]] * 20, atol=1e-6)
    assert classes.net == "linear"
    rng = np.random.default_rng(4)
    label_idx = (rng.random(500) < 0.3).astype(int)
    _, classes, _ = learned(np.full((500, 1), 0.1), label_idx, 2)
    np.testing.assert_allclose(classes.proba(np.full((1, 1), 0.1))[0, 1], label_idx.mean(), atol=0.01)


def test_an_item_of_weight_0_is_as_if_absent():
    rng = np.random.default_rng(5)
    features, label_idx, _ = plane(400, rng)
    used, fold = np.arange(400) % 4 > 0, np.arange(400) // 4 % 5
    other = np.where(used, label_idx, 1 - label_idx)
    _, classes, _ = learned(features, other, 2, weight=used.astype(float), trees=False, fold=fold)
    _, fewer, _ = learned(features[used], label_idx[used], 2, trees=False, fold=fold[used])
    np.testing.assert_allclose(classes.proba(features), fewer.proba(features), atol=1e-4)


def test_the_ridge_is_sought_until_the_loss_rises():
    data = Labelled(np.zeros((2, 1)), np.zeros(2, int), np.ones(2), 2)
    asked = []

    def unseen(strength):
        asked.append(strength)
        return np.full((2, 2), {1.0: 0.4, 4.0: 0.6, 16.0: 0.5}[strength])

    strength, proba = best_strength(unseen, data)
    assert (strength, proba[0, 0], asked) == (4.0, 0.6, [1.0, 4.0, 16.0])


def test_odd_parts_are_refused():
    features = np.random.default_rng(6).normal(size=(100, 2))
    _, classes, _ = learned(features, (features[:, 0] * features[:, 1] > 0).astype(int), 2)
    linear = KeptClassifier(np.zeros(2), np.ones(2), LinearMap(np.zeros((2, 2)), np.zeros(2)), "softmax")
    trees = classes.trees
    for change, word in (
        ({"weights": np.ones(3)}, "weights must be two numbers"),
        ({"linear": None, "trees": None}, "weights must be two numbers"),
        ({"n_classes": 3, "linear": None}, "trees must have 3 outputs"),
        ({"n_classes": 3, "linear": linear, "trees": None}, "linear must be of 3 classes"),
    ):
        with pytest.raises(InputError, match=word):
            replace(classes, **change)
    with pytest.raises(InputError, match="forest must look at 3 columns, got 2"):
        Trees(TreeColumns.of(3), trees.forest)
    with pytest.raises(InputError, match="scale must be 2 numbers that are not 0"):
        replace(linear, scale=np.zeros(2))
