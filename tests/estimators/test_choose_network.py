"""Which network and how strong a penalty: against scikit-learn's logistic regression in the same folds."""

from dataclasses import replace

import numpy as np
import pytest
from few_answers_crowd import crowd, lesson_of
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from defero import DeferralClassifier, Recipe
from defero.core.splits import sample_rows
from defero.estimators import surrogate_fit as room
from defero.estimators.skilled import fold_of_items
from defero.estimators.surrogate_fit import (
    ChosenNetwork,
    NetworkOptions,
    choose_network,
    enough_items,
    train_network,
)
from defero.learn.fit_classes import PRIOR_ITEMS, STRENGTHS
from defero.losses import DeferralLoss

X, Y, M = crowd(n_features=12)
CLASSES = lesson_of(X, Y, M).without_experts()
OPTIONS = NetworkOptions(Recipe(hidden=(8,), expert_hidden=(4,)), device="cpu")
DECOUPLED = DeferralLoss("decoupled")
TWO_LOGITS = 2.0
"""Of two classes scikit-learn has one logit, w; two of w / 2 and -w / 2 have half its penalty."""


def chosen(classes=CLASSES, *, loss=DECOUPLED, net="linear", weight_decay=None, options=OPTIONS):
    options = replace(options, recipe=replace(options.recipe, weight_decay=weight_decay))
    return choose_network(classes, loss, options, net=net, seed=0)


def oracle_proba(strength, weight):
    """Out-of-fold probabilities by scikit-learn."""
    fold, proba = fold_of_items(CLASSES, rng=np.random.default_rng(0)), np.empty((len(Y), 2))
    for out in range(5):
        rest = fold != out
        scaler = StandardScaler().fit(X[rest], sample_weight=weight[rest])
        model = LogisticRegression(C=TWO_LOGITS / strength, tol=1e-10, max_iter=5_000)
        model.fit(scaler.transform(X[rest]), Y[rest], sample_weight=weight[rest])
        proba[~rest] = model.predict_proba(scaler.transform(X[~rest]))
    return proba


def slow_temperature(proba, weight):
    """Minimise the log loss with ten more labels drawn from the probabilities themselves."""
    logs, share = np.log(proba), PRIOR_ITEMS / weight.sum()

    def loss(log_t):
        scaled = logs / np.exp(log_t)
        scaled = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        own = scaled[np.arange(len(Y)), Y]
        return -(weight * (own + share * (proba * scaled).sum(axis=1))).sum()

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-10}).x))


def slow_choice(weight):
    """Go up the strengths until one is worse than the best so far."""
    best = None
    for strength in STRENGTHS:
        proba = oracle_proba(strength, weight)
        temperature = slow_temperature(proba, weight)
        scaled = proba ** (1 / temperature)
        scaled /= scaled.sum(axis=1, keepdims=True)
        value = -(weight * np.log(scaled[np.arange(len(Y)), Y])).sum()
        if best is not None and value > best[3]:
            break
        best = (strength, temperature, scaled, value)
    return best


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slow_twin_agrees(weighted):
    rng = np.random.default_rng(0)
    weight = rng.choice([0.2, 1.0, 3.0], size=len(Y)) if weighted else np.ones(len(Y))
    found = chosen(replace(CLASSES, weight=weight, weighted=weighted))
    strength, temperature, proba, value = slow_choice(weight)
    assert (found.net, found.strength) == ("linear", strength)
    assert strength not in (STRENGTHS[0], STRENGTHS[-1])
    assert found.temperature == pytest.approx(temperature, rel=2e-3)
    np.testing.assert_allclose(found.class_proba, proba, atol=2e-3)
    assert found.log_loss == pytest.approx(value, rel=1e-4)


def test_of_one_vs_all_the_temperature_is_left_alone():
    found = chosen(loss=DeferralLoss("ova"))
    assert found.temperature == 1.0
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)


def test_a_penalty_that_is_given_is_taken():
    found = chosen(weight_decay=0.5)
    assert found.strength is None
    options = NetworkOptions(Recipe(weight_decay=0.5), device="cpu")
    trained = found.train(CLASSES, DECOUPLED, options, seed=0)
    by_hand = train_network(CLASSES, DECOUPLED, options, net="linear", seed=0)
    assert np.array_equal(trained.score(X).class_proba, by_hand.tempered(found.temperature).score(X).class_proba)


