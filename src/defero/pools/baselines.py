"""Whom a pool is compared with: members who were there in training and can be asked."""

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.pools.frontier import upper_hull
from defero.pools.parts import PoolParts


def compared_members(pool: PoolParts, present: BoolArray | None = None) -> IntArray:
    """Return the members that may be a baseline.

    These have scores in training and can be asked. Members who joined later have few scores, so that the best of them
    is best by luck: they count only where nobody else is left.

    Parameters
    ----------
    pool : PoolParts
    present : (J,) bool, optional
        Who can be asked at all.
    """
    here = np.ones(len(pool.expert_names), dtype=np.bool_) if present is None else present
    scored = here & (pool.n_scores > 0) & np.isfinite(pool.train_score)
    learned = scored & ~np.isin(pool.expert_names, list(pool.facts.get("joined", [])))
    for members in (learned, scored, here):
        if members.any():
            return np.flatnonzero(members)
    return np.empty(0, dtype=np.int64)


def best_single(pool: PoolParts, present: BoolArray | None = None) -> int:
    """Return the member with the highest mean score in training."""
    members = compared_members(pool, present)
    return int(members[np.nan_to_num(pool.train_score[members], nan=-1.0).argmax()])


def best_at_trade_off(
    pool: PoolParts, trade_off: float, price: FloatArray, present: BoolArray | None = None
) -> int | None:
    """Return the member with the highest score times trade-off less price in training; None where no price counts.

    Where no price was known in training, the mean of prices (n, J) stands for it.
    """
    if not np.isfinite(trade_off):
        return None
    members = compared_members(pool, present)
    seen = np.isfinite(price)
    now = np.where(seen, price, 0.0).sum(axis=0) / np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    cost = np.where(np.isfinite(pool.train_price), pool.train_price, now)[members]
    value = trade_off * pool.train_score[members] - cost
    return int(members[np.nanargmax(value)]) if np.isfinite(value).any() else None


def training_hull(pool: PoolParts, present: BoolArray | None = None) -> IntArray | None:
    """Return the zero router's members by prices and scores of the training rows; None where prices are not known."""
    members = compared_members(pool, present)
    members = members[np.isfinite(pool.train_price[members]) & np.isfinite(pool.train_score[members])]
    return members[upper_hull(pool.train_price[members], pool.train_score[members])] if members.size else None
