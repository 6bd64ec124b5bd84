"""Which rows of a file are new to a team: told by keys, by labels and answers, and by features, in doubt not new."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray
from defero.data.fingerprint import held_out
from defero.router.rows.look_alikes import most_by_chance
from defero.router.rows.seen import Fingerprints


@dataclass(frozen=True)
class CaseMarks:
    """Fingerprints of rows, of ever more of what they hold.

    Attributes
    ----------
    features : fingerprints
        Of the features alone.
    answered : fingerprints
        With labels and answers; of rows seen before there may be fewer, as not every stage keeps them.
    keyed : fingerprints, optional
        Features with keys, of every row.
    """

    features: Fingerprints
    answered: Fingerprints
    keyed: Fingerprints | None = None


@dataclass(frozen=True)
class Fresh:
    """What is new among n rows.

    Attributes
    ----------
    rows : (n,) bool
        Not seen before.
    alike : int
        How many of them have the features of a row seen before, and another key.
    renumbered : int
        How many of the others have another key than the row that they equal: more of them than chance would have it,
        so that the cases were numbered anew.
    """

    rows: BoolArray
    alike: int
    renumbered: int = 0


def fresh_rows(
    rows: CaseMarks, seen: CaseMarks, *, same_features: Callable[[], float], same_answers: Callable[[], float]
) -> Fresh:
    """Tell which rows are new.

    Rows that are the same beyond their features are taken out first, on both sides: so cases that look alike are
    told apart within one table. Of the others, those with the features of a row that is left count as seen: its label
    may have been corrected, or an answer come in. Only where keys say that they are other cases are they new, unless
    they look alike more often than chance would have it, as they do when cases were numbered anew.

    Parameters
    ----------
    rows, seen : CaseMarks
        Of n rows, and of those seen before.
    same_features, same_answers : callable
        Give the chance that two different cases have the same features, and the same label and answers; asked only
        where keys are known and rows are shared all the same.

    Examples
    --------
    >>> features, answered = np.array([1, 1, 2], np.uint64), np.array([11, 12, 21], np.uint64)
    >>> seen = CaseMarks(features[:1], answered[1:2])
    >>> never = lambda: 0.0
    >>> found = fresh_rows(CaseMarks(features, answered), seen, same_features=never, same_answers=never)
    >>> found.rows.tolist()  # the second is the one seen; the first merely has its features
    [True, False, True]
    """
    if rows.keyed is None or seen.keyed is None:
        known = held_out(seen.answered, rows.answered)
        return Fresh(known & ~_shared(rows.features, seen.features, among=known), 0)
    known = held_out(seen.keyed, rows.keyed)
    answered = _shared(rows.answered, seen.answered, among=known)
    by_chance = _expected(known, seen.answered, lambda: same_features() * same_answers(), where=answered)
    fresh = known & ~answered if answered.sum() > by_chance else known
    features = fresh & _shared(rows.features, seen.features, among=known)
    if features.sum() > _expected(fresh, seen.features, same_features, where=features):
        new, n_alike = fresh & ~features, 0
    else:
        new, n_alike = fresh, int(features.sum())
    return Fresh(new, n_alike, renumbered=int((known & ~new).sum()))


def _shared(rows: Fingerprints, seen: Fingerprints, *, among: BoolArray) -> BoolArray:
    """Tell which of some rows (n,) are among those seen, less those that the other rows account for."""
    left = seen[held_out(rows[~among], seen)]
    shared = np.zeros(len(rows), dtype=np.bool_)
    shared[np.flatnonzero(among)] = ~held_out(left, rows[among])
    return shared


def _expected(among: BoolArray, seen: Fingerprints, chance: Callable[[], float], *, where: BoolArray) -> float:
    """Return how many rows chance hardly goes beyond; nothing is asked where none is shared."""
    if not where.any():
        return 0.0
    return most_by_chance(-math.expm1(-len(seen) * chance()) * int(among.sum()))
