"""What a model believes of an item's class, as features of the experts' heads."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, probabilities
from defero.core.errors import InputError

MOST_LOG_ODDS = 7.0
"""A model surer than 0.999 is taken at that: one rash posterior must not carry a head away."""


def class_features(class_proba: ArrayLike) -> FloatArray:
    """Return features of a class posterior: signed beliefs, on which each expert's leaning to a class shows, and doubt.

    An expert who is right with probability theta_k on class k is right with sum_k P(y = k | x) theta_k, so the
    posterior itself comes first, without its last column, which the others imply; then the log-odds of each class (of
    one, where there are two) and those of the most likely class, for items that are hard for everybody.

    Parameters
    ----------
    class_proba : (n, K)
        Of items that the model was not fitted on: on its own training rows it is surer than elsewhere.

    Returns
    -------
    (n, 2 K), or (n, 3) for two classes and (n, 0) for one.

    Examples
    --------
    >>> class_features([[0.5, 0.5], [0.9, 0.1]]).round(2).tolist()
    [[0.5, 0.0, 0.0], [0.9, 2.2, 2.2]]
    """
    proba = probabilities("class_proba", class_proba)
    n_classes = proba.shape[1]
    if n_classes == 0:
        raise InputError("class_proba must have at least one column, one per class, got none.")
    if n_classes == 1:
        return np.empty((len(proba), 0))
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(proba) - np.log1p(-proba), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    each = log_odds[:, :1] if n_classes == 2 else log_odds
    return np.column_stack([proba[:, :-1], each, log_odds.max(axis=1)])
