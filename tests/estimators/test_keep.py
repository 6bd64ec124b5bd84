"""Classifiers of scikit-learn and LightGBM as arrays: they predict the same, alone and after a folder; others stay."""

from types import SimpleNamespace

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from defero.core.codec import pack, unpack
from defero.estimators.keep import keep
from defero.learn.kept import MOST_LEVELS, KeptClassifier, LevelTrees, LinearMap
from defero.learn.two_stage import GivenClassifier, TwoStageScorer

RNG = np.random.default_rng(0)
SPREAD = np.array([1.0, 10.0, 1e3, 1e-3])
X = RNG.normal(size=(400, 4)) * SPREAD
FRESH = np.concatenate([2 * RNG.normal(size=(500, 4)) * SPREAD, X, X.astype(np.float32)])
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
TRUTH = (X[:, 0] + 0.5 * RNG.normal(size=400) > 0).astype(int)
LABELS = {2: np.array(["no", "yes"])[TRUTH], 3: np.array(["a", "b", "c"])[TRUTH + (X[:, 1] > 8)]}
LIGHT = {"n_estimators": 20, "verbose": -1, "n_jobs": 1}


class HomeGrown(LogisticRegression):
    """A classifier that lives outside of scikit-learn, and may predict otherwise."""


def data(features=X):
    return SimpleNamespace(features=features, raw=None)


LINEAR = {
    "logistic": lambda: LogisticRegression(),
    "without intercept": lambda: LogisticRegression(fit_intercept=False),
    "cross-validated": lambda: LogisticRegressionCV(
        Cs=2, cv=2, scoring="neg_log_loss", l1_ratios=(0.0,), use_legacy_attributes=False
    ),
    "discriminant": lambda: LinearDiscriminantAnalysis(),
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "centred": lambda: make_pipeline("passthrough", StandardScaler(with_std=False), LogisticRegression()),
    "gradient descent": lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
}
TREES = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "extra tree": lambda: ExtraTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(10, random_state=0, n_jobs=2),
    "extra trees": lambda: ExtraTreesClassifier(10, random_state=0),
    "bagged": lambda: BaggingClassifier(DecisionTreeClassifier(), 10, max_features=2, random_state=0),
    "bagged few": lambda: BaggingClassifier(DecisionTreeClassifier(), 20, max_samples=8, random_state=0),
    "scaled forest": lambda: make_pipeline(StandardScaler(with_mean=False), RandomForestClassifier(3, random_state=0)),
}
BOOSTED = {
    "boosted": lambda: GradientBoostingClassifier(n_estimators=20, random_state=0),
    "boosted from zero": lambda: GradientBoostingClassifier(n_estimators=20, init="zero", random_state=0),
    "lightgbm": lambda: LGBMClassifier(**LIGHT),
    "lightgbm deep": lambda: LGBMClassifier(**LIGHT, num_leaves=300, min_child_samples=1),
    "lightgbm dropped": lambda: LGBMClassifier(**LIGHT, boosting_type="dart"),
    "lightgbm scaled": lambda: make_pipeline(StandardScaler(), LGBMClassifier(**LIGHT)),
}
KEPT = {**LINEAR, **TREES, **BOOSTED}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:.*liblinear", "ignore:lbfgs failed")
def test_the_arrays_predict_what_the_classifier_does(name, n_classes):
    model = KEPT[name]().fit(X, LABELS[n_classes])
    kept = keep(model, data())
    assert isinstance(kept.body, LinearMap if name in LINEAR else LevelTrees)
    worst = 0.0 if name in TREES else 1e-12
    assert np.abs(kept.proba(FRESH) - model.predict_proba(FRESH)).max() <= worst
    again = unpack(TwoStageScorer, pack(TwoStageScorer(kept, (keep(0.75, data()),))))
    assert np.array_equal(again.classifier.proba(FRESH), kept.proba(FRESH))
    assert again.score(X[:2]).expert_proba.tolist() == [[0.75], [0.75]]
    assert np.array_equal(keep(FrozenEstimator(model), data()).proba(FRESH), kept.proba(FRESH))


