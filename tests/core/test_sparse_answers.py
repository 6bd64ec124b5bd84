"""Answers as class numbers: few as triplets, many in a byte each; the same questions, the same answers."""

import re
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.answers import Answers, class_numbers
from defero.core.errors import InputError
from defero.core.labels import encode_answers, encode_recorded, names_in
from defero.core.table import ExpertTable
from defero.data.answers.log import latest_answers

cells = st.tuples(st.integers(1, 12), st.integers(0, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 2))
)


def sparse_table(codes, labels, form=scipy.sparse.csr_array):
    return ExpertTable(labels, form(codes + 1), classes=[0, 1, 2])


@given(cells, st.data())
def test_sparse_and_dense_tables_say_the_same(codes, data):
    labels = data.draw(arrays(np.int64, len(codes), elements=st.integers(0, 2)))
    rows = data.draw(st.lists(st.integers(-len(codes), len(codes) - 1), max_size=20))
    sparse, dense = sparse_table(codes, labels), ExpertTable(labels, codes, classes=[0, 1, 2])
    for one, other in ((sparse, dense), (sparse.take(rows), dense.take(rows))):
        for question in ("answer_idx", "observed", "correct", "answer_counts", "answered", "expert_accuracy"):
            mine, twin = getattr(one, question), getattr(other, question)
            assert mine.dtype == twin.dtype, question
            np.testing.assert_array_equal(mine, twin, err_msg=question)
        assert one.n_answers == other.n_answers == int((other.answer_idx != -1).sum())
        assert one.n_experts == other.n_experts == codes.shape[1]
        np.testing.assert_array_equal(one.coded.dense(), one.answer_idx)


@given(cells)
def test_answers_one_by_one_are_those_of_the_cells(codes):
    expected = [(i, j, codes[i, j]) for i in range(len(codes)) for j in range(codes.shape[1]) if codes[i, j] != -1]
    dense = Answers.from_cells(codes.astype(np.int8))
    sparse = sparse_table(codes, np.zeros(len(codes), dtype=int)).answers
    for said in (dense, sparse):
        given_ones = said.triplets()
        assert list(zip(*(part.tolist() for part in given_ones), strict=True)) == expected
        assert given_ones.item_idx.dtype == given_ones.expert_idx.dtype == np.int64


def test_answers_one_by_one_are_sorted_by_expert_too():
    said = Answers.from_triplets([0, 0, 1], [1, 0, 0], [5, 6, 7], n_items=2, n_experts=2)
    assert [part.tolist() for part in said.triplets()] == [[0, 0, 1], [0, 1, 0], [6, 5, 7]]


@given(cells)
def test_the_cheap_questions_are_those_of_the_dense_arrays(codes):
    table = sparse_table(codes, np.zeros(len(codes), dtype=int))
    np.testing.assert_array_equal(table.answer_idx, codes)
    np.testing.assert_array_equal(table.answer_counts, (codes >= 0).sum(axis=0))
    np.testing.assert_array_equal(table.answered, (codes >= 0).sum(axis=1))
    shares = [(said[said >= 0] == 0).mean() if (said >= 0).any() else np.nan for said in codes.T]
    np.testing.assert_array_equal(table.expert_accuracy, shares)


def test_by_hand():
    table = ExpertTable(["a", "b", "a"], scipy.sparse.coo_array(([1, 2, 1], ([2, 0, 2], [1, 0, 0])), shape=(3, 3)))
    assert table.answer_idx.tolist() == [[1, -1, -1], [-1, -1, -1], [0, 0, -1]]
    assert table.answer_counts.tolist() == [2, 1, 0]
    assert table.answered.tolist() == [1, 0, 2]
    assert table.n_answers == 3
    assert table.expert_accuracy.tolist()[:2] == [0.5, 1.0]
    assert np.isnan(table.expert_accuracy[2])


def test_parts_of_a_sparse_table_are_sparse():
    codes = np.random.default_rng(0).integers(-1, 3, (60, 4))
    table = sparse_table(codes, np.arange(60) % 3, form=scipy.sparse.csc_array)
    for part in (table, *table.split(0.5, 0.5, random_state=0), table.take([3, 3, 0])):
        assert isinstance(part.answers, Answers)
        assert part.answers is part.coded
        assert part.answers.codes.shape == (part.n_answers,)
        assert part.answers.expert_names == table.expert_names


