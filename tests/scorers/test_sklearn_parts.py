"""scikit-learn's objects on disk: bit-equal when they come back, no pickle, and no class from elsewhere."""

import zipfile

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from defero.core.errors import ModelFolderError
from defero.scorers.sklearn_parts import PARTS, read_parts, write_parts
from defero.scorers.two_stage import TwoStageScorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "malign", "benign").astype(object)
RIGHT = (X[:, 1] + 0.5 * RNG.normal(size=60) > 0).astype(int)


class HomeGrown(GaussianNB):
    """A classifier that lives outside scikit-learn."""


CLASSIFIERS = {
    "logistic pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(5),
    "calibrated": lambda: CalibratedClassifierCV(GaussianNB(), cv=2),
    "frozen": lambda: FrozenEstimator(LogisticRegression().fit(X, Y)),
    "frozen forest": lambda: FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, Y)),
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_fitted_classifiers_come_back_bit_equal(kind, tmp_path):
    expert = CLASSIFIERS[kind]()
    expert = FrozenEstimator(GaussianNB().fit(X, RIGHT)) if "frozen" in kind else expert.fit(X, RIGHT)
    scorer = TwoStageScorer(CLASSIFIERS[kind]().fit(X, Y), [expert, 0.75])
    settings, arrays = scorer.pack(tmp_path)
    assert settings == {"constants": [None, 0.75]}
    assert arrays == {}
    before, after = scorer.score(X), TwoStageScorer.unpack(tmp_path, settings, arrays).score(X)
    for name in ("class_proba", "expert_proba", "model_proba", "expert_raw"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert before.expert_proba[:, 1].tolist() == [0.75] * 60


def test_there_is_no_pickle_in_the_folder(tmp_path):
    write_parts(tmp_path, {"classifier": CLASSIFIERS["forest"]().fit(X, Y)})
    assert [path.name for path in tmp_path.iterdir()] == [PARTS]
    with zipfile.ZipFile(tmp_path / PARTS) as archive:
        assert {name.rpartition(".")[2] for name in archive.namelist()} <= {"json", "npy"}


def test_a_class_from_elsewhere_is_named_and_leaves_nothing(tmp_path):
    with pytest.raises(ModelFolderError, match=r"save: \S*HomeGrown cannot be saved, because loading it could run any"):
        write_parts(tmp_path, {"classifier": HomeGrown().fit(X, Y)})
    assert list(tmp_path.iterdir()) == []


def test_a_forged_folder_is_not_loaded(tmp_path, monkeypatch):
    from skops import io

    io.dump({"classifier": HomeGrown().fit(X, Y), "experts": []}, tmp_path / PARTS)
    with pytest.raises(ModelFolderError, match=r"parts.skops: holds types that are not trusted: .*HomeGrown; do not"):
        read_parts(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_damaged_archive_is_said(tmp_path, content):
    (tmp_path / PARTS).write_bytes(content)
    with pytest.raises(ModelFolderError, match=r"parts.skops: the parts cannot be read .* fit again or restore it"):
        read_parts(tmp_path)


def test_an_expert_who_is_never_wrong_is_asked_for_the_column_of_right():
    always = LogisticRegression().fit(X, np.arange(60) % 2)
    always.classes_ = np.array([True, False])  # the column of "right" is found by its name, not its place
    scores = TwoStageScorer(LogisticRegression().fit(X, Y), [always]).score(X)
    assert np.array_equal(scores.expert_proba[:, 0], always.predict_proba(X)[:, 0])


def test_no_expert_is_a_plain_classifier():
    scores = TwoStageScorer(LogisticRegression().fit(X, Y), []).score(X)
    assert scores.expert_proba.shape == (60, 0)
