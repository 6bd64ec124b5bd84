"""Encoders of tables: pieces make one file, and another run can go on after any piece."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from defero.data.tables.formats import table_format
from defero.data.tables.read import read_frame

SIZES = [100, 1, 50, 7, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20]


def frames():
    rng = np.random.default_rng(0)
    return [
        pd.DataFrame(
            {
                "key": [f"a{i}" for i in range(n)],
                "p": rng.random(n).round(6),
                "row": np.arange(n),
                "blank": ["later"] * n if n == 50 else [None] * n,
            }
        )
        for n in SIZES
    ]


def encoded(name, *, stop=None):
    encoder, content, notes = table_format(name).encoder(source=name), b"", []
    for place, frame in enumerate(frames()):
        if place == stop:
            encoder = table_format(name).encoder(source=name)
            encoder.go_on(notes, len(content))
        piece, note = encoder.encode(frame)
        content += piece
        notes.append(note)
    return content + encoder.end()


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet"])
def test_another_run_can_go_on_after_any_piece(name, tmp_path):
    whole = encoded(name)
    assert all(encoded(name, stop=stop) == whole for stop in range(len(SIZES)))
    (tmp_path / name).write_bytes(whole)
    expected = pd.concat(frames(), ignore_index=True)
    read = read_frame(tmp_path / name)
    for column in expected.columns:
        filled = expected[column].notna()
        assert (read[column].notna() == filled).all()
        assert read[column][filled].tolist() == expected[column][filled].tolist()


def test_row_groups_are_where_the_end_of_the_file_says():
    content = encoded("t.parquet")
    file = pq.ParquetFile(io.BytesIO(content))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == SIZES
    for place, frame in enumerate(frames()):
        assert file.read_row_group(place, columns=["p"])["p"].to_pylist() == frame["p"].tolist()
        chunk = file.metadata.row_group(place).column(1)
        assert chunk.statistics.max == frame["p"].max()
    # Filters go by the statistics of row groups, and skip by their places.
    hits = pq.read_table(io.BytesIO(content), filters=[("blank", "==", "later")])
    assert len(hits) == 50
