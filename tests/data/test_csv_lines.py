"""Lines of text: what Python's csv module writes, byte for byte, of cells that no spreadsheet computes."""

import csv
import io
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.data.tables.delimited import Delimited


def csv_lines(frame, *, separator):
    """Return the rows as they are written, without the names."""
    content = io.BytesIO()
    with Delimited("text", ".text", separator=separator).writer(content, source="here") as append:
        append(frame.iloc[:0])
        start = content.tell()
        append(frame)
    return content.getvalue()[start:]


def shown(cell):
    if not isinstance(cell, str) or len(cell) < 2 or cell[0] not in "=+-@\t\r":
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell


def slow_twin(frame, separator):
    lines = io.StringIO()
    table = csv.writer(lines, delimiter=separator, lineterminator="\n")
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns]
    table.writerows([shown(cell) for cell in row] for row in zip(*columns, strict=True))
    return lines.getvalue().encode("utf-8")


cells = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(['a"b', "a,b", "a\tb", "a\nb", "", " x", "å", "=1", "-1", "-", "+a,", "@b"]),
)
numbers = st.one_of(
    st.floats(allow_nan=True), st.floats(0, 1).map(lambda p: round(p, 6)), st.sampled_from([0.0, -0.0, 1.0, 1e-5, 1e16])
)


@given(st.lists(st.tuples(cells, numbers, st.integers(-(2**60), 2**60), numbers), max_size=8), st.sampled_from(",\t;|"))
def test_the_csv_module_agrees(rows, separator):
    frame = pd.DataFrame(rows, columns=["text", "p", "row", "q"])
    frame["p"], frame["q"] = frame["p"].astype(float), frame["q"].astype(float)
    frame["row"] = frame["row"].astype("int64")
    assert csv_lines(frame, separator=separator) == slow_twin(frame, separator)


@pytest.mark.parametrize("values", [["a", "", None], [True, False], [1, "x", 2.5], [1.0, None], [math.inf, 0.1]])
def test_columns_alone_and_mixed(values):
    for frame in (pd.DataFrame({"a": values}), pd.DataFrame({"a": pd.Series(values, dtype=object), "b": 1})):
        assert csv_lines(frame, separator=",") == slow_twin(frame, ",")


def test_float32_and_categories():
    frame = pd.DataFrame({"a": np.array([0.1, 2], np.float32), "b": pd.Categorical(["x", "y,z"])})
    assert csv_lines(frame, separator=",") == slow_twin(frame, ",")
