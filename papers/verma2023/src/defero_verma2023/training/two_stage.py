"""Two stages after one classifier: experts' heads on what the finished network says, fitted in seconds."""

import time

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from defero import TwoStageDeferral
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.measures.team_outputs import TeamOutputs, outputs_from_scores
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.runs.trained_team import TrainedTeam


class FinishedNetwork(ClassifierMixin, BaseEstimator):
    """A network as scikit-learn knows classifiers: it reads logits, and believes them as they are.

    Examples
    --------
    >>> logits = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    >>> FinishedNetwork().fit(logits, np.array([0, 2])).predict_proba(logits).round(2).tolist()
    [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]
    """

    def fit(self, logits: FloatArray, labels: IntArray) -> "FinishedNetwork":
        """Learn nothing but how many classes there are."""
        self.classes_ = np.arange(logits.shape[1])
        return self

    def predict_proba(self, logits: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K), of logits (n, K)."""
        proba: FloatArray = softmax(np.asarray(logits, dtype=np.float64), axis=1)
        return proba

    def predict(self, logits: FloatArray) -> IntArray:
        """Return the likeliest class, (n,)."""
        return np.asarray(logits).argmax(axis=1)


def after_one_classifier(validation: TeamOutputs, test: TeamOutputs, pool: ExpertPool, *, seed: int) -> TrainedTeam:
    """Fit the experts' heads of `TwoStageDeferral` on half of the validation items; the other half is for calibration.

    The network stays as it is; the heads look at its logits and at what it believes of the classes. Its training
    items are of no use here: it knows them by heart, and is surer of them than of new ones.
    The answers to validation and test items are drawn as for the networks that are trained with their experts.

    Parameters
    ----------
    validation, test : TeamOutputs
        Of one classifier, without experts.
    pool : ExpertPool
        Experts who need to know the label alone.
    seed : int
    """
    answers = [
        pool.draw(part.labels, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate((validation, test), start=1)
    ]
    rows = np.random.default_rng([seed, 3]).permutation(len(validation))
    fit, left = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    started = time.monotonic()
    network = FinishedNetwork().fit(validation.class_logits, validation.labels)
    team = TwoStageDeferral(FrozenEstimator(network), heads="shrunk")
    team.fit(validation.class_logits[fit], validation.labels[fit], experts=answers[0][fit])
    seconds = time.monotonic() - started

    def judged(outputs: TeamOutputs, answers: IntArray) -> TeamOutputs:
        return outputs_from_scores(team.team_.scores(outputs.class_logits), answers, outputs.labels, loss="decoupled")

    return TrainedTeam(
        judged(validation.take(left), answers[0][left]),
        judged(test, answers[1]),
        seconds,
        {"stages": "TwoStageDeferral, shrunk heads, on the logits of one classifier, frozen", "n_fit": len(fit)},
    )
