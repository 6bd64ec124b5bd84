"""Expected prices of a call, learned from past ones."""

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.estimators.pool.pool_data import PoolData
from defero.estimators.pool.residual_ridge import fit_ridge
from defero.estimators.pool.table_of_means import fit_table
from defero.pools.models import LinearPart


def fit_prices(data: PoolData, prices: FloatArray | None) -> tuple[LinearPart | None, BoolArray]:
    """Return the model of prices and which members have one; a price that never changes is kept as it is.

    Parameters
    ----------
    data : PoolData
    prices : (n, J), optional
        NaN where unknown.
    """
    if prices is None:
        return None, np.zeros(data.n_members, dtype=np.bool_)
    priced = np.isfinite(prices)
    known: BoolArray = np.asarray(priced.any(axis=0))
    if not known.any():
        return None, known
    low = np.where(priced, prices, np.inf).min(axis=0)
    high = np.where(priced, prices, -np.inf).max(axis=0)
    fixed = known & (low == high)
    weights, intercept = np.zeros((data.features.shape[1], data.n_members)), np.zeros(data.n_members)
    intercept[fixed] = low[fixed]
    varying = np.flatnonzero(known & ~fixed)
    if varying.size:
        unit = high[varying]  # above low, which is at least 0
        relative = prices[:, varying] / unit
        table = fit_table(data.features, relative, data.categories)
        ridge = fit_ridge(data.features, relative - table.predict(data.features), data.fold, data.others, data.scale)
        weights[:, varying] = (table.weights + ridge.weights) * unit
        intercept[varying] = (table.intercept + ridge.intercept) * unit
    return LinearPart(weights, intercept), known
