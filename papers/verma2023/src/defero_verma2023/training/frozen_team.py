"""Teams on frozen features: what one classifier's trunk sees of the pictures that it was not trained on."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from defero import DeferralClassifier, Recipe, Scores, TwoStageDeferral
from defero_verma2023.arrays import BoolArray, FloatArray, IntArray, Parts
from defero_verma2023.measures.team_outputs import outputs_from_scores
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.training.frozen_trunk import FrozenTrunk
from defero_verma2023.training.picture_parts import PictureParts

N_FOLDS = 5
RIDGES = (4.0, 32.0, 256.0, 2048.0)
"""Ridge penalties to choose from, in units of 1 / n."""
LEAST = 1e-12
"""Probability of a class that no picture of a fold has."""


def train_frozen_team(
    parts: PictureParts, trunk: FrozenTrunk, pool: ExpertPool, method: str, *, seed: int
) -> TrainedTeam:
    """Fit linear models on the validation part, and return what they say of it across folds, and of the test part.

    Of its own training pictures the trunk is far too sure, so nothing is learned from them here. The validation part
    is learned from and calibrated on: what is returned of each of its pictures comes from a model that has seen four
    fifths of the others (and no picture of the same group), and what is returned of the test part from one that has
    seen all of it. The ridge penalty is chosen across the same folds.

    Parameters
    ----------
    parts : PictureParts
    trunk : FrozenTrunk
    pool : ExpertPool
    method : str
        One of `FROZEN_METHODS`.
    seed : int
    """
    started = time.monotonic()
    inputs, labels = trunk.inputs, parts.labels
    answers = {part: parts.held_out_answers(pool, part, seed=seed) for part in ("validation", "test")}
    known, new = parts.rows["validation"], parts.rows["test"]
    loss = "decoupled"  # what the scores are read as
    folds = parts.folds("validation", N_FOLDS, rng=np.random.default_rng([seed, 2_000]))
    correct = answers["validation"] == labels[known][:, None]
    ridge = _best_ridge(inputs[known], labels[known], correct, folds)
    learner = _Learner(method, parts.n_classes, seed, ridge)
    scores = learner.scores(inputs[known], labels[known], answers["validation"], inputs[new])
    test = outputs_from_scores(scores, answers["test"], labels[new], loss=loss)
    pieces = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(known)), fold)
        learned = known[rest]
        pieces.append(
            learner.scores(inputs[learned], labels[learned], answers["validation"][rest], inputs[known[fold]])
        )
    scores = Scores.concatenated(pieces).take(np.argsort(np.concatenate(folds)))
    validation = outputs_from_scores(scores, answers["validation"], labels[known], loss=loss)
    facts = {"n_train": len(known), "folds": N_FOLDS, "ridge": ridge, "n_features": inputs.shape[1]}
    return TrainedTeam(validation, test, time.monotonic() - started, facts)


@dataclass(frozen=True)
class _Learner:
    method: str
    n_classes: int
    seed: int
    ridge: float

    def scores(self, inputs: FloatArray, labels: IntArray, answers: IntArray, new: FloatArray) -> Scores:
        """Learn from some pictures and score others; every class has its column."""
        team: DeferralClassifier | TwoStageDeferral
        if self.method == "two-stage":
            team = TwoStageDeferral(logistic(self.ridge), logistic(self.ridge))
        else:
            team = DeferralClassifier(
                "linear", loss=self.method, recipe=Recipe(weight_decay=self.ridge / len(labels)), random_state=self.seed
            )
        team.fit(inputs, labels, experts=_right_or_not(answers, labels))
        team_scores: Scores = team.team_.scores(new)
        proba = _all_classes(team_scores.class_proba, team.classes_, self.n_classes)
        return replace(team_scores, class_proba=proba)


def _best_ridge(inputs: FloatArray, labels: IntArray, correct: BoolArray, folds: Parts) -> float:
    """Return the penalty with which models of the label and of each expert are least surprised by held-out pictures.

    The label counts as much as all experts together.
    """
    surprise = dict.fromkeys(RIDGES, 0.0)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        for ridge in RIDGES:
            learned = (inputs[rest], inputs[fold], ridge)
            of_experts = [_surprise(*learned, right[rest], right[fold]) for right in correct.T.astype(np.int64)]
            surprise[ridge] += _surprise(*learned, labels[rest], labels[fold]) + float(np.mean(of_experts))
    return min(RIDGES, key=surprise.__getitem__)


def _surprise(known: FloatArray, new: FloatArray, ridge: float, learned: IntArray, truth: IntArray) -> float:
    """Return the log loss on new rows of a model of the known ones, summed."""
    if len(np.unique(learned)) == 1:
        return 0.0
    model = logistic(ridge).fit(known, learned)
    proba = _all_classes(model.predict_proba(new), model.classes_, int(max(learned.max(), truth.max())) + 1)
    return -float(np.log(proba[np.arange(len(truth)), truth]).sum())


def logistic(ridge: float) -> Pipeline:
    """Return logistic regression on standardised features, not fitted."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / ridge, max_iter=1_000))


def _all_classes(proba: FloatArray, classes: NDArray[Any], n_classes: int) -> FloatArray:
    """Give each class its column, those that were not met with next to nothing in it."""
    every = np.full((len(proba), n_classes), LEAST)
    every[:, np.asarray(classes, dtype=np.int64)] = np.maximum(proba, LEAST)
    return every / every.sum(axis=1, keepdims=True)


def _right_or_not(answers: IntArray, labels: IntArray) -> IntArray:
    """Write each wrong answer as another class of these labels: an expert may name one that none of them has."""
    classes, place = np.unique(labels, return_inverse=True)
    wrong = classes[(place + 1) % len(classes)]
    return np.where(answers == labels[:, None], labels[:, None], wrong[:, None])
