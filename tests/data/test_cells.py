"""What a cell says does not depend on the type it arrived in."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.data.tables.cells import column_kind, number_of, numbers, text_of, texts


@pytest.mark.parametrize(
    ("cell", "number", "text"),
    [
        (1, 1.0, "1"),
        (1.0, 1.0, "1"),
        (np.int8(1), 1.0, "1"),
        (np.float64(1.0), 1.0, "1"),
        (Decimal("1.00"), 1.0, "1"),
        ("1", 1.0, "1"),
        (" 1.0 ", 1.0, "1"),
        ("+01", 1.0, "1"),
        ("-0", 0.0, "0"),
        ("1.", 1.0, "1"),
        (".5", 0.5, "0.5"),
        (0.5, 0.5, "0.5"),
        ("0.50", 0.5, "0.5"),
        ("1e3", 1000.0, "1e3"),
        ("inf", float("inf"), "inf"),
        ("-Infinity", float("-inf"), "-Infinity"),
        (float("inf"), float("inf"), "inf"),
        (1e300, 1e300, "1e+300"),
        (True, 1.0, "True"),
        (np.False_, 0.0, "False"),
        ("true", 1.0, "True"),
        ("900000000000207009", 900000000000207009.0, "900000000000207009"),
        ("NA", None, "NA"),
        ("nan", None, "nan"),
        ("1_000", None, "1_000"),
        ("1,5", None, "1,5"),
        ("0x10", None, "0x10"),
        ("٣", None, "٣"),
        ("9" * 5000, float("inf"), "9" * 5000),
        (date(2020, 1, 2), None, "2020-01-02"),
        (1j, None, "1j"),
    ],
)
def test_what_a_cell_says(cell, number, text):
    assert number_of(cell) == number
    assert text_of(cell) == text


@given(st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text("01.+-eE aTrue").filter(str.strip)))
def test_the_text_of_a_text_is_itself(cell):
    assert text_of(text_of(cell)) == text_of(cell)


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_says_the_same_in_every_type(value):
    assert text_of(value) == text_of(float(value)) == text_of(str(value)) == text_of(f"{value}.0")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.array([1, 2]), "number"),
        (np.array([True, False]), "number"),
        (pd.array([1, None], dtype="Int64"), "number"),
        (pd.array([True, None], dtype="boolean"), "number"),
        (pd.Series([True, None, 3], dtype=object), "number"),
        (pd.Series([Decimal("1.5"), None]), "number"),
        (pd.Series(["a", None]), "text"),
        (pd.Series(["1", "2"]), "text"),
        (pd.Series([1, "a"], dtype=object), "text"),
        (pd.Series(pd.Categorical([1, 2])), "text"),
        (pd.Series(pd.Categorical(["a", None])), "text"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "date"),
        (pd.Series(pd.to_datetime(["2020-01-01"], utc=True)), "date"),
        (pd.Series(pd.to_timedelta(["1 day"])), "date"),
        (pd.Series([date(2020, 1, 1), None]), "date"),
        (pd.Series([np.nan, np.nan]), "empty"),
        (pd.Series([None, " "], dtype=object), "empty"),
        (pd.Series([[1], None]), "other"),
        (pd.Series([{"a": 1}, "x"]), "other"),
        (np.array([1j]), "other"),
    ],
)
def test_the_kind_of_a_column(column, kind):
    assert column_kind(column) == kind


def test_numbers_and_texts_of_columns():
    column = pd.Series(["1", " ", "x", "2.50", None], dtype=object)
    values, wrong = numbers(column)
    assert np.array_equal(values, [1, np.nan, np.nan, 2.5, np.nan], equal_nan=True)
    assert wrong.tolist() == [False, False, True, False, False]
    assert texts(column) == ["1", None, "x", "2.5", None]
    assert numbers(pd.array([1, None], dtype="Int64"))[0].tolist()[0] == 1.0
    assert numbers(pd.Series(pd.to_datetime(["2020-01-01"])))[1].tolist() == [True]
