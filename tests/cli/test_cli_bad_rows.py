"""`defero route --bad-rows`: bad rows are all named at once, or left out and listed; the others are decided."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, enter, lesions, run

from defero import Study
from defero.data.tables.read import read_frame

FEES = ["--fee", "dr_a=@price", "--fee", "all=0.01"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


def cases(n):
    table = pd.concat([lesions()] * -(-n // 160), ignore_index=True).iloc[:n]
    table = table.drop(columns=[*DOCTORS, "truth"]).assign(price=0.02)
    return table.assign(case=[f"C{number}" for number in range(n)])


def spoiled(n):
    """Return a CSV with 37 bad cells of nine kinds, each in a row of its own: bytes, and row to (column, value)."""
    lines = [line.encode() for line in cases(n).to_csv(index=False).splitlines()]
    kinds = [
        ("age", b"old"), ("age", b"n/a"), ("age", b"inf"), ("age", b"1e300"), ("size_mm", b"12 mm"),
        ("price", b""), ("price", b"-2"), ("site", b"caf\xe9"), ("", b"one,too,many"),
    ]  # fmt: skip
    places = {"age": 1, "size_mm": 2, "site": 3, "price": 4}
    rows = np.linspace(2, n + 1, 37).astype(int).tolist()
    bad = {}
    for number, row in enumerate(rows):
        column, value = kinds[number % len(kinds)]
        cells = lines[row - 1].split(b",")
        if column:
            cells[places[column]] = value
        else:
            cells += [b"one", b"too"]
        lines[row - 1] = b",".join(cells)
        bad[row] = (column, value.decode("utf-8", errors="backslashreplace") if column else "")
    return b"\n".join(lines) + b"\n", bad


def check_skipped(folder, n, content, bad):
    (folder / "new.csv").write_bytes(content)
    stopped = run("route", "model", "new.csv", "--out", "decisions.csv", *FEES)
    assert stopped.code == 2
    assert "37 bad cells in 37 rows" in stopped.err
    for clue in ("'old'", "'n/a'", "'inf'", "'1e300'", "'12 mm'", "blank cells", "'-2'", "not UTF-8", "7 cells where"):
        assert clue in stopped.err
    for column in ("age", "size_mm", "price", "site"):
        assert f"column {column}" in stopped.err
    assert "--bad-rows skip" in stopped.err
    assert stopped.err.count("\n") == 1
    assert not list(folder.glob("decisions*"))
    outcome = run("route", "model", "new.csv", "--out", "decisions.csv", *FEES, "--bad-rows", "skip", "--json")
    assert outcome.code == 0, outcome.err
    decisions = read_frame("decisions.csv")
    good = [f"C{row - 2}" for row in range(2, n + 2) if row not in bad]
    assert decisions["case"].tolist() == good
    listed = read_frame("decisions.csv.bad-rows.csv", as_text=["value"]).fillna("")
    assert list(listed.columns) == ["row", "column", "value", "why"]
    assert {row: (column, value) for row, column, value in listed.iloc[:, :3].itertuples(index=False)} == bad
    values = json.loads(outcome.out)
    assert (values["bad_rows"]["cells"], values["bad_rows"]["list"]) == (37, "decisions.csv.bad-rows.csv")
    assert values["rows"] == n - 37


def test_all_bad_rows_are_named_at_once_or_left_out(folder):
    check_skipped(folder, 500, *spoiled(500))


@pytest.mark.slow
def test_bad_rows_of_a_large_file(folder):
    check_skipped(folder, 200_000, *spoiled(200_000))


def test_pieces_do_not_matter(folder, monkeypatch):
    from defero.data.tables import read

    (folder / "new.csv").write_bytes(spoiled(300)[0])
    for rows, out in ((1000, "whole.csv"), (7, "pieces.csv")):
        monkeypatch.setattr(read.read_chunks, "__kwdefaults__", {**read.read_chunks.__kwdefaults__, "rows": rows})
        assert run("route", "model", "new.csv", "--out", out, *FEES, "--bad-rows", "skip").code == 0
    assert (folder / "whole.csv").read_bytes() == (folder / "pieces.csv").read_bytes()
    # 1e300 is a text beside texts, and a number beside numbers.
    whole, pieces = (read_frame(f"{name}.csv.bad-rows.csv").drop(columns="value") for name in ("whole", "pieces"))
    pd.testing.assert_frame_equal(whole, pieces)


def test_decisions_of_good_rows_are_those_of_a_file_without_the_bad_ones(folder):
    content, bad = spoiled(120)
    (folder / "new.csv").write_bytes(content)
    cases(120).drop(index=[row - 2 for row in bad]).to_csv("clean.csv", index=False)
    for table, out in (("new.csv", "a.csv"), ("clean.csv", "b.csv")):
        assert run("route", "model", table, "--out", out, *FEES, "--bad-rows", "skip").code == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert (folder / "b.csv.bad-rows.csv").read_text() == "row,column,value,why\n"  # no list of an earlier run


def test_limits_and_answers_so_far_count_good_rows(folder):
    table = cases(40)
    table["age"] = table["age"].astype(object)
    table.loc[[3, 17], "age"] = "old"
    table.to_csv("new.csv", index=False)
    log = pd.DataFrame({"case": ["C3", "C5"], "expert": ["dr_a", "dr_b"], "answer": ["malign", "benign"]})
    log.to_csv("log.csv", index=False)
    options = ["--answers", "log.csv", "--capacity", "all=5", "--bad-rows", "skip", "--json"]
    outcome = run("route", "model", "new.csv", "--out", "decisions.csv", *options)
    assert outcome.code == 0, outcome.err
    decisions = read_frame("decisions.csv")
    assert len(decisions) == 38
    assert not decisions["case"].isin(["C3", "C17"]).any()


def test_lines_that_are_no_json_are_left_out(folder):
    records = [json.dumps(one) for one in cases(20).astype(object).where(cases(20).notna(), None).to_dict("records")]
    records[4], records[9], records[11] = '{"age": ', "[1, 2]", '{"age": 1, "age": 2}'
    with gzip.open("new.jsonl.gz", "wb") as file:
        file.write(("\n".join(records) + "\n").encode() + b'{"age": "\xff"}\n')
    stopped = run("route", "model", "new.jsonl.gz", "--out", "decisions.jsonl")
    assert stopped.code == 2
    assert "is not JSON" in stopped.err
    assert "must be an object" in stopped.err
    outcome = run("route", "model", "new.jsonl.gz", "--out", "decisions.jsonl", "--bad-rows", "skip")
    assert outcome.code == 0, outcome.err
    assert len(read_frame("decisions.jsonl")) == 17
    assert read_frame("decisions.jsonl.bad-rows.csv")["row"].tolist() == [5, 10, 12, 21]


def test_the_same_from_python(folder):
    table = cases(30).assign(age=["old", *range(30, 59)])
    routing = Study.load("model").route(table, bad_rows="skip")
    assert len(routing.to_frame()) == 29
    assert routing.bad_list.to_dict("records") == [
        {"row": 0, "column": "age", "value": "old", "why": "is not a number; leave the cell blank if it is unknown"}
    ]
    with pytest.raises(ValueError, match="bad_rows must be one of stop, skip, got 'skp'"):
        Study.load("model").route(table, bad_rows="skp")


def test_a_file_of_bad_rows_alone_is_an_error(folder):
    cases(5).assign(age="old").to_csv("new.csv", index=False)
    outcome = run("route", "model", "new.csv", "--out", "decisions.csv", "--bad-rows", "skip")
    assert outcome.code == 2
    assert "5 bad cells in 5 rows" in outcome.err
    assert not list(folder.glob("decisions*"))


def test_the_first_row_may_be_too_long(folder):
    lines = cases(20).to_csv(index=False).splitlines()
    lines[1] += ",more"
    (folder / "new.csv").write_text("\n".join(lines))
    outcome = run("route", "model", "new.csv", "--out", "decisions.csv", "--bad-rows", "skip")
    assert outcome.code == 0, outcome.err
    assert read_frame("decisions.csv")["case"].tolist() == [f"C{number}" for number in range(1, 20)]


def labelled(n=600):
    table = lesions(n, seed=8).astype(object)
    table["price"] = 0.02
    table.loc[4, "age"], table.loc[[9, 30], "dr_b"], table.loc[12, "truth"] = "old", "malignant", "?"
    return table


def test_evaluate_names_all_kinds_at_once(folder):
    labelled().to_csv("past.csv", index=False)
    outcome = run("evaluate", "model", "past.csv")
    assert outcome.code == 2
    for clue in ("4 bad cells in 4 rows", "'old'", "'malignant' (2 cells)", "'?'", "column truth", "--bad-rows skip"):
        assert clue in outcome.err
    assert not list(folder.glob("past.csv.*"))


def test_answers_that_are_no_class_alone_still_give_a_mapping(folder):
    labelled().assign(age=40, truth=lesions(600, seed=8)["truth"]).to_csv("past.csv", index=False)
    outcome = run("evaluate", "model", "past.csv")
    assert outcome.code == 2
    assert "past.rename.csv" in outcome.err
    assert "did you mean 'malign'?" in outcome.err


def test_evaluate_judges_the_good_rows(folder):
    table = labelled()
    table.loc[20, "price"] = -1
    table.to_csv("past.csv", index=False)
    table.drop(index=[4, 9, 30, 12, 20]).to_csv("clean.csv", index=False)
    fees = ["--fee", "dr_a=@price", "--fee", "all=0.01", "--json"]
    skipped = run("evaluate", "model", "past.csv", *fees, "--bad-rows", "skip")
    clean = run("evaluate", "model", "clean.csv", *fees)
    assert skipped.code == clean.code == 0, skipped.err + clean.err
    assert json.loads(skipped.out)["test"] == json.loads(clean.out)["test"]
    listed = read_frame("past.csv.bad-rows.csv")
    assert listed[["row", "column"]].values.tolist() == [
        [6, "age"], [11, "dr_b"], [14, "truth"], [22, "price"], [32, "dr_b"],
    ]  # fmt: skip
    report = run("report", "model", "past.csv", "--bad-rows", "skip", "--out", "page.html")
    assert report.code == 0, report.err


def test_of_many_cases_a_sample_is_judged(folder, monkeypatch):
    from defero.data.tables import read

    lesions(600, seed=8).to_csv("past.csv", index=False)
    records = []
    for rows in (1000, 11):
        defaults = {**read.read_chunks.__kwdefaults__, "rows": rows}
        monkeypatch.setattr(read.read_chunks, "__kwdefaults__", defaults)
        outcome = run("evaluate", "model", "past.csv", "--most-cases", "200", "--json")
        assert outcome.code == 0, outcome.err
        records.append(json.loads(outcome.out))
    assert records[0] == records[1]  # whatever the size of the pieces
    assert records[0]["rows"] == 200
    assert any("600 cases, of which a random sample of 200 cases" in note for note in records[0]["notes"])
