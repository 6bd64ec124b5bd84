"""A table of mean scores by category, shrunk: what is known once the kind of item is known."""

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.pools.models import LinearPart

LEVEL_SHRINK = 5.0
"""A member's own mean counts as n / (n + 5), the rest is the pool's."""
_MOST_SHRINK = 1e6


def fit_table(features: FloatArray, scores: FloatArray, categories: tuple[tuple[int, int], ...]) -> LinearPart:
    """Return each member's mean, and what each level of each category adds to it.

    The mean of a cell (level, member) is shrunk twice, each time by as much as empirical Bayes says: what a level adds
    to all members (some tasks are hard for everybody) toward 0, and what it adds to one member toward that. Several
    categories add up, each fitted to what those before it leave over.

    Parameters
    ----------
    features : (n, d)
    scores : (n, J), NaN where there is none
    categories : pairs (start, stop) of 0/1 columns
    """
    scored = np.isfinite(scores)
    filled = np.where(scored, scores, 0.0)
    n = scored.sum(axis=0)
    everybody = filled.sum() / max(scored.sum(), 1)
    intercept = (filled.sum(axis=0) + LEVEL_SHRINK * everybody) / (n + LEVEL_SHRINK)
    weights = np.zeros((features.shape[1], scores.shape[1]))
    rest = np.where(scored, scores - intercept, 0.0)
    for start, stop in categories:
        block = features[:, start:stop]
        counts = scored.sum(axis=1)
        common = np.divide(rest.sum(axis=1), counts, out=np.zeros(len(rest)), where=counts > 0)
        for_all = _shrunk_means(block, common[:, None], (counts > 0)[:, None])
        own = _shrunk_means(block, np.where(scored, rest - block @ for_all, 0.0), scored)
        weights[start:stop] = for_all + own
        rest = np.where(scored, rest - block @ weights[start:stop], 0.0)
    return LinearPart(weights, intercept)


def _shrunk_means(block: FloatArray, values: FloatArray, scored: BoolArray) -> FloatArray:
    """Return the shrunk mean of each level, (levels, J), of values (n, J) that are 0 where they are not seen.

    sum / (count + kappa), kappa = variance within levels / variance between them, both pooled over the columns.
    """
    count = block.T @ scored
    mean = np.divide(block.T @ values, count, out=np.zeros(count.shape), where=count > 0)
    inside = np.where(scored, values - block @ mean, 0.0)
    freedom = max(float(count.sum() - (count > 0).sum()), 1.0)
    within = float((inside**2).sum()) / freedom
    cells = count > 1
    if not cells.any() or within == 0:
        return mean if within == 0 else np.zeros(count.shape)
    # E[mean^2] = between + within / count, cell by cell.
    between = float(np.mean(mean[cells] ** 2 - within / count[cells]))
    kappa = min(within / between, _MOST_SHRINK) if between > 0 else _MOST_SHRINK
    return mean * count / (count + kappa)