def test_a_stored_zero_is_missing():
    matrix = scipy.sparse.csr_array(np.array([[1, 2], [3, 1]]))
    matrix.data[0] = 0
    assert ExpertTable([0, 1], matrix, classes=[0, 1, 2]).answer_idx.tolist() == [[-1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (scipy.sparse.coo_array([[0, 0], [-1, 4]]), r"row 1, column 0: .* class number \+ 1, from 1 to 3, got -1"),
        (scipy.sparse.csc_array([[1, 4], [5, 0]]), r"row 0, column 1: .* from 1 to 3, got 4"),
        (scipy.sparse.csr_array([[1.5, 1.0], [0, 0]]), r"row 0, column 0: .* from 1 to 3, got 1.5"),
        (scipy.sparse.csr_array([[0, np.nan], [0, 0]]), r"row 0, column 1: .* from 1 to 3, got nan"),
        (
            scipy.sparse.coo_array(([1, 1], ([1, 1], [0, 0])), shape=(2, 2)),
            "row 1, column 0: a sparse matrix stores one value per cell, got more; keep one answer of an expert to an",
        ),
        (scipy.sparse.coo_array(np.array([1, 2])), r"answers must have two axes \(n, J\), .* got shape \(2,\)"),
        (scipy.sparse.csr_array([[1, 1]]), "answers must have one row per label: 2 labels, 1 rows of answers"),
    ],
)
def test_what_is_wrong_with_a_sparse_matrix_is_said(matrix, message):
    with pytest.raises(InputError, match=message):
        ExpertTable([0, 1], matrix, classes=[0, 1, 2])


def test_long_answers_stay_sparse_with_names():
    said = {"item": [1, 0, 0], "who": ["bo", "al", "bo"], "answer": ["b", "a", "b"], "row": [0, 1, 2]}
    long = latest_answers(pd.DataFrame(said), n_items=2)
    table = ExpertTable(["a", "b"], long)
    assert table.expert_names == names_in(long) == ("al", "bo")
    assert names_in(table.answers) == ("al", "bo")
    assert table.answer_idx.tolist() == [[0, 1], [-1, 1]]
    classes = np.array(["a", "b"], dtype=object)
    assert encode_recorded(long, classes, expert_names=("bo", "al"), n_items=2).tolist() == [[1, 0], [1, -1]]


@given(cells, st.data())
def test_coded_answers_say_what_a_frame_of_them_says(codes, data):
    words = np.array(["a", "b", "c", None], dtype=object)
    experts = [f"e{j}" for j in range(codes.shape[1])]
    labels = np.full(len(codes), "a", dtype=object)
    answers = ExpertTable(labels, scipy.sparse.csr_array(codes + 1), classes=words[:3], expert_names=experts).answers
    frame = pd.DataFrame(words[codes], columns=experts, dtype=object)
    rows = data.draw(st.lists(st.integers(-len(codes), len(codes) - 1), max_size=9))
    classes = np.array(list(data.draw(st.sampled_from(["abc", "abcd", "0abc", "ab", "bc"]))), dtype=object)
    taken = answers[np.array(rows, dtype=int)]
    try:
        expected = encode_answers(frame.iloc[rows], classes)
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            encode_answers(taken, classes)
    else:
        np.testing.assert_array_equal(encode_answers(taken, classes), expected)


def test_no_expert_and_no_answer():
    empty = ExpertTable([0, 1], scipy.sparse.csr_array((2, 0)))
    assert (empty.n_experts, empty.n_answers, empty.answer_idx.shape) == (0, 0, (2, 0))
    silent = ExpertTable([0, 1], scipy.sparse.csr_array((2, 3)))
    assert silent.answer_counts.tolist() == [0, 0, 0]
    assert np.isnan(silent.expert_accuracy).all()
    assert len(silent.take([])) == 0
    assert silent.take([]).answer_idx.shape == (0, 3)


