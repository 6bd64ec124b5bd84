"""Disjoint parts of a table's rows."""

import math

import numpy as np

from defero.core.checks import IntArray
from defero.core.errors import InputError


def split_rows(strata: IntArray, fractions: tuple[float, ...], *, rng: np.random.Generator) -> tuple[IntArray, ...]:
    """Deal the rows out to parts of the given sizes, in the same proportion within each stratum.

    The first part gets at least one row of each stratum, so that a model fitted on it knows every class.

    Parameters
    ----------
    strata : (n,) int
        The class of each row.
    fractions : sequence of float
        Sizes of the parts; they add up to 1.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of (n_part,) int arrays, sorted; together they hold every row once.

    >>> first, second = split_rows(np.array([0, 0, 0, 0, 1]), (0.5, 0.5), rng=np.random.default_rng(0))
    >>> sorted([*first.tolist(), *second.tolist()])
    [0, 1, 2, 3, 4]
    """
    if not fractions or any(not 0 < part <= 1 for part in fractions) or not math.isclose(sum(fractions), 1.0):
        raise InputError(
            f"fractions must be positive and add up to 1, got {', '.join(f'{part:g}' for part in fractions) or 'none'} "
            f"(sum {sum(fractions):g})."
        )
    parts: list[list[IntArray]] = [[] for _ in fractions]
    for stratum in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == stratum))
        cuts = np.floor(np.cumsum(fractions)[:-1] * len(rows) + rng.random()).astype(np.int64)
        cuts = np.clip(cuts, 1, len(rows))
        for part, chunk in zip(parts, np.split(rows, cuts), strict=True):
            part.append(chunk)
    return tuple(np.sort(np.concatenate(part)) if part else np.empty(0, np.int64) for part in parts)
