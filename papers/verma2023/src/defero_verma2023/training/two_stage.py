"""Two stages after one classifier: experts' heads on what the finished network says, fitted in seconds."""

import time

import numpy as np
from scipy.special import softmax

from defero.learn.heads import fit_heads
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.measures.team_outputs import LEAST, TeamOutputs
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.runs.trained_team import TrainedTeam

MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are read as that."""


def head_features(logits: FloatArray) -> FloatArray:
    """Return what the heads read of logits (n, K): what the network believes of the classes, and its logits, (n, 3 K).

    Of its belief they read the probabilities, without the last one, which the others imply; the log-odds of each class;
    and those of the likeliest class, for items that are hard for everybody.

    >>> head_features(np.log([[0.5, 0.25, 0.25]]))[0, :6].round(2).tolist()
    [0.5, 0.25, 0.0, -1.1, -1.1, 0.0]
    """
    proba = softmax(logits, axis=1)
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(proba) - np.log1p(-proba), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    return np.column_stack([proba[:, :-1], log_odds, log_odds.max(axis=1), logits])


def after_one_classifier(validation: TeamOutputs, test: TeamOutputs, pool: ExpertPool, *, seed: int) -> TrainedTeam:
    """Fit a head for each expert, shrunk toward their mean, on half of the validation items.

    The other half is for calibration. The network stays as it is; the heads look at its logits and at what it believes
    of the classes. Its training items are of no use here: it knows them by heart, and is surer of them than of new
    ones. The answers to validation and test items are drawn as for the networks that are trained with their experts.

    Parameters
    ----------
    validation, test : TeamOutputs
        Of one classifier of three classes or more, without experts.
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
    place, expert = np.indices((len(fit), pool.n_experts)).reshape(2, -1)
    right = answers[0][fit] == validation.labels[fit, None]
    heads = fit_heads(
        head_features(validation.class_logits[fit]), place, expert, right.ravel(), n_experts=pool.n_experts
    )
    seconds = time.monotonic() - started

    def judged(outputs: TeamOutputs, answers: IntArray) -> TeamOutputs:
        log_proba = np.log(np.maximum(softmax(outputs.class_logits, axis=1), LEAST))
        log_odds = heads.log_odds(head_features(outputs.class_logits))
        return TeamOutputs("decoupled", log_proba, log_odds, answers, outputs.labels)

    return TrainedTeam(
        judged(validation.take(left), answers[0][left]),
        judged(test, answers[1]),
        seconds,
        {"stages": "shrunk heads on the logits of one classifier, frozen", "n_fit": len(fit)},
    )
