"""Values that mean none: in numbers, categories and texts, in files with types and without, in exports, not in ids."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import Study, read_cases
from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.data.table_spec import TableSpec
from defero.data.tables.cells import BlankCells
from defero.team.facts import FitFacts

CELLS = st.sampled_from(["n/a", " n/a ", "-9", "-9.0", "1.5", "2", "back", "", None])


def means_none(cell):
    """The slow twin: compare a cell with n/a and with the number -9."""
    text = "" if cell is None else str(cell).strip()
    try:
        return text == "n/a" or float(text) == -9
    except ValueError:
        return False


@given(st.lists(CELLS, min_size=1, max_size=12))
def test_the_mask_is_that_of_the_slow_twin(cells):
    assert BlankCells.of(["n/a", -9]).mask(cells).tolist() == [means_none(cell) for cell in cells]


def test_numbers_are_masked_in_arrays_of_numbers():
    assert BlankCells.of(["-9", "n/a"]).mask(np.array([1, -9, 3])).tolist() == [False, True, False]
    assert BlankCells.of(["-9"]).mask(np.array([np.nan, -9.0])).tolist() == [False, True]


def test_a_column_with_only_numbers_left_becomes_numbers():
    frame = pd.DataFrame({"age": ["30", "n/a", "41"], "code": ["007", "n/a", "008"], "site": ["arm", "n/a", "leg"]})
    read = BlankCells.of(["n/a"]).apply(frame, is_text=True, as_text=["code"])
    assert read["age"].tolist()[::2] == [30.0, 41.0]
    assert read["age"].dtype.kind == "f"
    assert read["code"].dropna().tolist() == ["007", "008"]
    assert read["site"].isna().tolist() == [False, True, False]
    assert frame["age"].tolist() == ["30", "n/a", "41"], "the argument is not changed"


def test_numbers_that_a_typed_file_holds_as_text_stay_text():
    frame = pd.DataFrame({"code": ["30", "n/a"], "mixed": pd.Series([1.5, "n/a"], dtype=object)})
    read = BlankCells.of(["n/a"]).apply(frame, is_text=False)
    assert read["code"].dropna().tolist() == ["30"]
    assert (read["mixed"].dtype.kind, read["mixed"].isna().tolist()) == ("f", [False, True])


def test_dates_categories_and_other_columns_stay():
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-05-01", None]), "case": ["n/a", "2"], "site": ["n/a", "arm"]})
    frame["site"] = frame["site"].astype("category")
    read = BlankCells.of(["n/a"]).without("case", None).apply(frame)
    assert read["day"].equals(frame["day"])
    assert read["case"].tolist() == ["n/a", "2"]
    assert read["site"].isna().tolist() == [True, False]


def test_a_text_is_refused():
    with pytest.raises(InputError, match="blank"):
        BlankCells.of("n/a")


@pytest.mark.parametrize("write", ["csv", "jsonl", "parquet"])
def test_every_format_reads_the_value_as_blank(tmp_path, write):
    rng = np.random.default_rng(0)
    truth = rng.choice(["no", "yes"], 60)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 60).round(1), "truth": truth, "ann": truth})
    marked = frame.astype({"age": object})
    marked.loc[4:9, "age"] = "unknown"
    marked.loc[3, "ann"] = "unknown"
    path = tmp_path / f"cases.{write}"
    if write == "csv":
        marked.to_csv(path, index=False)
    elif write == "jsonl":
        marked.to_json(path, orient="records", lines=True)
    else:
        marked.astype({"age": str}).assign(age=frame["age"].where(~frame.index.isin(range(4, 10)), -9)).to_parquet(path)
    values = ["unknown"] if write != "parquet" else ["unknown", "-9"]
    cases = read_cases(path, label="truth", expert_names=["ann"], blank=values)
    assert cases.table.features["age"].isna().tolist() == [4 <= row <= 9 for row in range(60)]
    assert cases.table.features["age"].dtype.kind == "f"
    assert np.flatnonzero(~cases.table.observed[:, 0]).tolist() == [3]


def test_fields_of_an_export_are_read_so_too(tmp_path):
    def task(number):
        choice = {"choices": ["yes" if number % 2 else "no"]}
        answer = {"from_name": "q", "to_name": "t", "type": "choices", "value": choice}
        annotations = [{"completed_by": who, "result": [answer], "ground_truth": who == 9} for who in (1, 9)]
        return {"id": number, "data": {"age": "n/a" if number == 3 else number / 2}, "annotations": annotations}

    path = tmp_path / "export.json"
    path.write_text(json.dumps([task(number) for number in range(1, 9)]))
    features = read_cases(path, blank=["n/a"]).table.features
    assert features["age"].isna().tolist() == [row == 2 for row in range(8)]
    assert features["age"].dtype.kind == "f"


def test_facts_remember_values_and_spellings():
    facts = FitFacts(spec=TableSpec(blank=("n/a", "-9"), rename={"Benign": "benign", "?": ""}))
    assert unpack(FitFacts, pack(facts)) == facts


def test_a_team_in_python_remembers_them(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.choice(["no", "yes"], 80)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 80), "truth": truth, "ann": truth}).astype({"age": object})
    frame.loc[5, "age"] = "n/a"
    study = Study(read_cases(frame, label="truth", expert_names=["ann"], blank=["n/a"]), random_state=0)
    study.fit("linear")
    study.save(tmp_path / "model")
    loaded = Study.load(tmp_path / "model")
    new = pd.DataFrame({"age": ["n/a", 41.0]})
    plain = pd.DataFrame({"age": [None, 41.0]})
    assert loaded.route(new).to_frame().equals(loaded.route(plain).to_frame())


def test_a_value_may_be_written_in_another_way():
    assert BlankCells.of(["07.0"]).mask(["7", "07", "70"]).tolist() == [True, True, False]
