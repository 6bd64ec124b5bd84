"""A new member of a pool, from a few scores or from none: a mix of the members who are known."""

import numpy as np

from defero.core.checks.arrays import FloatArray


def newcomer_weights(
    values: FloatArray, scores: FloatArray, *, like: FloatArray | None = None, level_sd: float, noise: float
) -> tuple[FloatArray, float]:
    """Return the weights (J,) and the offset with which a newcomer's scores are predicted from the others' values.

    Bayesian linear regression of m scores on the values (m, J) that the model gives the others on the same items. The
    prior is the mean of the members: weights of 1/J with a variance of 1/J each, so that "exactly like one of them" is
    one standard deviation away, and an offset with the spread of the members' levels. With no scores the newcomer is
    the average member; with many, what the regression says.

    Parameters
    ----------
    values : (m, J)
    scores : (m,)
    like : (J,), optional
        Weights of the prior, such as 1 for an earlier version of the same model; they add up to 1.
    level_sd : float
        Standard deviation of the members' mean scores.
    noise : float
        Variance of a score around its expectation.

    Examples
    --------
    >>> weights, offset = newcomer_weights(np.zeros((0, 2)), np.zeros(0), level_sd=0.1, noise=0.2)
    >>> weights.tolist(), offset
    ([0.5, 0.5], 0.0)
    """
    n_members = values.shape[1]
    start = np.full(n_members, 1.0 / n_members) if like is None else like
    # Without the common level the offset has its prior, and the weights answer for the shape alone.
    center = values.mean(axis=0) if len(values) else np.zeros(n_members)
    design = np.column_stack([values - center, np.ones(len(values))])
    precision = np.append(np.full(n_members, float(n_members)), 1.0 / max(level_sd, 0.02) ** 2)
    left = design.T @ design / noise + np.diag(precision)
    right = design.T @ (scores - values @ start) / noise
    change = np.linalg.solve(left, right)
    weights = start + change[:-1]
    return weights, float(change[-1] - center @ change[:-1])
