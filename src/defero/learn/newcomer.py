"""A newcomer of whom few scores are known, or none: expected to score as a mix of the experts who are there."""

import numpy as np

from defero.core.checks.arrays import FloatArray

WEIGHT_VARIANCE = 0.5
"""Of all weights together. At 1 the prior has the members' own spread. Half of it is measured: at 1 a newcomer with 20
scores was chosen too often (benchmarks/pools, splits apart from those that are reported)."""
LEAST_OFFSET_SD, ALONE_OFFSET_SD = 0.01, 0.2


def newcomer_weights(
    values: FloatArray, scores: FloatArray, *, like: FloatArray | None = None, level_sd: float, noise: float
) -> tuple[FloatArray, float]:
    """Return the weights (J,) and the offset with which a newcomer's scores are predicted from the others' values.

    The newcomer is taken for one more draw from where the members came from. On an item with the members' values v_j
    and their mean v, its expected score is v + sum_j a_j (v_j - v) + b, with a_j normal around 0: an empirical-Bayes
    prior with the spread between the members, which is small where they agree. Bayesian linear regression of m scores
    then gives a and b. With no scores the newcomer is the average member; with many, what the regression says.

    Parameters
    ----------
    values : (m, J)
        Of the members on the items that the newcomer was scored on.
    scores : (m,)
    like : (J,), optional
        Weights of the prior in place of the average, such as 1 for an earlier version of the same model; they add up
        to 1.
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
    design = np.column_stack([values - values.mean(axis=1, keepdims=True), np.ones(len(values))])
    rest = scores - values @ start
    # Levels that differ between the members are in the weights: the offset is what no mix of them explains.
    offset_sd = max(level_sd / (2 * n_members**0.5), LEAST_OFFSET_SD) if n_members > 1 else ALONE_OFFSET_SD
    change = _posterior(design, rest, offset_sd, noise)
    if len(scores):
        # A newcomer unlike all members: what is left beyond three standard errors widens the prior of the offset.
        beyond = float((rest - design @ change).mean()) ** 2 - 9 * noise / len(scores)
        if beyond > 0:
            change = _posterior(design, rest, (offset_sd**2 + beyond) ** 0.5, noise)
    return start + change[:-1] - change[:-1].mean(), float(change[-1])


def _posterior(design: FloatArray, rest: FloatArray, offset_sd: float, noise: float) -> FloatArray:
    """Return the posterior mean of the J weights and the offset."""
    n_members = design.shape[1] - 1
    precision = np.append(np.full(n_members, n_members / WEIGHT_VARIANCE), offset_sd**-2)
    left = design.T @ design / noise + np.diag(precision)
    return np.asarray(np.linalg.solve(left, design.T @ rest / noise), dtype=np.float64)
