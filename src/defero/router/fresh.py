"""Which rows of a file are new to a team: exactly where something tells cases apart, else by what chance would do."""

from collections.abc import Callable
from dataclasses import dataclass

from defero.core.checks import BoolArray
from defero.data.fingerprint import held_out
from defero.router.seen import Fingerprints, beyond_chance


@dataclass(frozen=True)
class Fresh:
    """What is new among n rows.

    Attributes
    ----------
    rows : (n,) bool
        Not seen before.
    alike : int
        How many of them equal a row seen before in every feature, as chance makes them where values are few.
    """

    rows: BoolArray
    alike: int


def fresh_rows(
    exact: Fingerprints,
    known: Fingerprints,
    *,
    features: Fingerprints,
    used: Fingerprints,
    chance: Callable[[], float],
) -> Fresh:
    """Tell which rows are new.

    First rows that are the same beyond the features, in key or in label and answers, are taken out, on both sides.
    What is left equals a row seen before in its features alone: taken for that row where it happens more often than
    chance would have it, as when labels were corrected or cases numbered anew, and else for another case.

    Parameters
    ----------
    exact, features : (n,) fingerprints
        Of the rows: with what tells cases apart, and of the features alone.
    known, used : fingerprints
        The same of the rows seen before; `known` may hold fewer of them.
    chance : callable
        Gives the chance that two different cases have the same features; asked only where rows are shared.

    Examples
    --------
    >>> import numpy as np
    >>> exact, features = np.array([11, 12, 21], np.uint64), np.array([1, 1, 2], np.uint64)
    >>> found = fresh_rows(exact, exact[1:2], features=features, used=features[:1], chance=lambda: 0.5)
    >>> found.rows.tolist(), found.alike  # the second is the one seen; the first merely has its features
    ([True, False, True], 0)
    """
    rows = held_out(known, exact)
    left = used[held_out(features[~rows], used)]
    alike = rows.copy()
    alike[rows] = ~held_out(left, features[rows])
    n_alike = int(alike.sum())
    if n_alike and beyond_chance(n_alike, n_rows=int(rows.sum()), used=used, chance=chance):
        return Fresh(rows & ~alike, 0)
    return Fresh(rows, n_alike)
