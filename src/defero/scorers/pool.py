"""Experts of whom nothing is known: they are taken to be as good as the others on average."""

import numpy as np

from defero.core.checks import BoolArray
from defero.core.scores import Scores, logit


def fill_with_pool_mean(scores: Scores, answered: BoolArray) -> Scores:
    """Give each expert who never answered the mean of those who did, item by item.

    Parameters
    ----------
    scores : Scores of n items
    answered : (J,) bool
        Did expert j answer anything in training?

    >>> scores = Scores.from_probabilities([[1.0, 0.0]], [[0.9, 0.7, 0.1]])
    >>> fill_with_pool_mean(scores, np.array([True, True, False])).expert_proba.round(3).tolist()
    [[0.9, 0.7, 0.8]]
    """
    if answered.all() or not answered.any():
        return scores
    mean = scores.expert_proba[:, answered].mean(axis=1, keepdims=True)
    proba = np.where(answered, scores.expert_proba, mean)
    raw_mean = logit(mean) if scores.link == "logit" else np.log(np.maximum(mean, np.finfo(np.float64).tiny))
    raw = np.where(answered, scores.expert_raw, raw_mean)
    return Scores(scores.class_proba, proba, scores.model_proba, raw, scores.link)
