"""Estimators that learn skill: what else they leave alone, and what they are worth."""

import numpy as np
import pytest
import scipy.sparse
from few_answers_crowd import crowd
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from defero import DeferralClassifier, InputError, Team, TwoStageDeferral
from defero.learn.scorer import SkillScorer
from defero.learn.skill import Directions, blocks, with_class

X, Y, M = crowd()
FRESH = crowd(60, seed=1)[0]


def table(**options):
    return DeferralClassifier(random_state=0, **options)


BOTH = pytest.mark.parametrize("build", [table, TwoStageDeferral], ids=["table", "two-stage"])


def skilled(team):
    scorer = team.team_.scorer
    return isinstance(scorer, SkillScorer) and scorer.n_own == 0


@BOTH
def test_without_experts_it_is_a_plain_classifier(build):
    team = build().fit(X, Y)
    assert team.predict_expert_proba(FRESH).shape == (60, 0)
    assert team.decide(FRESH).coverage == 1.0
    assert np.array_equal(team.predict_proba(FRESH), build().fit(X, Y, experts=M).predict_proba(FRESH))


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
    some, all_of_them = (build().fit(X, Y, experts=said) for said in (M[:, :2], M))
    assert np.array_equal(some.predict_proba(FRESH), all_of_them.predict_proba(FRESH))


@BOTH
def test_who_answered_nothing_is_like_the_others(build):
    silent = np.column_stack([M, np.full(len(M), -1)])
    with pytest.warns(UserWarning, match="no answer of expert_8"):
        team = build().fit(X, Y, experts=silent)
    proba = team.predict_expert_proba(FRESH)
    # The population's mean is known by eight experts and a prior: near their mean, and less sure than any of them.
    np.testing.assert_allclose(proba[:, 8].mean(), proba[:, :8].mean(), atol=0.1)
    assert (team.team_.expert_sd(FRESH)[:, 8] > team.team_.expert_sd(FRESH)[:, :8].mean(axis=1)).all()


@BOTH
@pytest.mark.parametrize("labels", [np.zeros(150, int), np.where(np.arange(150) == 3, 2, Y)])
def test_one_class_and_a_class_seen_once(build, labels):
    team = build().fit(X, labels, experts=np.where(M >= 0, labels[:, None], -1))
    proba = team.predict_expert_proba(FRESH)
    assert skilled(team)
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
    apart = TwoStageDeferral(expert_model=make_pipeline(StandardScaler(), LogisticRegression()))
    far = [
        np.abs(team.fit(features, labels, experts=answers).predict_expert_proba(features) - skill).mean()
        for team in (build(), apart)
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


def test_a_frozen_classifier_is_looked_at_as_it_is():
    """It is new to every row: no folds, and its classes count, seen here or not."""
    other, labels, _ = crowd(300, n_classes=3, seed=5)
    known = LogisticRegression().fit(other, labels)
    team = TwoStageDeferral(FrozenEstimator(known)).fit(X, Y, experts=M)
    assert team.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(team.predict_proba(FRESH), known.predict_proba(FRESH))
    seen = with_class(Directions.fit(X).of(X), known.predict_proba(X), Y)
    np.testing.assert_allclose(team.team_.scorer.skill.heads.prior.centre, seen.mean(axis=0), atol=1e-9)


def test_what_a_tree_says_of_its_own_rows_is_not_looked_at():
    """It is certain of these; across folds it is not, and nobody is taken to be right wherever it is sure."""
    team = TwoStageDeferral(DecisionTreeClassifier(random_state=0)).fit(X, Y, experts=M)
    assert (team.predict(X) == Y).all()
    in_sample = with_class(Directions.fit(X).of(X), team.predict_proba(X), Y)
    assert not np.allclose(team.team_.scorer.skill.heads.prior.centre, in_sample.mean(axis=0))


@BOTH
def test_rows_of_a_group_are_looked_at_as_new_ones(build):
    """Thirty groups that give their label away: as rows of new groups they say nothing of it."""
    group = np.arange(150) // 5
    labels = np.random.default_rng(3).integers(2, size=30)[group]
    giveaway = np.eye(30)[group]
    answers = np.where(M >= 0, labels[:, None], -1)
    belief = int(np.flatnonzero(blocks(12, n_classes=2) == 2)[0])
    centre = [
        build().fit(giveaway, labels, experts=answers, groups=groups).team_.scorer.skill.heads.prior.centre[belief]
        for groups in (None, group)
    ]
    assert centre[0] > centre[1] + 0.5  # the mean log-odds of the label's class


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
def test_skill_by_class_sees_through_label_dependent_answering(build, features):
    """The share of right answers on record is 0.588; weights of answers change nothing that skill by class knows."""
    noise, labels, answers = label_dependent()
    columns = noise if features == "noise" else np.ones((len(labels), 1))
    masked = build().fit(columns, labels, experts=answers).predict_expert_proba(columns).mean()
    weighted = build(answer_weights="label").fit(columns, labels, experts=answers)
    assert (answers[answers >= 0] == labels[answers[:, 0] >= 0]).mean() == pytest.approx(0.588, abs=0.02)
    assert masked == pytest.approx(0.785, abs=0.02)
    assert weighted.predict_expert_proba(columns).mean() == pytest.approx(0.785, abs=0.02)


@pytest.mark.parametrize("model", [None, LogisticRegression()])
def test_weights_reach_the_models_of_two_stages(model):
    noise, labels, answers = label_dependent()
    team = TwoStageDeferral(expert_model=model, answer_weights="label").fit(noise, labels, experts=answers)
    assert team.predict_expert_proba(noise).mean() == pytest.approx(0.785, abs=0.02)


@pytest.mark.parametrize(
    ("team", "message"),
    [
        (
            DeferralClassifier("linear", loss="softmax", answer_weights="label"),
            "the weights of answers are for net='auto' with loss='auto'",
        ),
        (
            table(answer_weights="truth"),
            r"answer_weights must be one of None, label, label\+features, got 'truth'",
        ),
        (TwoStageDeferral(answer_weights="truth"), "answer_weights must be one of None, label"),
    ],
)
def test_errors_name_argument_and_value(team, message):
    with pytest.raises(InputError, match=message):
        team.fit(X, Y, experts=M)


def test_a_wrong_option_raises_without_experts_too():
    with pytest.raises(InputError, match=r"answer_weights must be one of None, label, label\+features"):
        TwoStageDeferral(answer_weights="truth").fit(X, Y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(3), "groups must have 150 items like the other arguments, got 3"),
        ([None] + ["a"] * 149, "groups must be given in every row, got none in row 0"),
    ],
)
def test_groups_must_fit(groups, message):
    with pytest.raises(InputError, match=message):
        table().fit(X, Y, experts=M, groups=groups)
