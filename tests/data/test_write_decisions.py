"""The table of decisions: every format, and all or nothing."""

import json

import numpy as np
import pandas as pd
import pytest

from defero.core.errors import InputError, TableError
from defero.data.tables.read import read_frame
from defero.data.tables.write import write_decisions

FIRST = {"id": ["p1", "p2"], "route": np.array(["model", "dr_a"], dtype=object), "p_model": np.array([0.1, 1 / 3])}
SECOND = {"id": ["p,3"], "route": ["dr_ü"], "p_model": [0.25]}
NAMES = ["d.csv", "d.csv.gz", "d.tsv", "d.tsv.gz", "d.jsonl", "d.ndjson.gz", "d.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back(tmp_path, name):
    with write_decisions(tmp_path / name) as table:
        table.write(FIRST)
        table.write(SECOND)
    found = read_frame(tmp_path / name)
    assert found["id"].tolist() == ["p1", "p2", "p,3"]
    assert found["route"].tolist() == ["model", "dr_a", "dr_ü"]
    assert found["p_model"].tolist() == [0.1, 1 / 3, 0.25]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_decisions_give_the_same_bytes(tmp_path, name):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        with write_decisions(tmp_path / folder / name) as table:
            table.write(FIRST)
    written = (tmp_path / "one" / name).read_bytes()
    assert written == (tmp_path / "two" / name).read_bytes()
    if name.endswith(".gz"):
        assert written[4:8] == bytes(4)  # no time of writing


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_fails_leaves_the_folder_as_it_was(tmp_path, name):
    (tmp_path / name).write_text("older")

    def fail():
        with write_decisions(tmp_path / name) as table:
            table.write(FIRST)
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "older"


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet"])
def test_missing_values_are_blank(tmp_path, name):
    with write_decisions(tmp_path / name) as table:
        table.write({"id": [1, 2], "panel": [None, None], "p": np.array([np.nan, 0.5])})
        table.write({"id": [3], "panel": ["dr_a"], "p": [None]})
    found = read_frame(tmp_path / name)
    assert found["panel"].fillna("-").tolist() == ["-", "-", "dr_a"]
    assert found["p"].isna().tolist() == [True, False, True]


def test_json_holds_plain_values(tmp_path):
    cells = {
        "n": np.array([1]),
        "yes": np.array([True]),
        "odd": np.array([np.int64(3)], dtype=object),
        "who": [["a", "b"]],
    }
    with write_decisions(tmp_path / "d.jsonl") as table:
        table.write(cells)
    assert json.loads((tmp_path / "d.jsonl").read_text()) == {"n": 1, "yes": True, "odd": 3, "who": ["a", "b"]}


def test_text_holds_numbers_exactly_and_quotes_only_where_needed(tmp_path):
    with write_decisions(tmp_path / "d.csv") as table:
        table.write({"a b": [0.1, 1e-7, 1 / 3], "c": ["x y", "x,y", 'x "y"'], "d": np.array([1, 2, 3])})
    assert (tmp_path / "d.csv").read_text().splitlines() == [
        "a b,c,d",
        "0.1,x y,1",
        '1e-07,"x,y",2',
        '0.3333333333333333,"x ""y""",3',
    ]


def test_a_refusal_by_the_system_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "x" * 300)
    with pytest.raises(TableError, match=r"d\.csv: cannot be written: File name too long"):
        write_decisions(tmp_path / "d.csv").__enter__()


def test_a_series_is_taken_by_position(tmp_path):
    with write_decisions(tmp_path / "d.csv") as table:
        table.write({"a": pd.Series([1, 2], index=[7, 8]), "b": pd.Series([3, 4], index=[8, 7])})
    assert read_frame(tmp_path / "d.csv").to_dict("list") == {"a": [1, 2], "b": [3, 4]}


def test_where_it_cannot_be_written_is_said(tmp_path):
    def write(path, *chunks):
        with write_decisions(path) as table:
            for chunk in chunks:
                table.write(chunk)

    with pytest.raises(TableError, match=r"d\.csv: the folder .*none does not exist; make it first\."):
        write(tmp_path / "none" / "d.csv", FIRST)
    with pytest.raises(TableError, match=r"d\.xlsx: .*the known endings are \.csv"):
        write(tmp_path / "d.xlsx", FIRST)
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(TableError, match=r"f\.csv: is a folder; name a file to write\."):
        write(tmp_path / "f.csv", FIRST)
    with pytest.raises(TableError, match=r"d\.csv: no decisions to write"):
        write(tmp_path / "d.csv")
    with pytest.raises(InputError, match=r"every chunk must have the columns id, route, p_model, got id\."):
        write(tmp_path / "d.csv", FIRST, {"id": ["p3"]})
    with pytest.raises(InputError, match=r"every column must have the same number of rows, got \[1, 2\]"):
        write(tmp_path / "d.csv", {"id": ["p1"], "route": ["a", "b"]})
    with pytest.raises(
        TableError, match=r"d\.parquet: Parquet wants one type per column: .*; write a CSV file instead\."
    ):
        write(tmp_path / "d.parquet", {"id": [1, 2]}, {"id": ["p3"]})
    assert [path.name for path in tmp_path.iterdir()] == ["f.csv"]


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_half_a_surrogate_pair_cannot_be_written_and_is_said(tmp_path, name):
    with pytest.raises(TableError, match=r"out\.\w+: .*\\ud800"), write_decisions(tmp_path / name) as table:
        table.write({"case": np.array(["a", "\ud800"], dtype=object)})
    assert not list(tmp_path.iterdir())
