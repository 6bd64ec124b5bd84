"""Do weights make the answered items stand for all items?"""

import numpy as np
import pytest
from answering_studies import at_random_five_of_203, few_of_many, one_expert, weights, who_said
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.judge.answering import WhoAnswered
from defero.judge.weights import _class_shares, _pool_log_odds

ACCURACY = np.array([0.95, 0.4])


def restored(seed, n):
    """Return the masked and the weighted accuracy of the example whose true one is 0.785."""
    item, expert, label, _, n_classes, n_experts = one_expert(seed, rates=(0.2, 0.9), n=n)
    right = np.random.default_rng(seed + 1).random(len(item)) < ACCURACY[label[item]]
    weight = weights(item, expert, label, n_classes=n_classes, n_experts=n_experts)
    return right.mean(), np.average(right, weights=weight)


def test_weights_restore_the_true_accuracy():
    masked, weighted = restored(0, 20_000)
    assert masked == pytest.approx(0.588, abs=0.02)
    assert weighted == pytest.approx(0.785, abs=0.02)


def test_weights_restore_it_on_average_of_small_studies():
    found = np.array([restored(seed, 1_000) for seed in range(100)])
    np.testing.assert_allclose(found.mean(axis=0), [0.588, 0.785], atol=0.01)


def test_two_hundred_experts_with_dozens_of_answers_are_restored_together():
    rng = np.random.default_rng(0)
    label = (rng.random(3_000) < 0.3).astype(int)
    item, expert = np.nonzero(rng.random((3_000, 200)) < 0.03 * np.array([0.2, 0.9])[label][:, None])
    right = rng.random(len(item)) < ACCURACY[label[item]]
    weight = weights(item, expert, label, n_classes=2, n_experts=200)
    assert right.mean() == pytest.approx(0.588, abs=0.02)
    assert np.average(right, weights=weight) == pytest.approx(0.785, abs=0.02)
    # Each expert follows the pool, and so nearly does each one's weight.
    pooled = (np.array([0.7, 0.3]) * (0.14 + 0.27) / np.array([0.14, 0.27]))[label[item]]
    assert np.abs(np.log(weight / pooled)).mean() < 0.15


def test_experts_of_different_tastes_get_their_own_weights():
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=4_000)
    rates = np.array([[0.1, 0.4], [0.4, 0.1]])[np.arange(20) % 2]
    item, expert = np.nonzero(rng.random((4_000, 20)) < rates.T[label])
    weight = weights(item, expert, label, n_classes=2, n_experts=20)
    rare = rates[expert, label[item]] == 0.1
    assert weight[rare].mean() == pytest.approx(2.5, rel=0.05)
    assert weight[~rare].mean() == pytest.approx(0.625, rel=0.05)


def test_label_and_features_restore_what_the_label_alone_spoils():
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(40_000, 1)).astype(float)
    label = (rng.random(40_000) < np.where(x[:, 0] == 1, 0.8, 0.2)).astype(int)
    item, expert = np.nonzero(rng.random((40_000, 3)) < 0.02 * 2.0 ** (2 * x + label[:, None]))
    sizes = {"n_classes": 2, "n_experts": 3}
    both = weights(item, expert, label, x, by="label+features", **sizes)
    alone = weights(item, expert, label, x, by="label", **sizes)

    def share_of_class_1(weight):
        return [np.average(label[item[x[item, 0] == v]], weights=weight[x[item, 0] == v]) for v in (0, 1)]

    np.testing.assert_allclose(share_of_class_1(both), [0.2, 0.8], atol=0.03)
    assert share_of_class_1(alone)[0] < 0.12  # and without weights it is 1/3
    exact = 0.5 ** (2 * x[item, 0] + label[item])
    np.testing.assert_allclose(both, exact / exact.mean(), rtol=0.15)


def test_an_expert_of_their_own_region_is_brought_back():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6_000, 1))
    slopes = rng.normal(size=40)
    item, expert = np.nonzero(rng.random((6_000, 40)) < 0.08 * np.exp(0.5 * slopes * x - 0.125 * slopes**2))
    label = rng.integers(2, size=6_000)
    weight = weights(item, expert, label, x, n_classes=2, n_experts=40, by="label+features")
    plain = [x[item[expert == j], 0].mean() for j in range(40)]
    mended = [np.average(x[item[expert == j], 0], weights=weight[expert == j]) for j in range(40)]
    assert np.std(mended) < 0.3 * np.std(plain)


def test_at_random_weights_are_nearly_even():
    item, expert, label, x, n_classes, n_experts = at_random_five_of_203(0)
    for by in ("label", "label+features"):
        weight = weights(item, expert, label, x, n_classes=n_classes, n_experts=n_experts, by=by)
        assert weight.std() < 0.1


def test_who_answered_everything_needs_no_weights():
    label = np.array([0, 0, 0, 1] * 25)
    item = np.concatenate([np.arange(100), np.flatnonzero(label == 1), np.arange(0, 100, 7)])
    expert = np.repeat([0, 1, 2], [100, 25, 15])
    weight = weights(item, expert, label, n_classes=2, n_experts=3)
    np.testing.assert_allclose(weight[:100], 1, atol=1e-6)
    np.testing.assert_allclose(weight[100:125], 1)  # of one class alone: nothing to weigh against


