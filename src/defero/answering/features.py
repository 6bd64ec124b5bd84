"""The items' features in the shapes that a check needs: a rich basis, and a few directions that say most."""

import numpy as np

from defero.core.checks import FloatArray

MOST_DIRECTIONS = 6
"""How many directions of the features are asked about."""
MOST_COLUMNS = 512
"""Wider features are narrowed to their leading directions."""
NARROWED = 128
BENT = 16
"""Up to so many features get bends and products."""
MOST_SPREADS = 4.0
"""A feature further than this many standard deviations from its mean is taken at that: its products would rule."""


def standardised(features: FloatArray) -> FloatArray:
    """Return each feature with mean 0 and standard deviation 1, without those that never change.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0], [1.0]]
    """
    if not len(features):
        return np.empty((0, 0))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    # Rounding leaves a constant column a standard deviation of 1e-16 or so.
    changing = spread > 1e-12 * np.maximum(np.abs(centre), 1.0)
    return (features[:, changing] - centre[changing]) / spread[changing]


def directions(features: FloatArray) -> FloatArray:
    """Return the leading principal directions of the features and their squares, each of mean 0 and variance 1.

    The squares show who is asked about what is unusual, or usual, in any direction. At most 12 columns.
    """
    scaled = standardised(features)
    if not scaled.size:
        return np.empty((len(features), 0))
    if scaled.shape[1] > MOST_COLUMNS:
        found = _leading(scaled, MOST_DIRECTIONS)
    else:
        sizes, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
        found = scaled @ vectors[:, sizes > 1e-8 * sizes[-1]][:, ::-1][:, :MOST_DIRECTIONS]
    found = standardised(found)
    return np.column_stack([found, standardised(np.clip(found, -MOST_SPREADS, MOST_SPREADS) ** 2)])


def basis(features: FloatArray) -> FloatArray:
    """Return columns of mean 0 by which a class can be foretold: the features, bent where they are few.

    While there are at most 16 features and ten items for each column, each feature gets bends, max(0, x - q), at seven
    of its quantiles, and each pair its product.
    """
    scaled = standardised(features)
    n_items, d = scaled.shape
    if d > MOST_COLUMNS:
        return _leading(scaled, NARROWED)
    if 0 < d <= BENT and n_items >= 10 * (8 * d + d * (d - 1) // 2):
        bounded = np.clip(scaled, -MOST_SPREADS, MOST_SPREADS)
        first, second = np.triu_indices(d, 1)
        return standardised(np.column_stack([scaled, bends(scaled), bounded[:, first] * bounded[:, second]]))
    return scaled


def bends(columns: FloatArray) -> FloatArray:
    """Return max(0, x - q) of each column at seven of its quantiles, (n, 7 d)."""
    knots = np.quantile(columns, np.arange(1, 8) / 8.0, axis=0)
    return np.column_stack([np.maximum(columns - knot, 0.0) for knot in knots])


def _leading(scaled: FloatArray, count: int) -> FloatArray:
    """Return about the leading `count` principal directions of many columns, each of variance 1, (n, count).

    Two rounds of subspace iteration from a fixed start (Halko, Martinsson & Tropp 2011): d x d numbers are never held.
    """
    wide = np.random.default_rng(0).normal(size=(scaled.shape[1], count + 8))
    for _ in range(2):
        wide = np.linalg.qr(scaled.T @ (scaled @ wide))[0]
    left, sizes, _ = np.linalg.svd(scaled @ wide, full_matrices=False)
    kept = sizes[:count] > 1e-8 * sizes[0]
    return left[:, :count][:, kept] * np.sqrt(len(scaled))
