"""Columns of text made from Arrow arrays are those that pandas makes of lists."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from defero.study.routing import decisions
from defero.study.routing.decisions import text_array, text_at

TEXTS = np.array(["", "ann", "é; 漢", "=1"], dtype=object)
IDX = np.array([3, 0, -1, 2, 2, 1])


@pytest.fixture(params=["as pandas does", "as Python objects"])
def storage(request, monkeypatch):
    """Run with the texts of this pandas, and with those of a pandas that keeps Python objects."""
    if request.param == "as Python objects":
        monkeypatch.setattr(decisions, "TEXT", np.dtype(object))
    return request.param


def same(column, values, storage):
    expected = pd.Series(values) if storage == "as pandas does" else pd.Series(values, dtype=object)
    made = pd.DataFrame({"texts": column})["texts"]
    pd.testing.assert_series_equal(made, expected, check_names=False, check_dtype=storage == "as pandas does")


def test_texts_are_the_column_that_pandas_makes_of_them(storage):
    same(text_array(TEXTS), TEXTS.tolist(), storage)
    same(text_array(pa.array(TEXTS, pa.string())), TEXTS.tolist(), storage)


def test_texts_by_their_numbers(storage):
    same(text_at(tuple(TEXTS), IDX), TEXTS[IDX].tolist(), storage)


@pytest.mark.parametrize("labels", [np.array([3, 5, 7, 9]), np.array([True, "a", 2.5, None], dtype=object)])
def test_labels_that_are_no_texts_keep_their_type(labels):
    chosen = text_at(labels, IDX)
    assert isinstance(chosen, np.ndarray)
    assert chosen.tolist() == labels[IDX].tolist()
    assert chosen.dtype == labels.dtype
