"""What a cell without an answer looks like, and its number among the class numbers."""

import numpy as np

MISSING = -1


def is_missing(value: object) -> bool:
    """Tell None, NaN and pandas' NA and NaT from an answer.

    >>> [is_missing(v) for v in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if isinstance(value, float):
        return value != value
    return (
        value is None
        or (isinstance(value, np.floating) and bool(np.isnan(value)))
        or type(value).__name__ in {"NAType", "NaTType"}
    )
