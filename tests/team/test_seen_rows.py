"""Fingerprints of rows with their answers: the same in pieces as at once, and as earlier versions saved them."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from defero.core.answers import Answers
from defero.core.errors import InputError
from defero.data.fingerprint import row_fingerprints
from defero.team import rows as seen


def rows_of(n_items, n_experts, *, seed=0):
    rng = np.random.default_rng(seed)
    rows = row_fingerprints(rng.normal(size=(n_items, 3)))
    return rows, rng.integers(3, size=n_items), rng.integers(-1, 3, (n_items, n_experts))


def at_once(rows, label_idx, answer_idx):
    """Lay everything out as one grid."""
    halves = [rows >> np.uint64(32), rows & np.uint64(0xFFFFFFFF)]
    return row_fingerprints(np.column_stack([*halves, label_idx, answer_idx]).astype(np.float64))


@pytest.mark.parametrize("answers_at_once", [1, 7, 40, 10**6])
@pytest.mark.parametrize("n_experts", [0, 1, 5])
@pytest.mark.parametrize("n_items", [0, 1, 23])
def test_pieces_give_the_fingerprints_of_the_whole(n_items, n_experts, answers_at_once, monkeypatch):
    rows, label_idx, answer_idx = rows_of(n_items, n_experts)
    sparse = Answers.from_matrix(scipy.sparse.csr_array(answer_idx + 1), classes=np.arange(3))
    expected = at_once(rows, label_idx, answer_idx)
    monkeypatch.setattr(seen, "ANSWERS_AT_ONCE", answers_at_once)
    for answers in (answer_idx, Answers.from_cells(answer_idx.astype(np.int8)), sparse):
        found = seen.with_answers(rows, label_idx, answers)
        assert found.dtype == np.uint64
        np.testing.assert_array_equal(found, expected)


def test_a_fingerprint_is_the_one_that_saved_models_hold(monkeypatch):
    monkeypatch.setenv("DEFERO_ROWS_KEY", "00" * 32)
    found = seen.with_answers(np.array([5 << 32 | 7], np.uint64), np.array([1]), np.array([[0, -1]]))
    assert found.tolist() == [5825236587317914181]


@given(rows=st.integers(0, 6), experts=st.integers(0, 5), classes=st.integers(1, 300), seed=st.integers(0, 99))
def test_listed_answers_have_the_fingerprints_of_the_grid(rows, experts, classes, seed):
    rng = np.random.default_rng(seed)
    first, label_idx = row_fingerprints(rng.normal(size=(rows, 2))), rng.integers(classes, size=rows)
    answer_idx = np.where(rng.random((rows, experts)) < 0.3, rng.integers(classes, size=(rows, experts)), -1)
    np.testing.assert_array_equal(
        seen.with_answers(first, label_idx, answer_idx), at_once(first, label_idx, answer_idx)
    )


def test_a_crowd_is_fingerprinted_at_the_price_of_its_answers():
    """Twenty million cells of which a thousand are answered: no array of that size is made."""
    rng = np.random.default_rng(0)
    n_items, n_experts = 1_000, 20_000
    rows, label_idx = row_fingerprints(rng.normal(size=(n_items, 1))), rng.integers(2, size=n_items)
    matrix = scipy.sparse.csr_array(
        (rng.integers(1, 3, size=n_items), (np.arange(n_items), rng.integers(n_experts, size=n_items))),
        shape=(n_items, n_experts),
    )
    answers = Answers.from_matrix(matrix, classes=np.arange(2))
    tracemalloc.start()
    seen.with_answers(rows, label_idx, answers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n_items * n_experts / 4


def parts(seed, *, columns):
    """Two disjoint parts of 400 made-up patients, described by so few whole numbers that some look alike."""
    rng = np.random.default_rng(seed)
    features = np.column_stack(
        [rng.integers(20, 90, 400), rng.integers(1, 200, 400)] + [rng.normal(size=400)] * columns
    )
    label, said = rng.integers(2, size=400), rng.integers(-1, 2, (400, 5))
    first, second = np.arange(300), np.arange(300, 400)
    fitted = seen.seen_after({}, "fit", features[first], label[first], said[first], disjoint=False)
    return features, label, said, second, fitted


def test_other_cases_that_look_alike_are_warned_of_and_no_reuse():
    """Of 30 honest splits a third share features by chance; none is refused, and 20 rows that come again are."""
    n_warned = 0
    for seed in range(30):
        features, label, said, second, fitted = parts(seed, columns=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen.seen_after(fitted, "calibrate", features[second], label[second], said[second], disjoint=False)
        n_warned += len(caught)
        again = np.r_[second, :20]
        with pytest.raises(InputError, match=r"calibrate: \d+ of 120 rows were seen by fit"):
            seen.seen_after(fitted, "calibrate", features[again], label[again], said[again], disjoint=False)
        with pytest.warns(UserWarning, match=r"calibrate: 2\d of 120 rows have the features of rows that fit used"):
            seen.seen_after(fitted, "calibrate", features[again], label[again], 1 - said[again], disjoint=False)
    assert n_warned >= 10


def test_one_row_of_measurements_that_comes_again_is_reuse():
    features, label, said, second, fitted = parts(0, columns=1)
    again = np.r_[second, 0]
    with pytest.raises(InputError, match=r"calibrate: 1 of 101 rows were seen by fit.* The first is row 100, "):
        seen.seen_after(fitted, "calibrate", features[again], label[again], said[again], disjoint=False)
