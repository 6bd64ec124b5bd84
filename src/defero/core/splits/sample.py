"""A sample of rows, the same whenever it is drawn."""

import numpy as np

from defero.core.checks.arrays import IntArray


def sample_rows(n_rows: int, most: int) -> IntArray:
    """Return at most `most` of the row numbers, ascending, drawn at random with a seed of its own.

    Every second row would be one half of a table that alternates, such as left eye and right eye.

    Examples
    --------
    >>> sample_rows(3, 5).tolist(), len(sample_rows(1_000, 10))
    ([0, 1, 2], 10)
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