@pytest.mark.parametrize("name", ["tree", "forest", "extra trees", "bagged", "lightgbm"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_trees_send_gaps_where_the_classifier_does(name):
    model = KEPT[name]().fit(GAPS, LABELS[3])
    kept = keep(model, data(GAPS))
    assert np.abs(kept.proba(GAPS) - model.predict_proba(GAPS)).max() <= (1e-12 if name == "lightgbm" else 0.0)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_lightgbm_reads_a_gap_as_zero_where_it_saw_none():
    model = LGBMClassifier(**LIGHT).fit(X, LABELS[3])
    np.testing.assert_allclose(keep(model, data()).proba(GAPS), model.predict_proba(GAPS), rtol=0, atol=1e-12)


def test_exponential_loss_and_shares():
    boosted = GradientBoostingClassifier(loss="exponential", n_estimators=5).fit(X, LABELS[2])
    np.testing.assert_allclose(keep(boosted, data()).proba(FRESH), boosted.predict_proba(FRESH), rtol=0, atol=1e-12)
    prior = DummyClassifier(strategy="prior").fit(X, LABELS[3])
    assert np.array_equal(keep(prior, data()).proba(FRESH), prior.predict_proba(FRESH))
    np.testing.assert_allclose(keep(0.75, data()).proba(FRESH)[0], [0.25, 0.75])


GIVEN = {
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(max_iter=3),
    "GaussianNB": lambda: GaussianNB(),
    "HomeGrown": lambda: make_pipeline(StandardScaler(), HomeGrown()),
    "LogisticRegression": lambda: make_pipeline(MinMaxScaler(), LogisticRegression()),
    "SGDClassifier": lambda: SGDClassifier(loss="modified_huber"),
    "KNeighborsClassifier": lambda: FrozenEstimator(KNeighborsClassifier().fit(X, LABELS[2])),
    "CalibratedClassifierCV": lambda: CalibratedClassifierCV(GaussianNB(), cv=2),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=2),
    "VotingClassifier": lambda: VotingClassifier([("a", DecisionTreeClassifier())], voting="soft"),
    "BaggingClassifier": lambda: BaggingClassifier(GaussianNB(), 2),
    "GradientBoostingClassifier": lambda: GradientBoostingClassifier(n_estimators=2, init=GaussianNB()),
    "DummyClassifier": lambda: DummyClassifier(strategy="stratified"),
    "LGBMClassifier": lambda: LGBMClassifier(**LIGHT, zero_as_missing=True),
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_others_are_used_as_they_are(name):
    model = GIVEN[name]().fit(X, LABELS[2])
    given = keep(model, data())
    assert isinstance(given, GivenClassifier)
    assert (given.name, given.n_features, given.model) == (name, 4, model)
    if name != "DummyClassifier":
        np.testing.assert_allclose(given.proba(FRESH), model.predict_proba(FRESH), atol=1e-12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_averaged_and_categorical_trees_of_lightgbm_are_used_as_they_are():
    averaged = LGBMClassifier(**LIGHT, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5).fit(X, LABELS[2])
    codes = RNG.integers(0, 6, size=(400, 1)).astype(float)
    numbers = np.hstack([X, codes])
    by_code = LGBMClassifier(**LIGHT).fit(numbers, codes[:, 0] % 2 == 0, categorical_feature=[4])
    assert isinstance(keep(averaged, data()), GivenClassifier)
    assert isinstance(keep(by_code, data(numbers)), GivenClassifier)


def test_a_tree_of_very_many_levels_is_used_as_it_is():
    n = MOST_LEVELS + 10
    nodes = np.full(2 * n + 1, -1)
    nodes[: 2 * n : 2] = np.arange(1, 2 * n, 2)
    chain = SimpleNamespace(
        children_left=nodes,
        children_right=np.where(nodes >= 0, nodes + 1, -1),
        feature=np.zeros(2 * n + 1, dtype=np.int64),
        threshold=np.zeros(2 * n + 1),
        missing_go_to_left=np.zeros(2 * n + 1, dtype=np.uint8),
        node_count=2 * n + 1,
        value=np.full((2 * n + 1, 1, 2), 0.5),
    )
    model = DecisionTreeClassifier().fit(X, LABELS[2])
    model.predict_proba = lambda rows: np.full((len(rows), 2), 0.5)
    model.tree_ = chain
    assert isinstance(keep(model, data()), GivenClassifier)
    for name in ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "value"):
        setattr(chain, name, getattr(chain, name)[:21])
    chain.node_count, chain.children_left[20], chain.children_right[20] = 21, -1, -1
    assert isinstance(keep(model, data()), KeptClassifier)
