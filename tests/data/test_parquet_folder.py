"""A folder of Parquet files is one table: its files in order, and the columns that subfolders name."""

import numpy as np
import pandas as pd
import pytest

from defero.core.errors import TableError
from defero.data.tables.read import read_chunks, read_frame


@pytest.fixture
def folder(tmp_path):
    for year, site, n in ((2023, "north wing", 5), (2024, "north wing", 1), (2024, "south", 9)):
        own = tmp_path / "cases" / f"year={year}" / f"site={site.replace(' ', '%20')}"
        own.mkdir(parents=True)
        for part in range(2):
            values = np.arange(n) + 100.0 * part + year
            pd.DataFrame({"x": values, "y": "a"}).to_parquet(own / f"part-{part}.parquet", row_group_size=3)
    (tmp_path / "cases" / "_temporary").mkdir()
    (tmp_path / "cases" / "_temporary" / "half.parquet").write_bytes(b"half a file")
    return tmp_path / "cases"


def test_files_are_one_table(folder):
    frame = read_frame(folder)
    assert list(frame.columns) == ["x", "y", "year", "site"]
    assert len(frame) == 30
    assert frame.index.tolist() == list(range(30))
    assert frame["year"].tolist() == [2023] * 10 + [2024] * 20
    assert frame["site"].tolist() == ["north wing"] * 12 + ["south"] * 18


@pytest.mark.parametrize("rows", [1, 2, 4, 100])
def test_pieces_are_the_table_and_have_the_columns_that_are_wanted(folder, rows):
    whole, frames = read_frame(folder), list(read_chunks(folder, rows=rows, columns=["x", "year"]))
    read = pd.concat(frames)
    pd.testing.assert_series_equal(read["x"], whole["x"])
    assert "y" not in read.columns
    assert read.index.tolist() == list(range(30))
    assert max(map(len, frames)) <= rows


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    with pytest.raises(TableError, match="is a folder without Parquet files"):
        read_frame(tmp_path)


def test_a_column_must_not_be_twice(folder):
    path = folder / "year=2024" / "site=south" / "more.parquet"
    pd.DataFrame({"x": [1.0], "y": ["a"], "site": ["east"]}).to_parquet(path)
    with pytest.raises(TableError, match=r"more\.parquet: the column site is in the file and in the name"):
        read_frame(folder)
