"""scikit-learn's objects on disk: bit-equal when they come back, no pickle, and no class from elsewhere."""

import io
import zipfile

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from defero.core.codec import pack, unpack
from defero.core.errors import ModelFolderError
from defero.data.model_folder import FILES
from defero.scorers import NET, PARTS
from defero.scorers.sklearn_parts import read_parts, write_parts
from defero.scorers.two_stage import TwoStageScorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "malign", "benign").astype(object)
RIGHT = (X[:, 1] + 0.5 * RNG.normal(size=60) > 0).astype(int)


def shifted(values):
    return values + 1


class HomeGrown(GaussianNB):
    """A classifier that lives outside scikit-learn."""


CLASSIFIERS = {
    "logistic pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(5),
    "calibrated": lambda: CalibratedClassifierCV(GaussianNB(), cv=2),
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(3, random_state=0),
    "exponential boosting": lambda: GradientBoostingClassifier(loss="exponential", n_estimators=3, random_state=0),
    "adaptive boosting": lambda: AdaBoostClassifier(n_estimators=3, random_state=0),
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(), 3, max_features=2, random_state=0),
    "network": lambda: MLPClassifier((4,), max_iter=5, random_state=0),
    "isotonic": lambda: CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    "votes": lambda: VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft"),
    "stack": lambda: StackingClassifier(
        [("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=2))], cv=2
    ),
    "gradient descent": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "support vectors": lambda: SVC(probability=True, random_state=0),
    "brute neighbours": lambda: KNeighborsClassifier(5, algorithm="brute", weights="distance"),
    "ball tree": lambda: KNeighborsClassifier(5, algorithm="ball_tree"),
    "columns": lambda: make_pipeline(
        ColumnTransformer([("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(handle_unknown="ignore"), [2])]),
        LogisticRegression(),
    ),
    "imputed": lambda: make_pipeline(SimpleImputer(), PolynomialFeatures(), FunctionTransformer(np.tanh), GaussianNB()),
    "frozen": lambda: FrozenEstimator(LogisticRegression().fit(X, Y)),
    "frozen forest": lambda: FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, Y)),
}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:.*Maximum iterations")
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_fitted_classifiers_come_back_bit_equal(kind):
    expert = CLASSIFIERS[kind]()
    expert = FrozenEstimator(GaussianNB().fit(X, RIGHT)) if "frozen" in kind else expert.fit(X, RIGHT)
    scorer = TwoStageScorer(CLASSIFIERS[kind]().fit(X, Y), [expert, 0.75])
    packed = pack(scorer)
    assert packed.manifest == {"kind": "two-stage", "constants": [None, 0.75], "parts": "parts.skops", "raw": None}
    assert packed.arrays == {}
    before, after = scorer.score(X), unpack(TwoStageScorer, packed).score(X)
    for name in ("class_proba", "expert_proba", "model_proba", "expert_raw"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert before.expert_proba[:, 1].tolist() == [0.75] * 60


def test_there_is_no_pickle_in_the_archive():
    content = write_parts({"classifier": CLASSIFIERS["forest"]().fit(X, Y)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {name.rpartition(".")[2] for name in archive.namelist()} <= {"json", "npy"}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (HomeGrown(), "HomeGrown"),
        (make_pipeline(FunctionTransformer(shifted), GaussianNB()), "shifted"),
        (make_pipeline(SelectKBest(k=2), GaussianNB()), "f_classif"),
    ],
    ids=["class", "function", "score"],
)
def test_what_cannot_be_read_back_is_named(model, name):
    with pytest.raises(ModelFolderError, match=rf"save: .*{name} cannot be saved"):
        write_parts({"classifier": model.fit(X, Y), "experts": []})


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_damaged_archive_is_said(content):
    with pytest.raises(ModelFolderError, match=r"parts.skops: the parts cannot be read .* fit again or restore it"):
        read_parts(content)


def test_an_expert_who_is_never_wrong_is_asked_for_the_column_of_right():
    always = LogisticRegression().fit(X, np.arange(60) % 2)
    always.classes_ = np.array([True, False])  # the column of "right" is found by its name, not its place
    scores = TwoStageScorer(LogisticRegression().fit(X, Y), [always]).score(X)
    assert np.array_equal(scores.expert_proba[:, 0], always.predict_proba(X)[:, 0])


def test_no_expert_is_a_plain_classifier():
    scores = TwoStageScorer(LogisticRegression().fit(X, Y), []).score(X)
    assert scores.expert_proba.shape == (60, 0)


def test_a_model_folder_knows_the_files_of_every_scorer():
    assert {PARTS, NET} <= set(FILES)
