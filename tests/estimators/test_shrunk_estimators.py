"""Estimators with shrunk heads: when they have them, what else they leave alone, and what they are worth."""

import numpy as np
import pytest
import scipy.sparse
from defero.scorers.team import TeamScorer
from few_answers_crowd import crowd, lesson_of
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from defero import DeferralClassifier, InputError, Recipe, Team, TwoStageDeferral
from defero.decide.terms import Terms
from defero.estimators.surrogate_fit import NetworkOptions, train_network
from defero.losses import DeferralLoss

X, Y, M = crowd()
FRESH = crowd(60, seed=1)[0]


def linear(**options):
    return DeferralClassifier("linear", loss="decoupled", random_state=0, **options)


BOTH = pytest.mark.parametrize("build", [linear, TwoStageDeferral], ids=["linear", "two-stage"])


def shrinks(team):
    scorer = team.team_.scorer
    return isinstance(scorer, TeamScorer) and scorer.n_own == 0


@BOTH
def test_auto_looks_at_how_many_answers_there_are(build):
    features, labels, answers = crowd(420, 3, rate=0.9)
    assert shrinks(build().fit(X, Y, experts=M))
    assert not shrinks(build().fit(features, labels, experts=answers))
    assert shrinks(build(heads="shrunk").fit(features, labels, experts=answers))
    assert not shrinks(build(heads="separate").fit(X, Y, experts=M))


@BOTH
@pytest.mark.parametrize("options", [{}, {"heads": "shrunk"}])
def test_without_experts_it_is_a_plain_classifier(build, options):
    team = build(**options).fit(X, Y)
    assert team.predict_expert_proba(FRESH).shape == (60, 0)
    assert team.decide(FRESH).coverage == 1.0
    assert np.array_equal(team.predict_proba(FRESH), build(heads="separate").fit(X, Y).predict_proba(FRESH))


def test_own_heads_are_those_of_one_network():
    team = linear(heads="separate").fit(X, Y, experts=M)
    options = NetworkOptions(Recipe())
    network = train_network(lesson_of(X, Y, M), DeferralLoss("decoupled"), options, net="linear", seed=0)
    scores = network.score(FRESH)
    assert np.allclose(team.predict_expert_proba(FRESH), scores.expert_proba, atol=1e-9)
    assert np.allclose(team.predict_proba(FRESH), scores.class_proba, atol=1e-9)


def test_own_heads_of_two_stages_are_a_logistic_regression_each():
    team = TwoStageDeferral(heads="separate").fit(X, Y, experts=M)
    for j in range(8):
        given = M[:, j] >= 0
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
        model.fit(X[given], M[given, j] == Y[given])
        assert np.allclose(team.predict_expert_proba(FRESH)[:, j], model.predict_proba(FRESH)[:, 1], atol=1e-9)


@BOTH
def test_a_grid_and_a_list_of_answers_are_the_same(build):
    one, other = (build().fit(X, Y, experts=said) for said in (M, scipy.sparse.csr_array(M + 1)))
    assert np.array_equal(one.predict_expert_proba(FRESH), other.predict_expert_proba(FRESH))
    assert np.array_equal(one.team_.expert_sd(FRESH), other.team_.expert_sd(FRESH))


@BOTH
def test_permuting_experts_permutes_them(build):
    order = np.random.default_rng(0).permutation(8)
    one, other = build().fit(X, Y, experts=M), build().fit(X, Y, experts=M[:, order])
    np.testing.assert_allclose(other.predict_expert_proba(FRESH), one.predict_expert_proba(FRESH)[:, order], atol=1e-6)
    assert np.array_equal(other.predict_proba(FRESH), one.predict_proba(FRESH))


@BOTH
def test_the_classes_do_not_notice_the_experts(build):
    some, all_of_them = (build(heads="shrunk").fit(X, Y, experts=said) for said in (M[:, :2], M))
    assert np.array_equal(some.predict_proba(FRESH), all_of_them.predict_proba(FRESH))


@BOTH
def test_who_answered_nothing_is_like_the_others_and_never_asked_alone(build):
    silent = np.column_stack([M, np.full(len(M), -1)])
    with pytest.warns(UserWarning, match="no answer of expert_8"):
        team = build().fit(X, Y, experts=silent)
    proba = team.predict_expert_proba(FRESH)
    # The population's mean is known by eight experts and a prior: near their mean, and less sure than any of them.
    np.testing.assert_allclose(proba[:, 8].mean(), proba[:, :8].mean(), atol=0.1)
    assert (team.team_.expert_sd(FRESH)[:, 8] > team.team_.expert_sd(FRESH)[:, :8].mean(axis=1)).all()
    decision = team.decide(FRESH, terms=Terms(available=[False] * 8 + [True]))
    assert decision.coverage == 1.0
    assert any("insufficient evidence on expert_8" in reason for reason in decision.reason)


