"""Tables from files: what is read, in every format, and what is said when it cannot be."""

import gzip
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import defero.data
from defero import read_cases
from defero.core.errors import InputError, TableError
from defero.data.tables.read import NoRowsError, first_row, read_chunks, read_frame

FRAME = pd.DataFrame(
    {
        "age": [61, 48, 70, 33, 55],
        "size": [0.1, np.nan, 1e-7, 2.5, 1 / 3],
        "site": ["NA", "None", None, "Zürich", 'a "b", c'],
    }
)
NAMES = ["t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.jsonl", "t.jsonl.gz", "t.ndjson", "t.ndjson.gz", "t.parquet"]


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif ".jsonl" in path.name or ".ndjson" in path.name:
        records = frame.astype(object).where(frame.notna(), None).to_dict("records")
        text = "".join(json.dumps(record) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


def text_file(folder, text, name="cases.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_table(tmp_path, name):
    found = read_frame(write(FRAME, tmp_path / name))
    assert list(found.columns) == list(FRAME.columns)
    assert found["age"].tolist() == FRAME["age"].tolist()
    assert np.array_equal(found["size"], FRAME["size"], equal_nan=True)
    assert found["site"].isna().tolist() == FRAME["site"].isna().tolist()
    assert found["site"].dropna().tolist() == FRAME["site"].dropna().tolist()


@pytest.mark.parametrize("name", NAMES)
def test_chunks_put_together_are_the_whole(tmp_path, name):
    path = write(FRAME, tmp_path / name)
    pieces = list(read_chunks(path, rows=2))
    assert [len(piece) for piece in pieces] == [2, 2, 1]
    pd.testing.assert_frame_equal(pd.concat(pieces), read_frame(path), check_dtype=False, check_index_type=False)


def test_only_blank_cells_are_missing(tmp_path):
    path = text_file(tmp_path, 'a,b,c\n1,NA,x\n   ,nan, y \n3,"  ",None\n,null,#N/A\n')
    found = read_frame(path)
    assert found["a"].dtype.kind == "f"
    assert found["b"].fillna("-").tolist() == ["NA", "nan", "-", "null"]
    assert found["c"].tolist() == ["x", "y", "None", "#N/A"]


def test_white_space_that_is_no_space_is_blank_too(tmp_path):
    found = read_frame(text_file(tmp_path, 'a,b\n1,x\n"\u00a0",y\n3,\u2003\n'))
    assert found["a"].dropna().tolist() == [1.0, 3.0]
    assert found["b"].isna().tolist() == [False, False, True]


def test_a_word_beside_numbers_and_white_space_stays_a_word(tmp_path):
    found = read_frame(text_file(tmp_path, 'a,b\n1,x\n"\u00a0",y\nnan,z\n'))
    assert found["a"].fillna("-").tolist() == ["1", "-", "nan"]


def test_a_quotation_mark_after_a_space_opens_a_cell(tmp_path):
    found = read_frame(text_file(tmp_path, 'a, b\n1, "x, y"\n2, z\n'))
    assert found["b"].tolist() == ["x, y", "z"]


def test_names_are_stripped_and_nameless_columns_are_left_out(tmp_path):
    found = read_frame(text_file(tmp_path, ", age , site,\n0,61, x,\n1,48,y,\n"))
    assert list(found.columns) == ["age", "site"]
    assert found["site"].tolist() == ["x", "y"]


def test_blank_rows_are_left_out_and_keep_their_number(tmp_path):
    found = read_frame(text_file(tmp_path, "a,b\n1,2\n\n3,4\n,\n\n"))
    assert (found.index + first_row("cases.csv")).tolist() == [2, 4]
    found = read_frame(text_file(tmp_path, '{"a": 1}\n\n{"a": 2}\n', "cases.jsonl"))
    assert (found.index + first_row("cases.jsonl")).tolist() == [1, 3]


def test_a_blank_row_makes_no_whole_number_a_fraction(tmp_path):
    found = read_frame(text_file(tmp_path, "id,half,gap\n1,0.5,1\n\n2,1,\n\n"))
    assert [dtype.kind for dtype in found.dtypes] == ["i", "f", "f"]
    assert found["id"].tolist() == [1, 2]


def test_a_mark_at_the_start_is_no_part_of_the_first_name(tmp_path):
    assert list(read_frame(text_file(tmp_path, "\ufeffage,b\n1,2\n")).columns) == ["age", "b"]
    assert list(read_frame(text_file(tmp_path, '\ufeff{"age": 1}\n', "t.jsonl")).columns) == ["age"]


def test_columns_can_be_kept_as_written(tmp_path):
    path = text_file(tmp_path, "id,a,b\n007,1,2\n 08 ,3,4\n")
    assert read_frame(path, as_text=["id", "absent"])["id"].tolist() == ["007", "08"]
    gap = read_frame(text_file(tmp_path, 'id,a\n007,1\n"\u00a0",2\n', "gap.csv"), as_text=["id"])
    assert gap["id"].fillna("-").tolist() == ["007", "-"]
    assert [piece["id"].item() for piece in read_chunks(path, rows=1, as_text=["id"])] == ["007", "08"]


def test_columns_named_like_python_arguments(tmp_path):
    assert read_frame(text_file(tmp_path, "self,frame\nx,y\n")).iloc[0].tolist() == ["x", "y"]


def test_numbers_that_json_holds_as_text_stay_text(tmp_path):
    found = read_frame(text_file(tmp_path, '{"a": "1", "b": 1}\n{"a": " ", "b": null}\n', "t.jsonl"))
    assert found["a"].fillna("-").tolist() == ["1", "-"]
    assert found["b"].fillna(0).tolist() == [1, 0]


def test_every_json_piece_has_every_column(tmp_path):
    path = text_file(tmp_path, '{"a": 1}\n{"a": 2}\n{"a": 3, "b": "x"}\n', "t.jsonl")
    assert [list(piece.columns) for piece in read_chunks(path, rows=2)] == [["a", "b"], ["a", "b"]]


def test_parquet_keeps_a_named_index_and_whole_numbers_with_gaps(tmp_path):
    code = 900000000000207008
    frame = pd.DataFrame({"code": pd.array([code, None], dtype="Int64")}, index=pd.Index(["p1", "p2"], name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_frame(tmp_path / "t.parquet")
    assert found["id"].tolist() == ["p1", "p2"]
    assert found["code"].tolist() == [code, None]
    pd.DataFrame({"a": [1, 2]}, index=[5, 9]).to_parquet(tmp_path / "t.parquet")
    assert list(read_frame(tmp_path / "t.parquet").columns) == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "t.xlsx",
            b"x",
            r"t\.xlsx: .*the known endings are \.csv, \.csv\.gz, ",
        ),
        ("t.csv", b"", r"t\.csv: is empty\."),
        ("t.csv", b"a,b\n", r"t\.csv: has a header but no rows\."),
        ("t.csv", b"a,b\n\n,\n", r"t\.csv: has a header but no rows\."),
        ("t.jsonl", b"\n\n", r"t\.jsonl: has no rows\."),
        ("t.csv", b"\n1,2\n", r"t\.csv: row 1 is blank; it must hold the column names\."),
        ("t.csv", b"x,y,x\n1,2,3\n", r"t\.csv: row 1 has 'x' more than once; rename one of them\."),
        ("t.csv", b"x, x\n1,2\n", r"t\.csv: row 1 has 'x' more than once; rename one of them\."),
        ("t.csv", b"x;y\na;2.5\nb;3,5\n", r"t\.csv: row 3, column y: '3,5' has a decimal comma; .* decimal points"),
        ("t.csv", b"a,b\n1,2\n3,4,5\n", r"t\.csv: row 3 has 3 cells where the header has 2\."),
        ("t.csv", b"a,b\n1,2,3\n3,4,5\n", r"t\.csv: row 2 has 3 cells where the header has 2\."),
        ("t.csv", b'a,b\n1,2\n3,"4\n5,6\n', r"t\.csv: row 3 opens a quotation mark that is never closed\."),
        ("t.csv", b"a,b\n1,x\n2,caf\xe9\n", r"t\.csv: row 3 holds the byte 0xe9, which is not UTF-8; save the file as"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), r"t\.csv: row 1 holds the byte 0xff, which is not UTF-8; save the"),
        ("t.jsonl", b'{"a": "x"}\n{"a": "\xe9"}', r"t\.jsonl: row 2 holds the byte 0xe9, which is not UTF-8; save"),
        ("t.csv.gz", b"a,b\n1,2\n", r"t\.csv\.gz: cannot be read as csv: Not a gzipped file"),
        (
            "t.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9],
            r"t\.csv\.gz: cannot be read as csv: Compressed file ended",
        ),
        ("t.parquet", b"PAR1 no table PAR1", r"t\.parquet: cannot be read as parquet: "),
        ("t.jsonl", b'{"a": 1}\n\n{"a": \n', r"t\.jsonl: row 3 is not JSON: Expecting value"),
        ("t.jsonl", b"[1, 2]\n", r't\.jsonl: row 1 must be an object such as {"age": 61}, got \[1, 2\]\.'),
        ("t.jsonl", b'{"a": 1, "a": 2}\n', r"t\.jsonl: row 1 is not JSON: 'a' .*more than once"),
    ],
)
@pytest.mark.parametrize("rows", [None, 1])
def test_what_cannot_be_read_is_said(tmp_path, name, content, words, rows):
    path = text_file(tmp_path, content, name)
    with pytest.raises(TableError, match=words) as caught:
        read_frame(path) if rows is None else list(read_chunks(path, rows=rows))
    assert "\n" not in str(caught.value)


