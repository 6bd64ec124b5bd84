"""Cells of text files: white space around them dropped, blank ones missing."""

from collections.abc import Sequence

import pandas as pd


def tidied(frame: pd.DataFrame, *, as_text: Sequence[str] = ()) -> pd.DataFrame:
    """Return the frame with its text columns stripped and their blank cells missing.

    A column that was text only because of cells of white space becomes numbers, unless named in `as_text`.

    >>> tidied(pd.DataFrame({"a": ["1", " "], "b": [" x ", "NA"]})).to_dict("list")
    {'a': [1.0, nan], 'b': ['x', 'NA']}
    """
    result = frame.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.StringDtype) or column.dtype == object:
            result[name] = _tidied(column, keep_text=name in as_text)
    return result


def _tidied(column: "pd.Series[str]", *, keep_text: bool) -> "pd.Series[str] | pd.Series[float]":
    if isinstance(column.dtype, pd.StringDtype):
        stripped = column.str.strip()
        stripped = stripped.mask(stripped == "")
    else:
        stripped = column.map(lambda cell: (cell.strip() or None) if isinstance(cell, str) else cell)
    if keep_text or stripped.isna().sum() == column.isna().sum():
        return stripped
    try:
        return pd.to_numeric(stripped)
    except (ValueError, TypeError):
        return stripped