@BOTH
def test_who_answered_less_than_min_answers_is_not_asked_alone(build):
    answers = np.where(M >= 0, Y[:, None], -1)
    answers[np.flatnonzero(answers[:, 0] >= 0)[7:], 0] = -1
    first = [True] + [False] * 7
    assert build(min_answers=8).fit(X, Y, experts=answers).decide(FRESH, terms=Terms(available=first)).coverage == 1.0
    assert build(min_answers=7).fit(X, Y, experts=answers).decide(FRESH, terms=Terms(available=first)).coverage < 1.0


@BOTH
@pytest.mark.parametrize("labels", [np.zeros(150, int), np.where(np.arange(150) == 3, 2, Y)])
def test_one_class_and_a_class_seen_once(build, labels):
    team = build().fit(X, labels, experts=np.where(M >= 0, labels[:, None], -1))
    proba = team.predict_expert_proba(FRESH)
    assert shrinks(team)
    assert np.isfinite(proba).all()
    assert proba.min() > 0.5
    assert proba.max() < 1.0  # nobody is certain, after a few dozen answers


@BOTH
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_items(build, n):
    labels = np.arange(n) % 2
    proba = build().fit(X[:n], labels, experts=labels[:, None]).predict_expert_proba(FRESH)
    assert proba.shape == (60, 1)
    assert (proba > 0.4).all()


@BOTH
def test_one_expert(build):
    proba = build().fit(X, Y, experts=M[:, :1]).predict_expert_proba(X)
    given = M[:, 0] >= 0
    assert proba.mean() == pytest.approx(np.mean(M[given, 0] == Y[given]), abs=0.15)


@BOTH
def test_a_hundred_experts_with_a_dozen_answers_are_better_known_together(build):
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(600, 2)), rng.integers(2, size=600)
    features[:, 0] += labels
    skill = 1 / (1 + np.exp(-1 - rng.normal(0, 0.7, 100) - 0.8 * features[:, 1:]))
    answers = np.where(rng.random(skill.shape) < skill, labels[:, None], 1 - labels[:, None])
    answers[rng.random(answers.shape) > 0.03] = -1
    far = [
        np.abs(build(heads=heads).fit(features, labels, experts=answers).predict_expert_proba(features) - skill).mean()
        for heads in ("shrunk", "separate")
    ]
    assert far[0] < 0.6 * far[1]
    assert far[0] < 0.12


@BOTH
def test_saved_and_read_it_is_the_same(build, tmp_path):
    team = build().fit(X, Y, experts=M).add_expert("eve", FRESH, Y[:60], np.zeros(60, int))
    team.save(tmp_path / "model")
    for again in (type(team).load(tmp_path / "model").team_, Team.load(tmp_path / "model")):
        assert np.array_equal(again.scores(FRESH).expert_raw, team.team_.scores(FRESH).expert_raw)
        assert np.array_equal(again.scores(FRESH).class_proba, team.predict_proba(FRESH))
        assert np.array_equal(again.expert_sd(FRESH), team.team_.expert_sd(FRESH))


def test_a_seed_makes_networks_bit_equal():
    quick = {"recipe": Recipe(hidden=(8,), expert_hidden=(4,), max_epochs=2), "random_state": 0}
    one, two = (DeferralClassifier("mlp", **quick).fit(X, Y, experts=M) for _ in range(2))
    assert shrinks(one)
    assert one.team_.scorer.lens.n_hidden == 4
    assert np.array_equal(one.predict_expert_proba(FRESH), two.predict_expert_proba(FRESH))


def test_a_frozen_classifier_is_looked_at_as_it_is():
    """It is new to every row: no folds, and its classes count, seen here or not."""
    other, labels, _ = crowd(300, n_classes=3, seed=5)
    known = LogisticRegression().fit(other, labels)
    team = TwoStageDeferral(FrozenEstimator(known)).fit(X, Y, experts=M)
    assert team.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(team.predict_proba(FRESH), known.predict_proba(FRESH))
    scorer = team.team_.scorer
    seen = scorer.lens.transform(X, known.predict_proba(X))
    assert np.allclose(scorer.heads.prior.centre, seen.mean(axis=0), atol=1e-12)


def test_what_a_tree_says_of_its_own_rows_is_not_looked_at():
    """It is certain of these; across folds it is not, and nobody is taken to be right wherever it is sure."""
    team = TwoStageDeferral(DecisionTreeClassifier(random_state=0)).fit(X, Y, experts=M)
    assert (team.predict(X) == Y).all()
    in_sample = team.team_.scorer.lens.transform(X, team.predict_proba(X))
    assert not np.allclose(team.team_.scorer.heads.prior.centre, in_sample.mean(axis=0))