def test_values_of_a_table_cannot_be_written():
    table = sparse_table(np.array([[0, 1]]), [0])
    for array in (table.answer_idx, table.coded.codes, table.coded.expert_idx, table.coded.starts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(("n_classes", "size"), [(2, 1), (128, 1), (129, 2), (32_768, 2), (32_769, 4)])
def test_numbers_take_the_room_that_the_classes_need(n_classes, size):
    classes = np.arange(n_classes)
    table = ExpertTable([n_classes - 1], [[n_classes - 1, 0, -1]], classes=classes)
    sparse = ExpertTable([n_classes - 1], scipy.sparse.csr_array([[n_classes, 1, 0]]), classes=classes)
    for one in (table, sparse):
        assert one.coded.codes.itemsize == size
        assert one.answer_idx.tolist() == [[n_classes - 1, 0, -1]]
        assert one.correct.tolist() == [[True, False, False]]


COLUMNS = {
    "object": pd.Series(["a", None, "b"], dtype=object),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "str": pd.Series(["a", None, "b"], dtype="str"),
    "category": pd.Series(["a", None, "b"], dtype=pd.CategoricalDtype(["z", "b", "a"])),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_text_column_of_any_kind(kind):
    frame = pd.DataFrame({"ann": COLUMNS[kind], "bob": COLUMNS["object"][::-1].to_numpy()})
    classes = np.array(["a", "b"], dtype=object)
    assert encode_answers(frame, classes).tolist() == [[0, 1], [-1, -1], [1, 0]]
    with pytest.raises(InputError, match="experts: row 2, column ann: answer 'b' is not one of a, c"):
        encode_answers(frame[["ann"]], np.array(["a", "c"], dtype=object))


@pytest.mark.parametrize("kind", ["Int64", "Float64", "float", "object"])
def test_a_number_column_of_any_kind(kind):
    frame = pd.DataFrame({"ann": pd.Series([3, None, 7], dtype=kind), "bob": pd.Series([7, 7, 3])})
    assert encode_answers(frame, np.array([3, 7])).tolist() == [[0, 1], [-1, 1], [1, 0]]


@pytest.mark.parametrize("kind", ["int8", "int64", "Int64"])
def test_minus_one_is_missing_in_a_column_of_whole_numbers(kind):
    frame = pd.DataFrame({"ann": pd.Series([1, -1], dtype=kind), "bob": pd.Series(["x", 1], dtype=object)})
    assert encode_answers(frame[["ann"]], np.array([0, 1])).tolist() == [[1], [-1]]
    assert encode_answers(frame[["ann"]], np.array([-1, 1])).tolist() == [[1], [0]]
    with pytest.raises(InputError, match="row 0, column bob: answer 'x' is not one of 0, 1"):
        encode_answers(frame, np.array([0, 1]))


def test_numpy_text_is_kept_once_not_once_for_each_cell():
    answers = np.array([["benign", "malign"]] * 50)
    table = ExpertTable(["benign", "malign"] * 25, answers)
    assert table.answers.tolist() == answers.tolist()
    assert table.answers.dtype == object
    assert len({id(cell) for cell in table.answers.ravel()}) == 2


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_values_are_looked_up_by_and_by(cells_at_once, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 4, (7, 3))
    words = np.array(["a", "b", "c", "d", None], dtype=object)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("defero.core.answers.CELLS_AT_ONCE", cells_at_once)
        assert class_numbers(words[codes], words[:4]).tolist() == codes.tolist()
        assert class_numbers(np.where(codes < 0, np.nan, codes), np.arange(4)).tolist() == codes.tolist()


def test_dense_answers_are_counted_too():
    said = Answers.from_cells(np.array([[0, -1], [1, 1]], dtype=np.int8))
    assert said.per_item().tolist() == [1, 2]
    assert said.per_expert().tolist() == [2, 1]


def test_a_table_of_a_frame_adds_two_bytes_per_cell():
    answers = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (50_000, 20))).astype("category")
    labels = np.arange(50_000) % 3
    tracemalloc.start()
    table = ExpertTable(labels, answers)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.answers is answers
    assert held < 2 * answers.size + 5 * labels.nbytes  # of which pandas 2 takes one for the numbers of the index


def test_a_million_items_and_a_thousand_experts_fit():
    n_items, n_experts, each = 1_000_000, 1_000, 5
    rng = np.random.default_rng(0)
    step = n_experts // each
    who = (rng.integers(0, step, (n_items, each)) + np.arange(each) * step).ravel()
    stored = rng.integers(1, 8, n_items * each, dtype=np.int8)
    starts = np.arange(0, n_items * each + 1, each)
    matrix = scipy.sparse.csr_array((stored, who, starts), shape=(n_items, n_experts))
    labels = rng.integers(0, 7, n_items)
    tracemalloc.start()
    table = ExpertTable(labels, matrix)
    parts = table.split(0.5, 0.2, 0.2, 0.1, random_state=0)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # An answer takes 5 bytes, a row 24 with its labels; table and parts hold them once each, and some copies meanwhile.
    assert held < 2 * (5 * n_items * each + 32 * n_items)
    assert peak < n_items * n_experts / 2  # bytes: half of what a byte for each cell would take
    assert sum(part.n_answers for part in parts) == table.n_answers == n_items * each
    assert sum(int(part.answered.sum()) for part in parts) == n_items * each
    np.testing.assert_array_equal(sum(part.answer_counts for part in parts), np.bincount(who, minlength=n_experts))
    right = sum(part.answer_counts * part.expert_accuracy for part in parts)
    np.testing.assert_allclose(right, table.answer_counts * table.expert_accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["object", "text", "category", "string", "float"])
def test_twenty_million_cells_are_read_in_seconds(kind):
    classes = np.array(["akiec", "bcc", "bkl", "df", "mel", "nv", "vasc"], dtype=object)
    codes = np.random.default_rng(0).integers(0 if kind == "text" else -1, 7, (1_000_000, 20), dtype=np.int8)
    words = np.append(classes, None)[codes]
    made = {
        "object": lambda: words,
        "text": lambda: classes.astype(str)[codes],
        "category": lambda: pd.DataFrame(words).astype("category"),
        "string": lambda: pd.DataFrame(words).astype("string"),
        "float": lambda: np.where(codes < 0, np.nan, codes),
    }[kind]()
    start = time.process_time()
    found = encode_answers(made, np.arange(7.0) if kind == "float" else classes)
    assert time.process_time() - start < 5
    assert np.array_equal(found, codes)
