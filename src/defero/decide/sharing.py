"""Sharing work: cases that several experts would settle about as well are shared among these, evenly.

Without it one of ten equal experts gets a thousand cases because of the fourth decimal. Who gets a case depends on the
case alone, by a hash of it: not on the order of the cases, nor on that of the experts.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.order import HashArray, mixed

ALIKE = 0.002
"""Expected costs that differ by less than this share of an error count as equal."""


class Sharing(NamedTuple):
    """What tells cases apart, and experts who are equally good.

    Attributes
    ----------
    cases : callable
        From the numbers of some cases to a hash of each.
    fees : (J,) or (n, J), optional
        Of equally good experts the cheapest share; None where fees are counted already.
    """

    cases: Callable[[IntArray], HashArray]
    fees: FloatArray | None = None


def shared(
    alike: BoolArray, expert: IntArray, sharing: Sharing, *, expert_names: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """Return who decides each item, (n,), and among how many it was shared, (n,): 1 where there was nothing to share.

    Parameters
    ----------
    alike : (n, J) bool
        Who is as good as the best; nobody where the item is not asked about.
    expert : (n,) int
        Who decides otherwise.

    Examples
    --------
    >>> everybody = np.ones((6, 2), dtype=np.bool_)
    >>> by_number = Sharing(lambda rows: rows.astype(np.uint64))
    >>> who, n_alike = shared(everybody, np.zeros(6, dtype=np.int64), by_number, expert_names=("ann", "bob"))
    >>> sorted(who.tolist()), n_alike.tolist()
    ([0, 0, 0, 1, 1, 1], [2, 2, 2, 2, 2, 2])
    """
    n_alike = _counts(alike)
    rows = np.flatnonzero(n_alike > 1)
    if rows.size and sharing.fees is not None:
        fees = np.broadcast_to(np.nan_to_num(sharing.fees, nan=np.inf), alike.shape)[rows]
        some = alike[rows]
        cheapest = some & (fees <= np.where(some, fees, np.inf).min(axis=1, keepdims=True))
        alike = alike.copy()
        alike[rows] = cheapest
        n_alike = _counts(alike)
        expert = np.where(n_alike == 1, alike.argmax(axis=1), expert)
        rows = np.flatnonzero(n_alike > 1)
    n_alike = np.maximum(n_alike, 1)
    if rows.size:
        by_name = np.argsort(expert_names, kind="stable")
        place = (mixed(sharing.cases(rows)) % n_alike[rows].astype(np.uint64)).astype(np.int64)
        expert = expert.copy()
        expert[rows] = by_name[(alike[rows][:, by_name].cumsum(axis=1) > place[:, None]).argmax(axis=1)]
    return expert, n_alike


def _counts(mask: BoolArray) -> IntArray:
    """Return how many of each row are True, (n,): a product, which short rows are summed faster by."""
    return (mask @ np.ones(mask.shape[1], dtype=np.float32)).astype(np.int64)


def near_best(value: FloatArray, least: FloatArray) -> BoolArray:
    """Return who is worth at least so much, (n, J), from values (n, J) and the least (n,); nobody where that is nan.

    Who cannot be asked is worth -inf, and never among them.
    """
    with np.errstate(invalid="ignore"):
        alike: BoolArray = (value >= least[:, None]) & (value > -np.inf)
    return alike
