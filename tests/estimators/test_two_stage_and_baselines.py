"""TwoStageDeferral on scikit-learn's classifiers, and the baselines a team is measured against."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from defero import (
    BestExpert,
    ConfidenceThreshold,
    DeferralClassifier,
    InputError,
    ModelOnly,
    RandomExpert,
    TwoStageDeferral,
)
from defero.datasets import wedge
from defero.decide.terms import Terms

CASES, FRESH = wedge(4_000, random_state=1), wedge(4_000, random_state=2)
X, Y, M = CASES.features, CASES.labels, CASES.answers


def test_any_classifier_will_do():
    for classifier in (
        RandomForestClassifier(50, min_samples_leaf=20, random_state=0),
        HistGradientBoostingClassifier(max_iter=30, random_state=0),
    ):
        team = TwoStageDeferral(classifier, classifier).fit(X, Y, experts=M)
        assert team.score(FRESH.features, FRESH.labels, experts=FRESH.answers) > 0.86  # Bayes 0.8875, model alone 0.625


def test_a_fitted_classifier_is_used_as_it_is():
    fitted = LogisticRegression(max_iter=500).fit(X[:1_000], Y[:1_000])
    team = TwoStageDeferral(FrozenEstimator(fitted)).fit(X[1_000:], Y[1_000:], experts=M[1_000:])
    np.testing.assert_allclose(team.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-12)


def test_a_fitted_classifier_of_other_features_is_refused():
    fitted = LogisticRegression(max_iter=500).fit(X[:, :1], Y)
    with pytest.raises(InputError, match=r"^classifier: .* 1 columns, and gets \d+ here"):
        TwoStageDeferral(FrozenEstimator(fitted)).fit(X, Y, experts=M)


def test_fitted_expert_models_are_used_as_they_are():
    models = [FrozenEstimator(LogisticRegression(max_iter=500).fit(X, M[:, j] == Y)) for j in range(4)]
    team = TwoStageDeferral(None, models).fit(X, Y, experts=M)
    alone = models[2].predict_proba(X)[:, 1]
    np.testing.assert_allclose(team.predict_expert_proba(X)[:, 2], alone, rtol=0, atol=1e-12)


def test_a_fitted_expert_model_must_speak_of_right_and_wrong():
    signs = [FrozenEstimator(LogisticRegression().fit(X, np.where(M[:, j] == Y, 1, -1))) for j in range(4)]
    with pytest.raises(InputError, match=r"must have the classes 0 \(wrong\), 1 \(right\), got -1, 1"):
        TwoStageDeferral(None, signs).fit(X, Y, experts=M)


def test_an_expert_who_is_always_right_is_not_certain():
    answers = M.copy()
    answers[:, 0] = Y
    answers[20:, 0] = -1
    alone = TwoStageDeferral(expert_model=LogisticRegression()).fit(X, Y, experts=answers)
    np.testing.assert_allclose(alone.predict_expert_proba(X)[:, 0], 21 / 22)
    together = TwoStageDeferral().fit(X, Y, experts=answers).predict_expert_proba(X)[:, 0]
    assert 0.8 < together.mean() < together.max() < 1.0


def test_labels_unknown_to_a_fitted_classifier_are_named():
    fitted = LogisticRegression(max_iter=500).fit(X[Y < 3], Y[Y < 3])
    with pytest.raises(InputError, match="label 3 is not one of 0, 1, 2"):
        TwoStageDeferral(FrozenEstimator(fitted)).fit(X, Y, experts=M)


@pytest.mark.parametrize(
    ("estimator", "weight", "words"),
    [
        (TwoStageDeferral(Ridge()), None, "classifier must be a scikit-learn classifier, got Ridge"),
        (TwoStageDeferral(LinearSVC()), None, "classifier must have predict_proba, LinearSVC has none"),
        (TwoStageDeferral(None, [None]), None, "expert_model must be one model or 4, one per expert, got 1"),
        (TwoStageDeferral(KNeighborsClassifier()), np.ones(len(Y)), "sample_weight: KNeighborsClassifier"),
        (RandomExpert(share=2.0), None, r"share must be a probability in \[0, 1\], got 2.0"),
        (ConfidenceThreshold(threshold=-1.0), None, r"threshold must be a probability in \[0, 1\], got -1.0"),
    ],
)
def test_bad_parts_are_named(estimator, weight, words):
    with pytest.raises(InputError, match=words):
        estimator.fit(X, Y, experts=M, sample_weight=weight)


def test_the_baselines_do_what_their_names_say():
    skill = (Y[:, None] == M).mean(axis=0)
    assert ModelOnly().fit(X, Y, experts=M).decide(X).coverage == 1
    best = BestExpert().fit(X, Y, experts=M).decide(X)
    assert (best.expert == skill.argmax()).all()
    without = BestExpert().fit(X, Y, experts=M).decide(X, terms=Terms(available=np.arange(4) != skill.argmax()))
    assert (without.expert == np.argsort(skill)[-2]).all()
    rng = RandomExpert(share=0.5, random_state=0).fit(X, Y, experts=M).decide(X)
    assert rng.coverage == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(rng.load / len(X), 0.125, atol=0.02)
    unsure = ConfidenceThreshold(threshold=0.7).fit(X, Y, experts=M)
    np.testing.assert_array_equal(unsure.decide(X).deferred, unsure.predict_proba(X).max(axis=1) < 0.7)
    default = ConfidenceThreshold().fit(X, Y, experts=M).team_.rule.threshold
    assert default == pytest.approx(skill.max(), abs=1e-3)


def test_a_team_beats_every_baseline_on_wedge():
    data = (FRESH.features, FRESH.labels)
    team = (
        DeferralClassifier("mlp", loss="auto", random_state=0).fit(X, Y, experts=M).score(*data, experts=FRESH.answers)
    )
    for baseline in (ModelOnly(), BestExpert(), RandomExpert(random_state=0), ConfidenceThreshold()):
        assert team > baseline.fit(X, Y, experts=M).score(*data, experts=FRESH.answers) + 0.05