@pytest.mark.filterwarnings("ignore:L-BFGS stopped")
def test_auto_takes_what_predicts_better():
    quick = replace(OPTIONS, recipe=Recipe(max_epochs=10, hidden=(16,), expert_hidden=(4,)))
    each = [chosen(net=net, options=quick) for net in ("linear", "mlp")]
    assert chosen(net="auto", options=quick).log_loss == min(one.log_loss for one in each)
    corners = np.random.default_rng(0).normal(size=(160, 2))
    labels = (corners.prod(axis=1) > 0).astype(int)  # no line tells these apart
    data = lesson_of(corners, labels, np.zeros((160, 1), int)).without_experts()
    assert chosen(data, net="auto", options=quick).net == "mlp"


def test_a_temperature_divides_the_class_logits():
    plain = ChosenNetwork("linear", 4.0, 1.0, np.empty((0, 0)), 0.0)
    one, two = (replace(plain, temperature=t).train(CLASSES, DECOUPLED, OPTIONS, seed=0) for t in (1.0, 2.0))
    odds = [np.log(scorer.score(X).class_proba) @ [1, -1] for scorer in (one, two)]
    np.testing.assert_allclose(odds[1], odds[0] / 2)


@pytest.mark.parametrize("strength", [1.0, 16.0])
def test_summed_columns_are_a_ridge_on_rescaled_ones(strength):
    """Exact: penalised sqrt(s) times less is a logistic regression on columns sqrt(s) times as large."""
    summed = np.arange(12) < 3
    data = replace(CLASSES, summed=summed)
    scorer = ChosenNetwork("linear", strength, 1.0, np.empty((0, 0)), 0.0).train(data, DECOUPLED, OPTIONS, seed=0)
    columns = StandardScaler().fit_transform(X) * np.where(summed, np.sqrt(strength), 1.0)
    oracle = LogisticRegression(C=TWO_LOGITS / strength, tol=1e-10, max_iter=5_000).fit(columns, Y)
    np.testing.assert_allclose(scorer.score(X).class_proba, oracle.predict_proba(columns), atol=2e-4)


def test_columns_that_are_not_summed_change_nothing():
    one, other = (
        train_network(
            replace(CLASSES, summed=summed),
            DECOUPLED,
            OPTIONS,
            net="linear",
            seed=0,
            strength=64.0,
        ).score(X)
        for summed in (None, np.zeros(12, bool))
    )
    assert np.array_equal(one.class_proba, other.class_proba)


def test_of_many_items_enough_are_drawn(monkeypatch):
    assert enough_items(CLASSES) is CLASSES
    monkeypatch.setattr(room, "ENOUGH_ITEMS", 40)
    some = enough_items(CLASSES)
    assert len(some.label_idx) == 40
    assert np.array_equal(some.features, X[sample_rows(len(X), 40)])


@pytest.fixture
def warm(monkeypatch):
    """Have a linear network with a temperature of 2 chosen, whatever the data say."""
    choice = ChosenNetwork("linear", 16.0, 2.0, np.full((len(Y), 2), 0.5), 0.0)
    monkeypatch.setattr("defero.estimators.surrogate_fit.choose_network", lambda *_, **__: choice)


def both(loss):
    """Fit a team whose network is chosen, and the same network by hand."""
    answers = np.where(M < 0, 1 - Y[:, None], M)
    auto = DeferralClassifier("auto", loss=loss, random_state=0)
    plain = DeferralClassifier("linear", loss=loss, recipe=Recipe(weight_decay=16 / len(Y)), random_state=0)
    return [team.fit(X, Y, experts=answers) for team in (auto, plain)]


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("loss", ["softmax", "asymmetric", "moe", "ova"])
def test_where_experts_share_the_class_logits_no_temperature_is_put_on_them(loss):
    """A softmax over classes and experts, divided on one side, would make everybody worse than they are."""
    auto, plain = both(loss)
    assert np.array_equal(auto.predict_expert_proba(X), plain.predict_expert_proba(X))
    assert np.array_equal(auto.predict_proba(X), plain.predict_proba(X))


@pytest.mark.usefixtures("warm")
def test_what_is_decoupled_may_have_a_temperature_and_the_experts_do_not_notice():
    auto, plain = both("decoupled")
    assert np.array_equal(auto.predict_expert_proba(X), plain.predict_expert_proba(X))
    odds = [np.log(one.predict_proba(X)) @ [1, -1] for one in (auto, plain)]
    np.testing.assert_allclose(odds[0], odds[1] / 2)
