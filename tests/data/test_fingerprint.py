"""Fingerprints: the same row has the same number, whatever its type, place and process."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.errors import InputError, TableError
from defero.data.fingerprint import combined, held_out, row_fingerprints, text_fingerprints

CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "NA", "1", "01"]), st.integers(-3, 3), st.floats(-2, 2))
HASHES = st.lists(st.integers(0, 5), max_size=30).map(lambda values: np.array(values, dtype=np.uint64))


@st.composite
def frames(draw):
    n_rows, n_columns = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    cells = st.lists(CELLS, min_size=n_rows, max_size=n_rows)
    return pd.DataFrame({f"c{place}": pd.Series(draw(cells), dtype=object) for place in range(n_columns)})


@given(frames(), st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter_and_rows_move_along(frame, random):
    found = row_fingerprints(frame)
    columns, rows = list(frame.columns), list(range(len(frame)))
    random.shuffle(columns)
    random.shuffle(rows)
    assert (row_fingerprints(frame[columns]) == found).all()
    assert (row_fingerprints(frame.iloc[rows]) == found[rows]).all()
    assert combined(found[rows]) == combined(found)


@given(arrays(np.float64, (6, 3), elements=st.sampled_from([-0.0, 0.0, 1.0, 2.5, np.nan, np.inf])))
def test_an_array_and_its_frame_have_the_same_fingerprints(array):
    found = row_fingerprints(array)
    assert (row_fingerprints(pd.DataFrame(array)) == found).all()
    assert (row_fingerprints(array.astype(object)) == found).all()
    assert (row_fingerprints(array.reshape(6, 3, 1)) == found).all()


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2, 3]),
        np.array([1, 2, 3], dtype=np.int8),
        [1.0, 2.0, 3.0],
        ["1", "2", "3"],
        [" 1.0", "2e0", "03"],
        pd.Categorical([1, 2, 3]),
        pd.Categorical(["1", "2", "3"]),
        pd.array([1, 2, 3], dtype="Int64"),
        pd.array(["1", "2", "3"], dtype="string"),
        pd.Series([1, "2", 3.0], dtype=object),
    ],
)
def test_the_type_of_a_column_is_an_accident(column):
    frame = pd.DataFrame({"a": column})
    assert row_fingerprints(frame).tolist() == row_fingerprints(pd.DataFrame({"a": [1, 2, 3]})).tolist()


@pytest.mark.parametrize("blank", [None, np.nan, pd.NA, "", "  "])
def test_blank_is_blank(blank):
    frame = pd.DataFrame({"a": pd.Series(["x", blank], dtype=object)})
    assert row_fingerprints(frame).tolist() == row_fingerprints(pd.DataFrame({"a": ["x", None]})).tolist()


def test_true_and_dates_are_read_alike_from_any_type():
    assert row_fingerprints(pd.DataFrame({"a": [True, False]})).tolist() == (
        row_fingerprints(pd.DataFrame({"a": ["True", "false"]})).tolist()
    )
    days = pd.to_datetime(["2020-01-01", None])
    assert row_fingerprints(pd.DataFrame({"a": days.astype("datetime64[ns]")})).tolist() == (
        row_fingerprints(pd.DataFrame({"a": days.astype("datetime64[s]")})).tolist()
    )


def test_a_cell_belongs_to_its_column():
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 1]})
    found = row_fingerprints(frame)
    assert found[0] != found[1]
    assert (row_fingerprints(frame.rename(columns={"a": "c"})) != found).all()
    assert (row_fingerprints(frame[["a"]]) != found).all()


def test_different_rows_have_different_fingerprints():
    grid = np.stack(np.meshgrid(np.arange(100.0), np.arange(100.0), np.arange(20.0)), axis=-1).reshape(-1, 3)
    assert len(np.unique(row_fingerprints(grid))) == len(grid)
    assert len(np.unique(row_fingerprints(grid * 1e-9))) == len(grid)


def test_blocks_do_not_show():
    array = np.random.default_rng(0).normal(size=(70_001, 2))
    assert (row_fingerprints(array)[-5:] == row_fingerprints(array[-5:])).all()
    wide = np.random.default_rng(0).integers(0, 255, size=(3, 40, 50, 50)).astype(np.uint8)
    assert (row_fingerprints(wide)[2:] == row_fingerprints(wide[2:])).all()


def test_the_process_does_not_matter():
    code = (
        "import numpy as np; from defero.data.fingerprint import row_fingerprints, combined; "
        "print(combined(row_fingerprints(np.array([[1, 'x'], [None, 'é']], dtype=object))))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            text=True,
        )
        for seed in ("1", "2")
    ]
    here = combined(row_fingerprints(np.array([[1, "x"], [None, "é"]], dtype=object)))
    assert [run.stdout.strip() for run in runs] == [here, here]


def test_saved_fingerprints_stay_valid(monkeypatch):
    """Models on disk hold these numbers: a change here makes every saved model forget the rows it saw."""
    monkeypatch.setenv("DEFERO_ROWS_KEY", "00" * 32)
    frame = pd.DataFrame({"age": [61.0, None], "site": ["a", "b"]})
    assert combined(row_fingerprints(frame)) == "1eabd6015a318c97"


@given(HASHES, HASHES)
def test_held_out_is_a_multiset_difference(seen, rows):
    left = Counter(seen.tolist())
    expected = []
    for row in rows.tolist():
        expected.append(left[row] <= 0)
        left[row] -= 1
    assert held_out(seen, rows).tolist() == expected


def test_twins_dealt_to_two_parts_are_counted_right():
    rows = row_fingerprints(np.array([[1.0], [1.0], [2.0]]))
    assert held_out(rows[:1], rows).tolist() == [False, True, True]
    assert held_out(rows[:0], rows).tolist() == [True, True, True]
    assert held_out(rows, rows[:0]).tolist() == []


def test_combined_tells_data_sets_apart():
    one = np.array([1, 1, 2], dtype=np.uint64)
    assert len(combined(one)) == 16
    assert combined(one) != combined(one[1:])
    assert combined(one[:0]) != combined(one)


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match=r"rows must have two axes or more \(n, columns\), got shape \(3,\)"):
        row_fingerprints(np.zeros(3))
    with pytest.raises(TableError, match="two columns are called 'a'"):
        row_fingerprints(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_texts_have_fingerprints_of_their_own():
    found = text_fingerprints(["7", "07", "7", ""])
    assert found.dtype == np.uint64
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 3
