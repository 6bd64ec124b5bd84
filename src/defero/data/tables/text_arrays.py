"""Columns of text as pandas keeps them, made without a Python object for each cell."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from defero.core.checks.arrays import IntArray


def text_array(texts: Any) -> Any:
    """Return the column that pandas makes of texts.

    Parameters
    ----------
    texts : (n,) array of str, or an Arrow array of text

    Examples
    --------
    >>> pd.Series(text_array(np.array(["ann", "bob"], dtype=object))).tolist()
    ['ann', 'bob']
    """
    dtype = _text_dtype()
    if dtype is None:
        return texts if isinstance(texts, np.ndarray) else texts.to_numpy(zero_copy_only=False)
    return dtype.__from_arrow__(pa.array(texts, pa.large_string()) if isinstance(texts, np.ndarray) else texts)


def text_at(values: Sequence[Any] | np.ndarray[Any, Any], idx: IntArray) -> Any:
    """Return `values[idx]`, (n,), as the column that pandas makes of it; -1 is the last value.

    >>> pd.Series(text_at(("ann", "bob", "model"), np.array([1, -1]))).tolist()
    ['bob', 'model']
    """
    labels = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if _text_dtype() is None or labels.dtype != object or not all(type(one) is str for one in labels.tolist()):
        return labels[idx]
    table = pa.array(labels, type=pa.large_string())
    return text_array(table.take(pa.array(np.where(idx < 0, idx + len(labels), idx))))


@cache
def _text_dtype() -> Any:
    """Return the type that pandas gives to texts if it keeps them in Arrow; None where they are Python objects."""
    dtype = pd.Series(["a"]).dtype
    return dtype if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow" else None