def test_the_undecodable_byte_is_found_beyond_the_parsers_first_buffer(tmp_path):
    path = text_file(tmp_path, b"a,b\n" + b"1,x\n" * 300_000 + b"2,\xfc\n")
    with pytest.raises(TableError, match="row 300002 holds the byte 0xfc"):
        read_frame(path)


def test_a_path_that_is_no_file_is_said(tmp_path):
    with pytest.raises(TableError, match=r"none\.csv: no such file\."):
        read_frame(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=r"folder\.csv: is a folder without Parquet files; name a file in it\."):
        read_frame(tmp_path / "folder.csv")


def test_two_parquet_columns_of_one_name_are_an_error(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"t\.parquet: has 'x' more than once; rename one of them\."):
        read_frame(tmp_path / "t.parquet")


def test_a_column_that_is_not_there_is_offered_its_neighbour(tmp_path):
    path = text_file(tmp_path, "age,site\n1,2\n")
    with pytest.raises(
        TableError, match=r"no column 'aeg' for the label; did you mean 'age'\? The columns are age, sit"
    ):
        read_cases(path, label="aeg", expert_names=[])


def test_rows_must_be_positive(tmp_path):
    with pytest.raises(InputError, match="rows must be at least 1, got 0"):
        next(read_chunks(text_file(tmp_path, "a\n1\n"), rows=0))