def test_class_shares_equal_a_loop():
    rng = np.random.default_rng(0)
    label = rng.choice(3, size=300, p=[0.5, 0.3, 0.2])
    item, expert = np.nonzero(rng.random((300, 8)) < np.where(label[:, None] == np.arange(8) % 3, 0.3, 0.1))
    who = WhoAnswered.of(who_said(item, expert, len(label), n_classes=3, n_experts=8), label)
    counts = [[sum((expert == j) & (label[item] == k)) for k in range(3)] for j in range(8)]
    totals = [sum(row) for row in counts]
    pooled = [sum(row[k] for row in counts) / len(item) for k in range(3)]
    squares = sum(
        (counts[j][k] - totals[j] * pooled[k]) ** 2 / (totals[j] * pooled[k]) for j in range(8) for k in range(3)
    )
    rho = (squares / 14 - 1) / (sum(totals) / 8 - 1)
    tau = [(1 / rho - 1) * (1 - total / 300) for total in totals]
    twin = [[(counts[j][k] + tau[j] * pooled[k]) / (totals[j] + tau[j]) for k in range(3)] for j in range(8)]
    assert 0.01 < rho < 0.5
    np.testing.assert_allclose(_class_shares(who), twin, rtol=1e-6)


def test_the_pool_s_model_equals_one_of_all_cells():
    rng = np.random.default_rng(0)
    label, z = rng.integers(2, size=400), rng.normal(size=(400, 2))
    observed = rng.random((400, 5)) < sigmoid(z[:, :1] + label[:, None] - 1)
    who = WhoAnswered.of(who_said(*np.nonzero(observed), 400, n_classes=2, n_experts=5), label)
    columns = np.column_stack([label == 0, label == 1, z]).astype(float).repeat(5, axis=0)
    other = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1_000).fit(columns, observed.ravel())
    np.testing.assert_allclose(_pool_log_odds(who, z), columns[::5] @ other.coef_[0], atol=0.02)


@given(st.integers(0, 10_000), st.sampled_from([1.0, 1.5, 4.0, 10.0, np.inf]), st.booleans())
def test_weights_have_mean_1_and_stay_in_bounds(seed, most, with_features):
    rng = np.random.default_rng(seed)
    n_classes, n_experts = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    label, x = rng.integers(n_classes, size=50), rng.normal(size=(50, 3))
    item, expert = np.nonzero(rng.random((50, n_experts)) < rng.random((n_classes, n_experts))[label])
    by = "label+features" if with_features else "label"
    options = {"n_classes": n_classes, "n_experts": n_experts, "by": by, "most": most}
    weight = weights(item, expert, label, x, **options)
    assert (weight >= 1 / most * (1 - 1e-9)).all()
    assert (weight <= most * (1 + 1e-9)).all()
    for j in np.unique(expert):
        assert weight[expert == j].mean() == pytest.approx(1)
    order, other = rng.permutation(len(item)), rng.permutation(n_experts)
    again = weights(item[order], other[expert[order]], label, x, **options)
    np.testing.assert_allclose(again, weight[order], rtol=1e-6)


def test_clipping_holds_one_answer_down():
    label = np.array([0] * 900 + [1] * 100)
    item = np.concatenate([[0], np.arange(900, 1_000)])
    sizes = {"n_classes": 2, "n_experts": 1}
    free = weights(item, np.zeros(101, int), label, most=np.inf, **sizes)
    assert free[0] == pytest.approx(0.9 * 101)
    held = weights(item, np.zeros(101, int), label, **sizes)
    assert held[0] == pytest.approx(10)
    assert held.mean() == pytest.approx(1)


def test_nobody_and_no_features():
    nobody = np.empty(0, dtype=int)
    assert weights(nobody, nobody, [0, 1], n_classes=2, n_experts=0).shape == (0,)
    item, expert = few_of_many(np.random.default_rng(0), 20, 4, each=2)
    flat = weights(item, expert, np.arange(20) % 2, np.ones((20, 2)), n_classes=2, n_experts=4, by="label+features")
    np.testing.assert_allclose(flat, weights(item, expert, np.arange(20) % 2, n_classes=2, n_experts=4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "truth"}, "by must be one of label, label.features, got 'truth'"),
        ({"by": "label+features"}, "features must be given by='label.features', got None"),
        ({"most": 0.5}, "most must be 1 or more, got 0.5"),
        ({"most": float("nan")}, "most must be 1 or more, got nan"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        weights([0], [0], [0], n_classes=1, n_experts=1, **options)


def test_an_expert_who_did_not_answer_harms_nobody():
    label = np.array([0, 1, 0, 1])
    beside = weights([0, 1, 2], [0, 0, 2], label, n_classes=2, n_experts=3)
    without = weights([0, 1, 2], [0, 0, 1], label, n_classes=2, n_experts=2)
    assert np.array_equal(beside, without)
