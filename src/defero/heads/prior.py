"""HeadPrior: how experts' heads are spread over the population, and so what is known of somebody before they answer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, float_matrix, frozen
from defero.core.errors import InputError


def category_groups(phi: FloatArray) -> IntArray:
    """Give each feature a number, (d,): neighbours that code one category get the same, any other feature its own.

    Such neighbours are 0 or 1 and one of them is 1 in each row. Who is strong in one category of a column may be joined
    by somebody strong in another one, in which the known experts are all alike.

    >>> category_groups(np.array([[0.3, 1, 0, 0, 1], [0.8, 0, 1, 0, 1], [0.1, 0, 0, 1, 0]])).tolist()
    [0, 1, 1, 1, 2]
    """
    d = phi.shape[1]
    number = np.arange(d)
    binary = ((phi == 0) | (phi == 1)).all(axis=0)
    first = 0
    while len(phi) and first < d:
        total, last = np.zeros(len(phi)), first
        while last < d and binary[last] and total.min() < 1 and total.max() <= 1:
            total, last = total + phi[:, last], last + 1
        if total.min() == 1 == total.max():
            number[first:last] = first
            first = last
        else:
            first += 1
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def given_groups(groups: ArrayLike, *, n_features: int) -> IntArray:
    """Return groups as somebody gave them, numbered, (d,)."""
    given = np.asarray(groups)
    if given.shape != (n_features,):
        raise InputError(
            f"must have {n_features} entries, one per column of phi, got shape {given.shape}.", argument="groups"
        )
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class HeadPrior:
    """Heads w_j ~ N(mean, diag(spread^2)) on scaled features, the mean itself known up to `mean_covariance`.

    There are d weights: that of the constant first, then those of d - 1 features.

    Attributes
    ----------
    centre, scale : (d - 1,)
        Features enter as (phi - centre) / scale.
    mean : (d,)
    spread : (d,)
        How far an expert's weight is expected from the mean; 0 where experts do not differ.
    mean_covariance : (d, d)

    Examples
    --------
    >>> prior = HeadPrior(np.array([5.0]), np.array([2.0]), np.zeros(2), np.array([1.0, 0.0]), np.zeros((2, 2)))
    >>> prior.design(np.array([[9.0]])).tolist()
    [[1.0, 2.0]]
    """

    centre: FloatArray
    scale: FloatArray
    mean: FloatArray
    spread: FloatArray
    mean_covariance: FloatArray

    def __post_init__(self) -> None:
        d = len(self.mean)
        shapes = ((d - 1,), (d - 1,), (d,), (d,), (d, d))
        for field, shape in zip(fields(self), shapes, strict=True):
            value = getattr(self, field.name)
            if value.shape != shape or not np.isfinite(value).all():
                raise InputError(
                    f"must be finite numbers of shape {shape}, got shape {value.shape}.", argument=field.name
                )
            object.__setattr__(self, field.name, frozen(value))
        if self.scale.min(initial=1.0) <= 0 or self.spread.min() < 0:
            raise InputError("must be positive and spread not negative, for each feature.", argument="scale")

    @property
    def n_features(self) -> int:
        """How many features there are beside the constant, d - 1."""
        return len(self.centre)

    def covariance(self) -> FloatArray:
        """Return the covariance of an unknown expert's head, diag(spread^2) + mean_covariance, (d, d)."""
        return np.diag(self.spread**2) + self.mean_covariance

    def design(self, phi: ArrayLike) -> FloatArray:
        """Return scaled features behind a column of ones, (n, d)."""
        matrix = float_matrix("phi", phi)
        if matrix.shape[1] != self.n_features:
            raise InputError(
                f"must have the {self.n_features} columns that the prior was fitted on, got {matrix.shape[1]}.",
                argument="phi",
            )
        return np.column_stack([np.ones(len(matrix)), (matrix - self.centre) / self.scale])

    def arrays(self) -> dict[str, FloatArray]:
        """Return what a model folder keeps, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "HeadPrior":
        """Return the prior that `arrays()` described."""
        try:
            return cls(**{field.name: np.asarray(arrays[field.name], dtype=np.float64) for field in fields(cls)})
        except (IndexError, KeyError, TypeError) as error:
            raise InputError(
                f"must be what arrays() returns, got something else: {error!r}.", argument="arrays"
            ) from error


def scaling(phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of each feature, 1 for one that never changes.

    >>> scaling(np.array([[1.0, 7.0], [3.0, 7.0]]))
    (array([2., 7.]), array([1., 1.]))
    """
    if not len(phi):
        return np.zeros(phi.shape[1]), np.ones(phi.shape[1])
    centre, scale = phi.mean(axis=0), phi.std(axis=0)
    # Rounding leaves a constant column a standard deviation of 1e-16 or so, by which nothing should be divided.
    still = scale <= 1e-12 * np.maximum(np.abs(centre), 1.0)
    return centre, np.where(still, 1.0, scale)