def test_recipe_and_fingerprints_load_without_pandas():
    code = (
        "import sys; import defero.data, defero.data.recipes.recipe, defero.data.fingerprint; "
        "assert 'pandas' not in sys.modules and 'pyarrow' not in sys.modules; "
        "assert set(dir(defero.data)) == set(defero.data.__all__); "
        "[getattr(defero.data, name) for name in defero.data.__all__]; assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from defero.data import nothing")


@pytest.mark.parametrize(
    "name",
    [
        "join_answers",
        "majority_labels",
        "tasks_with_decisions",
        "write_label_studio",
        "AnswerLog",
    ],
)
def test_what_reads_annotations_is_exported(name):
    assert name in defero.data.__all__
    assert getattr(defero.data, name).__name__ == name


def test_repeated_names_among_very_many_are_found_without_comparing_all_pairs(tmp_path):
    names = [f"c{number}" for number in range(100_000)]
    (tmp_path / "t.csv").write_text(",".join([*names, "c7"]) + "\n1\n")
    (tmp_path / "t.jsonl").write_text("{" + ",".join(f'"{name}":1' for name in [*names, "c7"]) + "}\n")
    start = time.process_time()
    for name in ("t.csv", "t.jsonl"):
        with pytest.raises(TableError, match=r"'c7'.* more than once"):
            read_frame(tmp_path / name)
    assert time.process_time() - start < 10  # minutes where each name is counted by itself


