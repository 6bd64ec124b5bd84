"""What hard items explain of two experts' shared errors: all who meet them err together."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks import BoolArray, FloatArray

MOST = 0.5
"""No hidden difficulty is taken to explain a larger correlation: beyond it two experts are alike."""
_SMALL = 0.02
"""A typical correlation below this is as good as none; dividing by less would only blow up noise."""


@dataclass(frozen=True, eq=False)
class Products:
    """Sums over the items that two experts share, (J, J) each; the diagonals are 0.

    Attributes
    ----------
    total : of the products of both residuals
    norm : the square root of the product of their summed variances
    variance : of the products' variances, were the two independent
    """

    total: FloatArray
    norm: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, residual: FloatArray, variance: FloatArray, observed: BoolArray) -> "Products":
        """Sum residuals and variances (n, J), 0 where no answer is recorded."""
        over_shared = variance.T @ observed.astype(np.float64)  # [a, b]: of expert a, over the items shared with b
        parts = residual.T @ residual, np.sqrt(over_shared * over_shared.T), variance.T @ variance
        for part in parts:
            np.fill_diagonal(part, 0.0)
        return cls(*parts)

    @property
    def correlation(self) -> FloatArray:
        """(J, J): beyond the stated chances alone; nan where nothing is shared or nothing can vary."""
        return _ratio(self.total, self.norm)


@dataclass(frozen=True, eq=False)
class Common:
    """The correlation that two experts have as members of the pool, (J, J) each.

    Attributes
    ----------
    value : the likeliest
    most : as much as may well be, a standard deviation up in both experts
    """

    value: FloatArray
    most: FloatArray


def common_correlation(products: Products, typical: BoolArray) -> Common:
    """Estimate what hidden difficulty explains of each pair's correlation.

    Where one difficulty makes everybody err, the correlation of a and b is l_a l_b (Spearman's one factor). With r_a
    and r_b their mean correlations with all others, and g that of the others among themselves, it is r_a r_b / g.
    Means, not medians: where errors are rare most pairs share none. Nothing about a and b together enters, nor any
    pair that is not `typical` (J, J). Each r is drawn to g as far as its own noise asks for, as if r / g were spread
    by a half around 1. At most `MOST`; with fewer than two others nothing is known, and all that is seen may be
    difficulty, up to `MOST`.
    """
    total, norm, variance = (
        np.where(typical, part, 0.0) for part in (products.total, products.norm, products.variance)
    )
    with_others, over_others, noise_of = (part.sum(axis=1, keepdims=True) - part for part in (total, norm, variance))
    pool = _ratio(_among_others(total), _among_others(norm))
    noise = _ratio(noise_of, over_others**2)
    level = np.maximum(pool, 0)
    prior = (level / 2 + _SMALL) ** 2
    drawn = pool + (_ratio(with_others, over_others) - pool) * prior / (prior + noise)
    doubt = np.sqrt(prior * noise / (prior + noise))
    unknown = np.clip(np.nan_to_num(products.correlation), 0, MOST)
    value, most = (_product(row, level, unknown) for row in (drawn, drawn + doubt))
    return Common(value, most)


def _product(row: FloatArray, level: FloatArray, unknown: FloatArray) -> FloatArray:
    kept = np.maximum(row, 0)
    found = kept * kept.T / np.maximum(level, _SMALL)
    return np.where(np.isnan(found), unknown, np.minimum(found, MOST))


def _among_others(part: FloatArray) -> FloatArray:
    """Return for each pair the sum over all pairs that neither belongs to, (J, J)."""
    row = part.sum(axis=1)
    return part.sum() / 2 - (row[:, None] + row[None, :]) + part


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide; nan by (nearly) nothing."""
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 1e-9)
