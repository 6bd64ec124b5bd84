"""Estimators learn the same from rows, named columns and experts in any order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from defero import BestExpert, DeferralClassifier, ExpertPool, Recipe, Terms, TwoStageDeferral

N = 240
NAMES = ["cem", "ann", "bob"]


def cases(seed=0):
    """Return a table of numbers, a category and a text, labels, and the answers of three experts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=N).round(2), "site": rng.choice(["arm", "leg"], N)})
    frame["age"] = rng.normal(size=N)
    labels = np.where(frame["size"] + (frame["site"] == "arm") + rng.normal(size=N) > 0.5, "ill", "well")
    frame["note"] = [f"{'dark' if one == 'ill' else 'pale'} {rng.choice(['a', 'b', 'c'])}" for one in labels]
    right = rng.random((N, 3)) < [0.9, 0.8, 0.6]
    told = np.where(right, labels[:, None], np.where(labels == "ill", "well", "ill")[:, None]).astype(object)
    return frame, labels, pd.DataFrame(told, columns=NAMES).mask(rng.random((N, 3)) < 0.3)


@pytest.mark.parametrize(
    "build",
    [
        lambda: DeferralClassifier(random_state=0),
        lambda: DeferralClassifier(text="note", random_state=0),
        lambda: DeferralClassifier("mlp", loss="softmax", recipe=Recipe(max_epochs=5), random_state=0),
        lambda: DeferralClassifier("linear", loss="moe", random_state=0),
        lambda: DeferralClassifier(answer_weights="label", random_state=0),
        TwoStageDeferral,
        lambda: BestExpert(text="note"),
    ],
    ids=["auto", "text", "mlp", "moe", "weighted", "two-stage", "best-expert"],
)
def test_rows_columns_and_experts_may_stand_in_any_order(build):
    frame, labels, answers = cases()
    frame = frame if build().text else frame.drop(columns="note")
    new, rng = frame.iloc[:50], np.random.default_rng(3)
    weight, group = rng.integers(1, 3, N).astype(float), np.arange(N) // 3
    rows, columns, experts = rng.permutation(N), list(frame.columns[::-1]), ["bob", "cem", "ann"]
    team = build().fit(frame, labels, answers, sample_weight=weight, groups=group)
    other = build().fit(
        frame.iloc[rows][columns],
        labels[rows],
        answers.iloc[rows][experts],
        sample_weight=weight[rows],
        groups=group[rows],
    )
    place = [other.team_.expert_names.index(name) for name in NAMES]
    assert list(other.feature_names_in_) == columns
    scores, again = team.team_.scores(new), other.team_.scores(new)
    assert np.array_equal(scores.class_proba, again.class_proba)
    assert np.array_equal(scores.expert_proba, again.expert_proba[:, place])
    assert team.team_.answer_counts.tolist() == other.team_.answer_counts[place].tolist()
    if team.team_.selection is not None:
        assert np.array_equal(team.team_.selection.apply(scores), other.team_.selection.apply(again)[:, place])


def test_later_stages_do_not_depend_on_the_order_of_rows():
    frame, labels, answers = cases()
    more, more_labels, more_answers = cases(1)
    rows = np.random.default_rng(0).permutation(N)

    def team(rows):
        fitted = TwoStageDeferral().fit(frame.drop(columns="note"), labels, answers).team_.copy()
        table = more.drop(columns="note")
        first, second = rows[rows % 2 == 0], rows[rows % 2 == 1]
        fitted.calibrate(table.iloc[first], more_labels[first], more_answers.iloc[first])
        fitted.conformalize(table.iloc[second], more_labels[second], more_answers.iloc[second])
        return fitted

    one, other = team(np.arange(N)), team(rows)
    scores, again = (each.scores(frame) for each in (one, other))
    assert np.array_equal(scores.expert_proba, again.expert_proba)
    assert np.array_equal(scores.class_proba, again.class_proba)
    assert one.panel.predictor.thresholds_ == other.panel.predictor.thresholds_
    assert one.panel.mean_size == other.panel.mean_size
    assert np.array_equal(one.selection.weights, other.selection.weights)


def test_a_newcomer_does_not_depend_on_the_order_of_their_rows():
    frame, labels, answers = cases()
    team = TwoStageDeferral().fit(frame.drop(columns="note"), labels, answers).team_
    third, third_labels, third_answers = cases(2)
    rows = np.random.default_rng(0).permutation(N)
    joined = [
        team.copy().add_expert("dot", third.iloc[order], third_labels[order], third_answers["ann"].to_numpy()[order])
        for order in (np.arange(N), rows)
    ]
    assert np.array_equal(*(each.scores(frame).expert_proba for each in joined))


def test_a_model_of_the_users_own_gets_columns_and_experts_where_they_stood():
    frame, labels, answers = cases()
    numbers = frame[["size", "age"]]
    team = TwoStageDeferral(RandomForestClassifier(5, random_state=0)).fit(numbers, labels, answers)
    assert team.team_.recipe.inputs == ("size", "age")
    assert team.expert_names_ == tuple(NAMES)


def test_a_pool_does_not_depend_on_any_order():
    frame, labels, answers = cases()
    scores = (answers == labels[:, None]).astype(float).mask(answers.isna())
    prices = {"cem": 1.0, "ann": 2.0, "bob": np.linspace(0, 1, N)}
    rows = np.random.default_rng(2).permutation(N)
    pool = ExpertPool(text="note").fit(frame, scores, prices=prices)
    other = ExpertPool(text="note").fit(
        frame.iloc[rows][list(frame.columns[::-1])],
        scores.iloc[rows][["bob", "ann", "cem"]],
        prices={**prices, "bob": prices["bob"][rows]},
    )
    place = [other.team_.expert_names.index(name) for name in NAMES]
    assert np.allclose(pool.predict_expert_proba(frame), other.predict_expert_proba(frame)[:, place], atol=1e-9)
    terms = Terms(error_cost=10.0)
    routes = (each.team_.decide(frame, terms=terms).name.tolist() for each in (pool, other))
    assert next(routes) == next(routes)
