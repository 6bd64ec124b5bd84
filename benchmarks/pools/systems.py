"""Ways of choosing: each returns the expected score of every member for the test rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import OneHotEncoder

from defero import ExpertPool
from defero.core.checks.arrays import FloatArray


class Outcome(NamedTuple):
    """Expected scores (n, J), what was chosen in fitting, and the score promised of the chosen member (n,), if any."""

    expected: FloatArray
    chosen: str = ""
    promised: FloatArray | None = None


Expected = Callable[[pd.DataFrame, FloatArray, pd.DataFrame], Outcome]
"""Training table and scores, and the test table."""


@dataclass(frozen=True)
class PoolSystem:
    """A way of choosing; `ours` may change with the library."""

    name: str
    expected: Expected
    ours: bool = False
    needs_task: bool = False


def _constant(train: FloatArray, n_test: int) -> FloatArray:
    return np.tile(np.nanmean(train, axis=0), (n_test, 1))


def best_single(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return each member's mean."""
    return Outcome(_constant(scores, len(test)))


def random_member(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return random numbers."""
    return Outcome(np.random.default_rng(len(table)).random((len(test), scores.shape[1])))


def best_of_task(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return each member's mean on the task."""
    means = pd.DataFrame(scores).groupby(table["task"].to_numpy()).mean()
    expected = means.reindex(test["task"]).to_numpy(copy=True)
    missing = np.isnan(expected).any(axis=1)
    expected[missing] = scores.mean(axis=0)
    return Outcome(expected)


def features(table: pd.DataFrame, test: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return 128 directions of TF-IDF words, of unit length, and the task as 0/1 columns where it is given."""
    words = TfidfVectorizer(min_df=2, max_features=20_000, sublinear_tf=True, token_pattern=r"(?u)\w+")
    directions = TruncatedSVD(128, random_state=0)
    first = directions.fit_transform(words.fit_transform(table["question"]))
    second = directions.transform(words.transform(test["question"]))
    unit = [one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9) for one in (first, second)]
    if "task" not in table:
        return unit[0], unit[1]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(table[["task"]])
    both = [
        hstack([csr_array(one), encoder.transform(frame[["task"]])]).toarray()
        for one, frame in zip(unit, (table, test), strict=True)
    ]
    return both[0], both[1]


def ridge(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return scikit-learn's ridge regression with a penalty by cross-validation."""
    first, second = features(table, test)
    model = RidgeCV(alphas=(0.1, 1.0, 10.0, 100.0)).fit(first, scores)
    return Outcome(model.predict(second), f"alpha {model.alpha_:g}")


def neighbours(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return the mean of the 100 nearest, by cosine."""
    first, second = features(table, test)
    return Outcome(KNeighborsRegressor(100, algorithm="brute").fit(first, scores).predict(second), "k 100")


def classifier(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return the probabilities of a logistic regression of the best member; of several best the best overall."""
    first, second = features(table, test)
    best = np.where(scores == scores.max(axis=1, keepdims=True), scores.mean(axis=0), -1.0).argmax(axis=1)
    model = LogisticRegression(max_iter=300).fit(first, best)
    proba = np.zeros((len(test), scores.shape[1]))
    proba[:, model.classes_] = model.predict_proba(second)
    return Outcome(proba)


def pool(table: pd.DataFrame, scores: FloatArray, test: pd.DataFrame) -> Outcome:
    """Return our estimator's."""
    fitted = ExpertPool(text="question").fit(table, scores)
    landmarks = getattr(fitted.team_.scorer, "landmarks", None)
    chosen = "without landmarks" if landmarks is None else f"{len(landmarks.points)} landmarks"
    return Outcome(fitted.predict_expert_proba(test), chosen, fitted.decide(test).p_right)


SYSTEMS = {
    system.name: system
    for system in (
        PoolSystem("best single", best_single),
        PoolSystem("random", random_member),
        PoolSystem("best of the task", best_of_task, needs_task=True),
        PoolSystem("ridge", ridge),
        PoolSystem("k nearest neighbours", neighbours),
        PoolSystem("classifier of the best", classifier),
        PoolSystem("ExpertPool", pool, ours=True),
    )
}
