"""Laws of skill over a table of features: each gives every case a height in [0, 1] for one expert.

A law sees ranks in (0, 1), so that it works on any table whatever the scale of its columns, and draws its own columns,
centre, direction and so on from `rng`. None of the laws is linear in the features.
"""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError

Surface = Callable[[FloatArray, np.random.Generator], FloatArray]


def rank_columns(features: FloatArray) -> FloatArray:
    """Replace each number by its rank in its column, in (0, 1); equal numbers share one, missing ones get 0.5.

    Shape (n, columns) in and out.

    >>> rank_columns(np.array([[10.0], [30.0], [20.0], [20.0], [np.nan]])).ravel().tolist()
    [0.125, 0.875, 0.5, 0.5, 0.5]
    """
    ranks = np.full(features.shape, 0.5)
    for column, values in enumerate(features.T):
        present = ~np.isnan(values)
        _, position, counts = np.unique(values[present], return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        ranks[present, column] = middle[position] / max(present.sum(), 1)
    return ranks


def ring(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know the cases at one distance from a centre, in the plane of two columns.

    Height exp(-((r - radius) / 0.12)^2 / 2), where r is the distance from the expert's own centre.
    """
    plane = _columns(ranks, 2, rng)
    centre, radius = rng.uniform(0.3, 0.7, size=2), rng.uniform(0.2, 0.45)
    distance = np.hypot(*(plane - centre).T)
    return np.asarray(np.exp(-(((distance - radius) / 0.12) ** 2) / 2))


def checkerboard(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know every second field of a board of 3 x 3, in the plane of two columns: height 0 or 1."""
    plane = _columns(ranks, 2, rng)
    field = np.floor(3 * plane).astype(np.int64).sum(axis=1) + rng.integers(2)
    return (field % 2).astype(np.float64)


def stripes(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know oblique stripes, in the plane of two columns.

    Height (1 + sin(2 pi (1.5 t + phase))) / 2, where t runs along a direction.
    """
    plane = _columns(ranks, 2, rng)
    angle, phase = rng.uniform(np.pi / 8, 3 * np.pi / 8) * rng.choice([-1, 1]), rng.random()
    along = plane @ np.array([np.cos(angle), np.sin(angle)])
    return np.asarray((1 + np.sin(2 * np.pi * (1.5 * along + phase))) / 2)


def product(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know the cases in which the product of three centred columns is positive; no column says anything alone.

    Height 1 / (1 + exp(-300 s prod_c (rank_c - 1/2))) with a sign s; of two columns where there are only two.
    """
    centred = _columns(ranks, min(3, ranks.shape[1]), rng) - 0.5
    steep = 300.0 if centred.shape[1] == 3 else 100.0
    return np.asarray(1 / (1 + np.exp(-steep * rng.choice([-1, 1]) * centred.prod(axis=1))))


SURFACES: MappingProxyType[str, Surface] = MappingProxyType(
    {"ring": ring, "checkerboard": checkerboard, "stripes": stripes, "product": product}
)
"""The laws by name."""


def _columns(ranks: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Choose columns at random."""
    n_columns = ranks.shape[1]
    if n_columns < count:
        raise InputError(f"must have at least {count} columns for this law, got {n_columns}.", argument="features")
    return ranks[:, rng.choice(n_columns, size=count, replace=False)]
