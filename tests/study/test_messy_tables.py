"""Tables as people have them: a wrong argument or an odd label ends in one sentence, or is read as it is meant."""

import numpy as np
import pandas as pd
import pytest

from defero import InputError, Study, read_cases
from defero.core.wording import join_names
from defero.data.answers.class_codes import BadAnswersError
from defero.data.answers.spellings import read_rename
from defero.data.tables.bad_rows import BadCell, BadCells
from defero.decide.terms import Terms

ASK = {"label": "truth", "expert_names": ["al"]}


def cases(n=40, **columns):
    return pd.DataFrame({"size": range(n), "truth": [0, 1] * (n // 2), "al": [0, 1] * (n // 2), **columns})


@pytest.mark.parametrize("table", [None, [[1, 2]], {"a": [1]}, np.ones((3, 3)), pd.Series([1, 2])])
def test_a_table_that_is_neither_a_path_nor_a_frame_is_told(table):
    with pytest.raises(InputError, match=rf"must be a path or a DataFrame, got {type(table).__name__}"):
        read_cases(table, **ASK)


def test_names_of_columns_may_be_numbers():
    table = pd.DataFrame(np.column_stack([np.arange(40), np.arange(40) % 2, np.arange(40) % 2]))
    read = read_cases(table, label=1, expert_names=[2])
    assert (read.table.expert_names, list(read.table.features)) == (("2",), ["0"])
    assert len(Study(read_cases(table, label=1, expert_names=[]), groups=0, random_state=np.int64(0)).parts) == 4


@pytest.mark.parametrize("seed", ["one", -1, 2**32, 1.5, None])
def test_a_seed_that_is_no_number_is_told(seed):
    with pytest.raises(InputError, match=r"random_state must be a whole number from 0 to 4294967295, got "):
        Study(read_cases(cases(), **ASK), random_state=seed)


def test_labels_that_blanks_made_float_numbers_are_whole_numbers_again(tmp_path):
    table = cases()
    table.loc[[3, 9], "truth"] = None
    assert read_cases(table, **ASK).table.classes.tolist() == [0, 1]
    assert read_cases(table, **ASK).table.classes.dtype.kind == "i"
    cases(truth=["0", "1.0", "1", "0"] * 10).to_csv(tmp_path / "a.csv", index=False)
    assert read_cases(tmp_path / "a.csv", **ASK).table.classes.tolist() == [0, 1]
    assert read_cases(tmp_path / "a.csv", **ASK).table.classes.dtype.kind == "i"


def test_a_mapping_without_its_columns_is_told(tmp_path):
    cases().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match=r"rename='.*a\.csv': needs the columns from and to, got size, truth, al\."):
        read_rename(tmp_path / "a.csv")


def test_one_spelling_in_labels_and_answers_is_counted_as_cells():
    table = cases(truth=["yes", "no"] * 20, al=["yes", "no"] * 20)
    with pytest.raises(BadAnswersError) as caught:
        read_cases(table, **ASK, classes=["0", "1"])
    assert "'yes': 40 cells, first in row 0, column truth" in str(caught.value)


@pytest.mark.parametrize("log", [False, True])
def test_answers_that_are_never_a_label_ask_for_the_right_column(log):
    table, options = cases(item=range(40), al=["yes", "no"] * 20), ASK
    if log:
        answers = pd.DataFrame({"item": range(40), "worker": "al", "answer": table["al"]})
        table, options = table.drop(columns="al"), {"label": "truth", "answers": answers}
    with pytest.raises(BadAnswersError, match=r"No answer is one of the labels; is label the right column\?"):
        read_cases(table, **options)


def test_a_capacity_without_names_is_told():
    study = Study(read_cases(cases(80), **ASK), random_state=0)
    study.fit(net="linear", loss="softmax")
    with pytest.raises(InputError, match=r"capacity must be \{name: most\}.*such as \{'al': 10\}, got 10"):
        study.route(cases(6), terms=Terms(capacity=10))


def test_a_name_with_a_comma_is_quoted_in_a_list():
    assert join_names(["Chen, Li", "bo", "1,200"]) == '"Chen, Li", bo, 1,200'


def test_many_bad_cells_are_named_by_the_most_frequent_spellings():
    bad = BadCells()
    bad.add(BadCell(row, "size", f"{row % 14},5", "is not a number") for row in range(30))
    message = str(bad.error("t.csv"))
    assert "column size: '0,5' (3 cells), '1,5' (3 cells), '2,5' (2 cells)" in message
    assert "'7,5' (2 cells) and 12 other cells are not numbers, first in row 0" in message
    assert message.count(",5'") == 8


def test_a_newcomer_whose_name_is_like_that_of_an_expert_is_told():
    study = Study(read_cases(cases(80), **ASK), random_state=0)
    study.fit(net="linear", loss="softmax")
    newcomer = study.add_expert("Al", cases(40, size=range(100, 140), Al=[0, 1] * 20))
    assert any("the experts al, Al may be one person" in note for note in newcomer.notes)
    other = study.add_expert("bo", cases(40, size=range(200, 240), bo=[0, 1] * 20))
    assert not any("one person" in note for note in other.notes)