@BOTH
def test_rows_of_a_group_are_looked_at_as_new_ones(build):
    """Thirty groups that give their label away: as rows of new groups they say nothing of it."""
    group = np.arange(150) // 5
    labels = np.random.default_rng(3).integers(2, size=30)[group]
    giveaway = np.eye(30)[group]
    answers = np.where(M >= 0, labels[:, None], -1)
    centre = [
        build().fit(giveaway, labels, experts=answers, groups=groups).team_.scorer.heads.prior.centre[2]
        for groups in (None, group)
    ]
    assert centre[0] > centre[1] + 0.5  # the mean log-odds of the likelier class


def label_dependent(seed=0, n=6_000):
    """Classes 0.7 and 0.3, answered in 20 % and 90 % of the cases, right in 95 % and 40 %: 0.785 in all."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(int)
    right = rng.random(n) < np.array([0.95, 0.4])[labels]
    given = rng.random(n) < np.array([0.2, 0.9])[labels]
    answers = np.where(given, np.where(right, labels, 1 - labels), -1)[:, None]
    return rng.normal(size=(n, 2)), labels, answers


@pytest.mark.parametrize("features", ["noise", "constant"])
@BOTH
def test_weights_restore_what_label_dependent_answering_hides(build, features):
    noise, labels, answers = label_dependent()
    columns = noise if features == "noise" else np.ones((len(labels), 1))
    masked = build(heads="shrunk").fit(columns, labels, experts=answers).predict_expert_proba(columns).mean()
    weighted = build(heads="shrunk", answer_weights="label").fit(columns, labels, experts=answers)
    assert masked == pytest.approx(0.588, abs=0.02)
    assert weighted.predict_expert_proba(columns).mean() == pytest.approx(0.785, abs=0.02)


@pytest.mark.parametrize("heads", ["auto", "separate"])
def test_weights_reach_the_models_of_two_stages(heads):
    noise, labels, answers = label_dependent()
    team = TwoStageDeferral(heads=heads, answer_weights="label").fit(noise, labels, experts=answers)
    assert team.predict_expert_proba(noise).mean() == pytest.approx(0.785, abs=0.02)


def test_weighted_answers_get_shrunk_heads_however_many():
    noise, labels, answers = label_dependent()
    assert shrinks(linear(answer_weights="label").fit(noise, labels, experts=answers))


@pytest.mark.parametrize(
    ("team", "message"),
    [
        (linear(heads="big"), "heads must be one of auto, shrunk, separate, got 'big'"),
        (TwoStageDeferral(heads="big"), "heads must be one of auto, shrunk, separate, got 'big'"),
        (linear(min_answers=0), "min_answers must be a whole number of at least 1, got 0"),
        (TwoStageDeferral(min_answers=0), "min_answers must be a whole number of at least 1, got 0"),
        (TwoStageDeferral(min_answers=2.5), "min_answers must be a whole number of at least 1, got 2.5"),
        (
            DeferralClassifier("linear", loss="softmax", heads="shrunk"),
            "heads='shrunk' needs the loss ova or decoupled, got 'soft",
        ),
        (
            linear(heads="separate", answer_weights="label"),
            "answer_weights need shrunk heads and the loss ova or decoupled",
        ),
        (DeferralClassifier("linear", loss="moe", answer_weights="label"), "got heads='auto' and 'moe'"),
        (
            linear(answer_weights="truth"),
            r"answer_weights must be None or one of label, label\+features, got 'truth'",
        ),
        (TwoStageDeferral(answer_weights="truth"), "answer_weights must be None or one of label"),
        (
            TwoStageDeferral(expert_model=LogisticRegression(), heads="shrunk"),
            "heads='shrunk' .* expert_model; leave one of them out",
        ),
    ],
)
def test_errors_name_argument_and_value(team, message):
    with pytest.raises(InputError, match=message):
        team.fit(X, Y, experts=M)


def test_a_wrong_option_raises_without_experts_too():
    with pytest.raises(InputError, match=r"answer_weights must be None or one of label, label\+features"):
        TwoStageDeferral(answer_weights="truth").fit(X, Y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(3), "groups must have one entry per item: 150 items, got 3"),
        ([None] + ["a"] * 149, "groups must name a group in every row, got none in row 0"),
    ],
)
def test_groups_must_fit(groups, message):
    with pytest.raises(InputError, match=message):
        linear().fit(X, Y, experts=M, groups=groups)