def test_control_characters_of_a_name_are_shown_and_not_obeyed(tmp_path):
    (tmp_path / "t.csv").write_text("a\x1b[2J,b\n1,2\n")
    with pytest.raises(TableError) as error:
        read_cases(tmp_path / "t.csv", label="c", expert_names=[])
    assert "a\\x1b[2J" in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_missing_header_row_is_suspected(tmp_path):
    path = tmp_path / "iris.csv"
    path.write_text("5.1,3.5,1.4,setosa\n4.9,3.0,1.3,virginica\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"'species'.*is the header row missing\?"):
        read_cases(path, label="species", expert_names=[])
    path.write_text("1.4,1.4,0,setosa\n4.9,3.0,1.3,virginica\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"'1\.4' more than once.*is the header row missing\?"):
        read_frame(path)
    path.write_text("0,1,2,label\n4.9,3.0,1.3,virginica\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"no column 'lable'.*did you mean 'label'\?.*label\.$"):
        read_cases(path, label="lable", expert_names=[])


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "x\ty\n1\t2\n"), ("t.tsv", "x,y\n1,2\n"), ("t.csv", "x|y\n1|2\n")]
)
def test_cells_may_be_separated_by_another_character(tmp_path, name, text):
    path = text_file(tmp_path, text.encode(), name)
    assert read_frame(path).to_dict("list") == {"x": [1], "y": [2]}


def test_semicolons_of_a_spreadsheet_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'name;size;note\n"Chen; Li";2.5;a, b\nBo;;\n')
    frame = read_frame(path)
    assert list(frame) == ["name", "size", "note"]
    assert frame["name"].tolist() == ["Chen; Li", "Bo"]
    assert frame["size"].iloc[0] == 2.5
    assert frame["note"].iloc[0] == "a, b"
    path.write_bytes(b"x;y\n")
    with pytest.raises(NoRowsError):
        read_frame(path)


@pytest.mark.parametrize("rows", [b"1;2;a\n4,5;6,5;b\n", b"4,5;6,5;b\n1;;a\n"])
def test_decimal_commas_and_names_with_commas_are_read_in_files_with_semicolons(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfage, years;x;y\n" + rows)
    frame = read_frame(path, as_text=["y"])
    assert list(frame) == ["age, years", "x", "y"]
    assert sorted(frame["age, years"]) == [1.0, 4.5]
    assert frame["x"].max() == 6.5
    assert sorted(frame["y"]) == ["a", "b"]


def test_decimal_commas_after_decimal_points_are_refused_in_every_order(tmp_path):
    path = tmp_path / "t.csv"
    for rows in (b"1.234;a\n3,5;b\n", b"3,5;a\n1.234;b\n"):
        path.write_bytes(b"x;y\n" + rows)
        for size in (1, 2):
            with pytest.raises(TableError, match="decimal comma"):
                list(read_chunks(path, rows=size))


def test_commas_separate_where_header_and_rows_say_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x;unit,y,z\n1,2,3\n")
    assert list(read_frame(path)) == ["x;unit", "y", "z"]


@pytest.mark.parametrize("again", [{"answers": True}, {}])
@pytest.mark.parametrize("column", ["truth", "ann"])
def test_two_columns_of_one_name_in_a_frame_are_an_error(column, again):
    frame = pd.DataFrame({"size": [1, 2], "truth": ["a", "b"], "ann": ["a", "a"], "item": [1, 2], "worker": ["x", "x"]})
    twice = pd.concat([frame, frame[[column]]], axis=1)
    options = {"answers": twice} if again else {"expert_names": ["ann"]}
    with pytest.raises(TableError, match=f"two columns are called '{column}'; rename one of them"):
        read_cases(frame if again else twice, label="truth", **options)


@pytest.mark.parametrize(
    ("name", "content", "row"),
    [("cases.jsonl", '{"size": 1\n', 1), ("cases.jsonl", "\n5\n", 2), ("cases.csv", "size\n1,2\n", 2)],
)
def test_a_table_of_unreadable_rows_alone_is_not_said_to_be_empty(tmp_path, name, content, row):
    path, cells = text_file(tmp_path, content, name=name), []
    assert list(read_chunks(path, on_bad=cells.append)) == []
    assert [cell.row for cell in cells] == [row]
    with pytest.raises(TableError, match=f"row {row} "):
        read_frame(path)


def test_what_is_wrong_with_the_first_data_row_is_said_with_its_number(tmp_path):
    long = "a" * 200_000
    assert read_frame(text_file(tmp_path, f"size,note\n1,{long}\n"))["note"].tolist() == [long]
    with pytest.raises(TableError, match=r"row 2 opens a quotation mark that is never closed"):
        read_frame(text_file(tmp_path, 'size,note\n"1,2\n' + "3,4\n" * 50_000))
    with pytest.raises(TableError, match=r"row 1 cannot be read"):
        read_frame(text_file(tmp_path, 'size,"note\n1,2\n' + "3,4\n" * 50_000))
