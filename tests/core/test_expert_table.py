"""ExpertTable: labels and answers of any type, missing in any spelling, frozen, and every complaint's words."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from defero.core.errors import InputError
from defero.core.table import ExpertTable

LABELS = {
    "text": (["a", "b", "a"], [["a", None], ["a", "b"], [None, "b"]]),
    "whole numbers": ([3, 7, 3], [[3, -1], [3, 7], [-1, 7]]),
    "numbers": ([0.5, 1.5, 0.5], [[0.5, np.nan], [0.5, 1.5], [np.nan, 1.5]]),
    "truth values": ([False, True, False], [[False, None], [False, True], [None, True]]),
}
CODES = [[0, -1], [0, 1], [-1, 1]]


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_own_type(kind):
    labels, answers = LABELS[kind]
    table = ExpertTable(labels, answers)
    assert table.labels.tolist() == labels
    assert table.classes.tolist() == sorted(set(labels))
    assert [type(label) for label in table.labels.tolist()] == [type(label) for label in labels]
    assert table.label_idx.tolist() == [0, 1, 0]
    assert table.answer_idx.tolist() == CODES
    assert table.observed.tolist() == [[True, False], [True, True], [False, True]]
    assert table.correct.tolist() == [[True, False], [False, True], [False, False]]
    assert (len(table), table.n_classes, table.n_experts) == (3, 2, 2)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], dtype=object),
        [np.str_("a"), np.str_("b"), np.str_("a")],
        pd.Series(["a", "b", "a"]),
        pd.Series(["a", "b", "a"], dtype="string"),
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Categorical(["a", "b", "a"], categories=["b", "a"]),
        np.array([["a"], ["b"], ["a"]]),
    ],
    ids=lambda labels: f"{type(labels).__name__} of {getattr(labels, 'dtype', 'numpy str')}",
)
def test_text_comes_in_many_containers(labels):
    table = ExpertTable(labels, LABELS["text"][1])
    assert table.classes.tolist() == ["a", "b"]
    assert table.labels.tolist() == ["a", "b", "a"]
    assert table.answer_idx.tolist() == CODES


@pytest.mark.parametrize("blank", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_missing_has_many_spellings(blank):
    answers = [["a", blank], ["a", "b"], [blank, "b"]]
    for given in (answers, np.array(answers, dtype=object), pd.DataFrame(answers)):
        assert ExpertTable(["a", "b", "a"], given).answer_idx.tolist() == CODES


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_pandas_columns_of_text_can_have_gaps(dtype):
    answers = pd.DataFrame({"x": ["a", "a", None], "y": [None, "b", "b"]}).astype(dtype)
    assert ExpertTable(["a", "b", "a"], answers).answer_idx.tolist() == CODES


def test_pandas_columns_of_numbers_can_have_gaps():
    answers = pd.DataFrame({"x": pd.array([3, 3, None], dtype="Int64"), "y": [np.nan, 7.0, 7.0]})
    assert ExpertTable([3, 7, 3], answers).answer_idx.tolist() == CODES


def test_minus_one_is_missing_in_whole_numbers_unless_it_is_a_class():
    answers = np.array([[-1, 1], [1, -1]])
    assert ExpertTable([0, 1], answers, classes=[0, 1]).answer_idx.tolist() == [[-1, 1], [1, -1]]
    assert ExpertTable([-1, 1], answers).answer_idx.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match=r"row 0, column 0: answer -1\.0 is not one of 0, 1"):
        ExpertTable([0, 1], answers.astype(float))


def test_a_masked_cell_is_missing_and_stays_so_in_a_part():
    answers = np.ma.array([[3, 9], [3, 7], [9, 7]], mask=[[0, 1], [0, 0], [1, 0]])
    table = ExpertTable([3, 7, 3], answers)
    assert table.answer_idx.tolist() == CODES
    part = table.take([0, 2])
    assert part.answer_idx.tolist() == [CODES[0], CODES[2]]
    assert ExpertTable(part.labels, part.answers, classes=[3, 7]).answer_idx.tolist() == [CODES[0], CODES[2]]


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
def test_a_sparse_matrix_stores_the_class_number_plus_one(form):
    table = ExpertTable(["a", "b", "a"], form(np.array(CODES) + 1))
    assert table.answer_idx.tolist() == CODES
    assert table.take([2]).answers.dense().tolist() == [[-1, 1]]
    with pytest.raises(
        InputError, match=r"row 0, column 1: a sparse matrix stores class number \+ 1, from 1 to 2, got 3"
    ):
        ExpertTable(["a", "b"], form([[1, 3], [0, 0]]))


def test_a_frame_names_the_experts():
    answers = pd.DataFrame({"ann": ["a"], 2: [None]})
    assert ExpertTable(["a"], answers).expert_names == ("ann", "2")
    assert ExpertTable(["a"], answers, expert_names=["x", "y"]).expert_names == ("x", "y")
    assert ExpertTable(["a"], answers.to_numpy()).expert_names == ("expert_0", "expert_1")


def test_no_expert_at_all_is_a_table_too():
    table = ExpertTable([0, 1], np.empty((2, 0)))
    assert (table.n_experts, table.expert_names, table.observed.shape) == (0, (), (2, 0))


def test_classes_that_no_label_shows_can_be_named():
    table = ExpertTable(["a"], [["c"]], classes=["c", "a", "b", "a"])
    assert table.classes.tolist() == ["a", "b", "c"]
    assert table.answer_idx.tolist() == [[2]]


def test_nothing_can_be_assigned_or_written():
    table = ExpertTable([0.0, 1.0], np.array([[0.0], [np.nan]]))
    for one in (table, table.take([1, 0])):
        for name in ("labels", "answers", "features", "classes", "experts", "label_idx", "answer_idx"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(one, name, None)
        for array in (one.labels, one.answers, one.classes, one.label_idx, one.answer_idx):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]


def test_later_changes_of_the_callers_arrays_change_nothing():
    labels, answers = np.array([0, 1]), np.array([[0], [1]])
    table = ExpertTable(labels, answers)
    labels[:], answers[:] = 9, 9
    assert table.labels.tolist() == [0, 1]
    assert table.answers.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("labels", "answers", "options", "message"),
    [
        ([], np.empty((0, 1)), {}, "labels must hold at least one item, got an empty table"),
        ([[0, 1]], [[0]], {}, r"labels must have one axis \(n,\), one label per item, got shape \(1, 2\)"),
        ([0, [1]], [[0], [0]], {}, "labels must have as many cells in each row as in the first"),
        (["a", None], [["a"], ["a"]], {}, "labels must be given in every row, got none in row 1; fill it in or drop"),
        (["a", np.nan], [["a"], ["a"]], {}, "labels must be given in every row, got none in row 1"),
        ([0.0, np.nan], [[0], [0]], {}, "labels must be given in every row, got nan in row 1"),
        (["a", 1], [["a"], ["a"]], {}, "labels must hold labels of one type .*, got a mixture"),
        (["a", "x"], [["a"], ["a"]], {"classes": ["a", "b"]}, "labels: row 1: label 'x' is not one of a, b"),
        (["a"], [["a"]], {"classes": ["a", None]}, "classes must be given in every row, got none in row 1"),
        ([0, 1], [0, 1], {}, r"answers must have two axes .* got shape \(2,\); .* answers.reshape\(-1, 1\)"),
        (
            [0, 1],
            [[[0]], [[1]]],
            {},
            r"answers must have two axes \(n, J\), one column per expert, got shape \(2, 1, 1",
        ),
        ([0, 1], [[0], [1, 1]], {}, "answers must have as many cells in each row as in the first"),
        ([0, 1], [[0]], {}, "answers must have one row per label: 2 labels, 1 rows of answers"),
        ([0, 1], [[0], [2]], {}, "answers: row 1, column 0: answer 2 is not one of 0, 1"),
        ([0, 1], [[0], ["x"]], {}, "answers: row 1, column 0: answer 'x' is not one of 0, 1"),
        ([0, 1], pd.DataFrame({"ann": [0, 5]}), {}, "answers: row 1, column ann: answer 5 is not one of 0, 1"),
        ([0, 1], [[0], [{}]], {}, "labels and answers must be text or numbers, got a cell that is neither"),
        ([0, 1], [[0], [1]], {"features": np.zeros((3, 2))}, "features must have one row per label: 2 labels, 3 rows"),
        ([0, 1], [[0], [1]], {"expert_names": ["a", "b"]}, "expert_names must be 1 names, one per column, got 2"),
        (
            [0],
            [[0, 0, 0]],
            {"expert_names": ["a", "b", "a"]},
            "expert_names must be distinct, got a more than once; rename one",
        ),
        ([0], [[0]], {"expert_names": ["model"]}, "expert_names must not contain 'model', which names the model"),
        ([0], [[0, 0]], {"expert_names": ["a", ""]}, "expert_names must not be empty, got an empty name in column 1"),
        ([0], [[0, 0]], {"expert_names": "ab"}, "expert_names must be a list of 2 names, got 'ab'"),
        ([0], [[0, 0]], {"expert_names": 2}, "expert_names must be a list of 2 names, got 2"),
    ],
)
def test_what_is_wrong_is_said(labels, answers, options, message):
    with pytest.raises(InputError, match=message):
        ExpertTable(labels, answers, **options)


def test_duplicate_columns_of_a_frame_are_refused():
    answers = pd.DataFrame([["a", "b"]], columns=["ann", "ann"])
    with pytest.raises(InputError, match="expert_names must be distinct, got ann more than once"):
        ExpertTable(["a"], answers, classes=["a", "b"])


def test_take_keeps_classes_experts_and_features():
    features = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    table = ExpertTable(["a", "b", "a"], [["a"], [None], ["b"]], features=features, expert_names=["ann"])
    for rows in ([2, 0], np.array([2, 0], dtype=np.uint8), [-1, -3]):
        part = table.take(rows)
        assert part.labels.tolist() == ["a", "a"]
        assert part.answers.tolist() == [["b"], ["a"]]
        assert part.features["x"].tolist() == [3.0, 1.0]
        assert part.features.index.tolist() == [9, 7]
        assert part.classes.tolist() == ["a", "b"]
        assert part.expert_names == ("ann",)
    assert table.take([False, True, False]).labels.tolist() == ["b"]
    assert len(table.take([])) == 0


@pytest.mark.parametrize("features", [[[1], [2]], np.array([[1], [2]]), scipy.sparse.csr_array([[1], [2]])])
def test_features_of_any_form_are_taken(features):
    part = ExpertTable([0, 1], [[0], [1]], features=features).take([1]).features
    assert np.asarray(part.toarray() if hasattr(part, "toarray") else part).tolist() == [[2]]


@pytest.mark.parametrize("rows", [[2], [-3], [True], [0.5], [[0]], "first"])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(InputError, match="rows must be numbers below 2 or a mask of 2 True or False, got shape"):
        ExpertTable([0, 1], [[0], [1]]).take(rows)


def test_it_is_shown_in_few_lines():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 40, 500)
    said = np.where(rng.random((500, 90)) < 0.5, labels[:, None], -1)
    table = ExpertTable(labels, said, expert_names=[f"a person with a name as long as {j}" for j in range(90)])
    share = 100 * (said >= 0).mean()
    assert (
        repr(table)
        == str(table)
        == (
            f"ExpertTable: 500 cases, 40 classes, 90 experts; {share:.1f} % of their answers are recorded.\n"
            "  classes: 0, 1, 2, 3, 4, 5, ... (40 in all)\n"
            f"  experts: {', '.join(['a person with a name ...'] * 6)}, ... (90 in all)"
        )
    )


def test_a_table_of_one_case_and_nobody_is_shown_too():
    assert repr(ExpertTable(["a"], np.empty((1, 0)))) == "ExpertTable: 1 case, 1 class, 0 experts.\n  classes: a"
