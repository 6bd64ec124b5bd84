"""Wide tables: labels and answers in one type, roles of columns, and every complaint's words."""

import json

import numpy as np
import pandas as pd
import pytest

from defero import read_cases
from defero.core.errors import InputError, TableError
from defero.data.tables.wide import row_keys

CASES = """id,truth,dr_a,dr_b,age,site
p1,benign,benign,,61,x
p2,malign, malign ,benign,48,y
p3,benign,malign,benign,,x
"""


def read_table(table, **options):
    return read_cases(table, **options).table


@pytest.fixture
def cases(tmp_path):
    def write(text=CASES, name="cases.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_wide_table_is_read(cases):
    table = read_table(cases(), label="truth", expert_names=["dr_a", "dr_b"], key="id")
    assert table.classes.tolist() == ["benign", "malign"]
    assert table.labels.tolist() == ["benign", "malign", "benign"]
    assert table.answer_idx.tolist() == [[0, -1], [1, 0], [1, 0]]
    assert list(table.features.columns) == ["age", "site"]
    assert table.expert_names == ("dr_a", "dr_b")


def test_features_and_classes_can_be_named(cases):
    table = read_table(
        cases(), label="truth", expert_names=["dr_b"], features=["site", "age"], classes=["benign", "malign", "unsure"]
    )
    assert list(table.features.columns) == ["site", "age"]
    assert table.n_classes == 3


def test_a_frame_is_taken_in_place_of_a_path():
    frame = pd.DataFrame({"truth": [1, 0], "dr": [1.0, np.nan], 5: [0.1, 0.2]})
    before = frame.copy()
    table = read_table(frame, label="truth", expert_names=["dr"])
    assert table.answer_idx.tolist() == [[1], [-1]]
    assert list(table.features.columns) == ["5"]
    pd.testing.assert_frame_equal(frame, before)


def test_no_expert_is_a_plain_classifiers_table(cases):
    table = read_table(cases(), label="truth", expert_names=[], features=["age"])
    assert table.answer_idx.shape == (3, 0)


@pytest.mark.parametrize(
    ("labels", "answers", "classes", "codes"),
    [
        (["1", "2", "1"], ["1", "", "2"], [1, 2], [0, -1, 1]),
        (["1", "2", "1"], ["1.0", "", "02"], [1, 2], [0, -1, 1]),
        (["1", "2", "x"], ["1", "2", "2"], ["1", "2", "x"], [0, 1, 1]),
        (["01", "02", "01"], ["01", "", "02"], ["01", "02"], [0, -1, 1]),
        (["0.5", "2", "0.5"], ["0.50", "", "2.0"], [0.5, 2.0], [0, -1, 1]),
        (["NA", "None", "NA"], ["None", "", "NA"], ["NA", "None"], [1, -1, 0]),
        (["True", "False", "true"], ["TRUE", "", "false"], [False, True], [1, -1, 0]),
        (["1", "true", "1"], ["1", "True", ""], ["1", "true"], [0, 1, -1]),
        (["900000000000207008", "900000000000207009", "900000000000207008"],
         ["900000000000207009", "", "900000000000207008"],
         [900000000000207008, 900000000000207009], [1, -1, 0]),
    ],
)  # fmt: skip
def test_labels_and_answers_of_a_text_file_agree(cases, labels, answers, classes, codes):
    rows = enumerate(zip(labels, answers, strict=True))
    lines = ["truth,dr,age", *(f"{label},{answer},{age}" for age, (label, answer) in rows)]
    table = read_table(cases("\n".join(lines) + "\n"), label="truth", expert_names=["dr"])
    assert table.classes.tolist() == classes
    assert [type(value) for value in table.classes.tolist()] == [type(value) for value in classes]
    assert table.answer_idx[:, 0].tolist() == codes


@pytest.mark.parametrize(
    ("labels", "answers", "codes"),
    [
        ([1, 2], [1.0, np.nan], [0, -1]),
        (["1", "x"], [1, 1], [0, 0]),
        (["1", "x"], [1.0, np.nan], [0, -1]),
        ([1, "x"], ["1", "x "], [0, 1]),
        (["01", "x"], [1, 1], [0, 0]),
        ([1.0, 2.0], ["2", None], [1, -1]),
        ([True, False], [True, None], [1, -1]),
        (pd.Categorical(["b", "a"]), pd.Categorical(["b", None]), [1, -1]),
        (pd.Categorical([3, 5]), pd.array([5, None], dtype="Int64"), [1, -1]),
    ],
)
def test_labels_and_answers_of_a_frame_agree(labels, answers, codes):
    frame = pd.DataFrame({"truth": labels, "dr": answers, "age": [1, 2]})
    table = read_table(frame, label="truth", expert_names=["dr"])
    assert table.answer_idx[:, 0].tolist() == codes


def test_two_classes_that_look_alike_as_numbers_stay_apart():
    frame = pd.DataFrame({"truth": ["1", "01"], "dr": ["01", "1"], "age": [1, 2]})
    table = read_table(frame, label="truth", expert_names=["dr"])
    assert table.label_idx.tolist() == [1, 0]
    assert table.answer_idx[:, 0].tolist() == [0, 1]
    with pytest.raises(TableError, match=r"row 0, column dr: answer '1' is not one of 01, 1\.0"):
        read_table(frame.assign(truth=["1.0", "01"], dr=[1, 1]), label="truth", expert_names=["dr"])


def test_json_text_and_numbers_agree(tmp_path):
    rows = [{"truth": 1, "dr": "1", "age": 3}, {"truth": 2, "dr": None, "age": 4}, {"truth": 1, "age": 5}]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    table = read_table(path, label="truth", expert_names=["dr"])
    assert table.answer_idx[:, 0].tolist() == [0, -1, -1]


def test_the_row_in_a_message_is_the_row_in_a_spreadsheet(cases):
    lines = ["truth,dr_a,dr_b,age", *["benign,benign,malign,1", "malign,,malign,2"] * 8]
    lines[16] = "benign,benign,maybe,1"  # the 17th line of the file
    path = cases("\n".join(lines) + "\n")
    words = r"cases\.csv: row 17, column dr_b: answer 'maybe' is not one of benign, malign\."
    with pytest.raises(TableError, match=words):
        read_table(path, label="truth", expert_names=["dr_a", "dr_b"])


def test_blank_lines_do_not_shift_the_row_in_a_message(cases):
    table = read_table(cases("truth,dr,age\n\nx,x,1\n\ny,x,2\n"), label="truth", expert_names=["dr"])
    assert table.features.index.tolist() == [1, 3]
    path = cases("truth,dr,age\n\nx,x,1\n\ny,z,2\n")
    with pytest.raises(TableError, match=r"row 5, column dr: answer 'z' is not one of x, y"):
        read_table(path, label="truth", expert_names=["dr"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "thruth"}, r"cases\.csv: no column 'thruth' for the label; did you mean 'truth'\? The columns are"),
        ({"label": "zzz"}, r"cases\.csv: no column 'zzz' for the label\. The columns are id, truth, dr_a, dr_b, age"),
        ({"expert_names": ["dr_a", "DR_B"]}, r"cases\.csv: no column 'DR_B' for an expert; did you mean 'dr_b'\? The "),
        ({"expert_names": ["dr_a", "dr_a"]}, r"cases\.csv: column 'dr_a' is named twice as an expert; name it once\."),
        ({"expert_names": ["truth"]}, r"cases\.csv: column 'truth' is named as the label and as an expert"),
        ({"features": ["dr_a"]}, r"cases\.csv: column 'dr_a' is named as an expert and as a feature; choose one\."),
        ({"features": ["truth"]}, r"cases\.csv: column 'truth' is named as the label and as a feature; choose one\."),
        ({"features": ["aeg"]}, r"cases\.csv: no column 'aeg' for a feature; did you mean 'age'\?"),
        ({"features": []}, r"cases\.csv: no column is left as a feature; the columns are id, truth, dr_a, dr_b, "),
        ({"key": "idd"}, r"cases\.csv: no column 'idd' for the key; did you mean 'id'\?"),
        ({"key": "site"}, r"cases\.csv: column site: the key 'x' .*rows 2 and 4"),
        ({"key": "age"}, r"cases\.csv: row 4, column age: the key is blank; every row needs one\."),
        ({"label": "dr_a", "expert_names": ["site"]}, r"'x': 2 answers, first in row 2, column site"),
        ({"classes": ["benign", "unsure"]}, r"cases\.csv: row 3, column truth: label 'malign' is not one of benign"),
        ({"expert_names": ["dr_a", "dr_b", "model"]}, r"cases\.csv: no column 'model' for an expert\."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_said(cases, options, words):
    with pytest.raises(TableError, match=words):
        read_table(cases(), **{"label": "truth", "expert_names": ["dr_a", "dr_b"], **options})


def test_a_near_answer_is_offered():
    frame = pd.DataFrame({"truth": ["benign", "malign"], "dr": ["Benign", None], "age": [1, 2]})
    with pytest.raises(
        TableError, match=r"^table: row 0, column dr: answer 'Benign' is not .*; did you mean 'benign'\?"
    ):
        read_table(frame, label="truth", expert_names=["dr"])


def test_a_number_that_is_no_class_is_said_as_it_is_written():
    frame = pd.DataFrame({"truth": [1, 2], "dr": [np.nan, 3.0], "age": [1, 2]})
    with pytest.raises(TableError, match=r"row 1, column dr: answer '3' is not one of 1, 2\."):
        read_table(frame, label="truth", expert_names=["dr"])


def test_odd_frames_are_refused():
    twice = pd.DataFrame([[1, 2, 3]], columns=["truth", "dr", "dr"])
    with pytest.raises(TableError, match="table: two columns are called 'dr'; rename one of them"):
        read_table(twice, label="truth", expert_names=["dr"])
    with pytest.raises(TableError, match="table: has no rows"):
        read_table(pd.DataFrame({"truth": [], "dr": [], "age": []}), label="truth", expert_names=["dr"])
    frame = pd.DataFrame({"truth": [1, np.inf], "dr": [1, 1], "age": [1, 2]})
    with pytest.raises(TableError, match="table: column truth must be given in every row, got inf"):
        read_table(frame, label="truth", expert_names=["dr"])
    with pytest.raises(InputError, match="expert_names must be a list of column names, got the text 'dr'"):
        read_table(frame, label="truth", expert_names="dr")
    lists = pd.DataFrame({"truth": ["a", "b"], "dr": [["a"], "b"], "age": [1, 2]})
    with pytest.raises(TableError, match=r"row 0, column dr: answer .* is not one of a, b"):
        read_table(lists, label="truth", expert_names=["dr"])


def test_keys_are_kept_as_they_are():
    frame = pd.DataFrame({"id": ["007", "7"], "age": [1, 2]})
    assert row_keys(frame, "id") == {"007": 0, "7": 1}
