"""scikit-learn's own checks, cross-validation, pipelines and clones, with metadata routing on and off."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

from defero import (
    BestExpert,
    ConfidenceThreshold,
    DeferralClassifier,
    ModelOnly,
    RandomExpert,
    Recipe,
    TwoStageDeferral,
)
from defero.datasets import wedge

CASES = wedge(300, random_state=0)
SHUFFLED = {"check_sample_weight_equivalence_on_dense_data": "mini-batches are drawn by row, whatever its weight"}
FOLDED = {"check_sample_weight_equivalence_on_dense_data": "the penalty is chosen in folds; scale does not matter"}
ESTIMATORS = [
    (DeferralClassifier("linear", loss="ova"), {}),
    (DeferralClassifier("linear", loss="softmax"), {}),
    pytest.param(
        DeferralClassifier("mlp", loss="ova", recipe=Recipe(max_epochs=20), random_state=0),
        SHUFFLED,
        marks=pytest.mark.slow,
    ),
    (TwoStageDeferral(), FOLDED),
    (TwoStageDeferral(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1)), SHUFFLED),
    (ModelOnly(), {}),
    (BestExpert(), {}),
    (RandomExpert(random_state=0), {}),
    (ConfidenceThreshold(), {}),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "expected"), ESTIMATORS, ids=lambda value: str(value)[:60])
def test_check_estimator(estimator, expected):
    assert len(expected) <= 5
    check_estimator(estimator, expected_failed_checks=expected, on_skip=None)


def test_cross_validate_without_routing_passes_experts_to_fit_and_warns_in_score():
    with pytest.warns(UserWarning, match="score got no experts"):
        found = cross_validate(
            DeferralClassifier("linear", loss="ova"),
            CASES.features,
            CASES.labels,
            params={"experts": CASES.answers},
            cv=3,
            return_estimator=True,
        )
    assert all(team.n_experts_ == 4 for team in found["estimator"])
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.parametrize(
    "estimator", [DeferralClassifier("linear", loss="ova"), TwoStageDeferral(), BestExpert()], ids=str
)
def test_cross_validate_with_routing_scores_the_team(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            estimator,
            CASES.features,
            CASES.labels,
            params={"experts": CASES.answers},
            cv=3,
            return_indices=True,
            return_estimator=True,
        )
    for team, rows, score in zip(found["estimator"], found["indices"]["test"], found["test_score"], strict=True):
        x, y, m = CASES.features[rows], CASES.labels[rows], CASES.answers[rows]
        assert score == team.score(x, y, experts=m)
        assert score != pytest.approx(np.mean(team.predict(x) == y))


def test_grid_search_with_routing():
    grid = {"loss": ["ova", "decoupled"]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(DeferralClassifier("linear", loss="ova"), grid, cv=2).fit(
            CASES.features, CASES.labels, experts=CASES.answers
        )
    assert search.best_estimator_.n_experts_ == 4


def test_pipeline_without_routing_takes_experts_by_keyword():
    pipe = make_pipeline(MinMaxScaler(), DeferralClassifier("linear", loss="ova"))
    pipe.fit(CASES.features, CASES.labels, deferralclassifier__experts=CASES.answers)
    assert pipe[-1].n_experts_ == 4
    assert pipe.predict(CASES.features).shape == (300,)


def test_pipeline_with_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(MinMaxScaler(), DeferralClassifier("linear", loss="ova"))
        pipe.fit(CASES.features, CASES.labels, experts=CASES.answers)
        assert pipe.score(CASES.features, CASES.labels, experts=CASES.answers) > 0.8


def test_clone_keeps_parameters_and_forgets_the_fit():
    team = DeferralClassifier("mlp", loss="softmax", recipe=Recipe(hidden=(8,), max_epochs=2)).fit(
        CASES.features, CASES.labels
    )
    copy = clone(team)
    assert copy.get_params() == team.get_params()
    assert not hasattr(copy, "team_")


def test_data_frames_name_experts_and_features():
    frame = pd.DataFrame(CASES.features).add_prefix("x")
    answers = pd.DataFrame(CASES.answers, columns=["ann", "bob", "cas", "dee"])
    team = TwoStageDeferral().fit(frame, CASES.labels, experts=answers)
    assert team.expert_names_ == ("ann", "bob", "cas", "dee")
    assert team.feature_names_in_[0] == "x0"
    assert set(team.decide(frame).name) <= {"model", "ann", "bob", "cas", "dee"}
