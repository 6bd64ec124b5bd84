"""Rows of a table as lines of text, column by column: the text that Python's csv module writes, a few times faster."""

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_TINY, _HUGE = 1e-4, 1e15
"""Outside, and for whole numbers, Python writes floats in another way than Arrow: 1e-05, 1.0."""

_FORMULA = "=+-@\t\r"
"""How cells begin that spreadsheets take for formulas."""


def csv_lines(frame: pd.DataFrame, *, separator: str) -> bytes:
    r"""Return the rows as lines in UTF-8, missing cells empty.

    >>> csv_lines(pd.DataFrame({"who": ["ann", 'b "x", c'], "p": [0.25, 1.0]}), separator=",")
    b'ann,0.25\n"b ""x"", c",1.0\n'
    """
    if not len(frame):
        return b""
    texts = [_texts(frame[name], separator=separator, alone=frame.shape[1] == 1) for name in frame.columns]
    lines = pc.binary_join_element_wise(*texts, _text(separator))
    whole = pc.binary_join_element_wise(lines, _text(""), _text("\n"))
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.combine_chunks()
    offsets, data = whole.buffers()[1:]
    ends = np.frombuffer(offsets, dtype=np.int64)[[whole.offset, whole.offset + len(whole)]]
    content: bytes = data[int(ends[0]) : int(ends[1])].to_pybytes()
    return content


def _text(text: str) -> Any:
    return pa.scalar(text, type=pa.large_string())


def _texts(column: "pd.Series[Any]", *, separator: str, alone: bool) -> Any:
    """Return the cells of a column as an Arrow array of text."""
    if pd.api.types.is_integer_dtype(column.dtype) and not (alone and column.hasnans):
        return pc.fill_null(pa.array(column).cast(pa.large_string()), "")
    values = column.to_numpy()
    if values.dtype == np.float64 and not alone:
        return _floats(values)
    texts = None if alone else _plain_texts(values)
    if texts is not None and not pc.any(pc.match_substring_regex(texts, f'[{separator}"\r\n]|^[=+@\t-]')).as_py():
        return texts
    cells = column.astype(object).where(column.notna(), None).tolist() if column.hasnans else column.tolist()
    return pa.array([_cell(cell, separator=separator, alone=alone) for cell in cells], type=pa.large_string())


def _plain_texts(values: Any) -> Any:
    """Return the cells as an Arrow array if all are text or missing; None otherwise."""
    if values.dtype != object:
        return None
    try:
        texts = pa.array(values)
    except pa.ArrowException:  # text beside numbers
        return None
    return pc.fill_null(texts.cast(pa.large_string()), "") if pa.types.is_string(texts.type) else None


def _floats(values: Any) -> Any:
    """Return floats as Python writes them."""
    texts = pc.fill_null(pa.array(values, from_pandas=True).cast(pa.large_string()), "")
    size = np.abs(values)
    with np.errstate(invalid="ignore"):
        odd = ~((size >= _TINY) & (size < _HUGE) & (values != np.rint(values)) | (values != values))
    if not odd.any():
        return texts
    by_hand = [repr(number) for number in values[odd].tolist()]
    return pc.replace_with_mask(texts, pa.array(odd), pa.array(by_hand, type=pa.large_string()))


def _cell(cell: Any, *, separator: str, alone: bool) -> str:
    """Return one cell as the csv module writes it; one that is empty is quoted where it is alone in its line."""
    line = io.StringIO()
    text = without_formula(cell) if isinstance(cell, str) else cell
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow([text] if alone else [text, ""])
    return line.getvalue().removesuffix("\n" if alone else f"{separator}\n")


def without_formula(text: str) -> str:
    """Return a text that a spreadsheet shows instead of computing it: with an apostrophe before, if it needs one.

    >>> without_formula("=1+1"), without_formula("-1.5"), without_formula("-"), without_formula("dr_a")
    ("'=1+1", '-1.5', '-', 'dr_a')
    """
    return f"'{text}" if _is_formula(text) else text


def as_meant(text: str) -> str:
    """Return the text that `without_formula` was given.

    >>> as_meant("'=1+1"), as_meant("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    if len(text) < 2 or text[0] not in _FORMULA:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
