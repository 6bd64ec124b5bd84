"""One contract for every law: its table of probabilities, its range, its determinism, its error words."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.simulate import specialist

K = 4
N_PER_LABEL = 400_000


def rows(inside, outside, *, classes):
    """P(answer | label), (K, K), from P(right) inside and outside: what is left is shared by the other classes."""
    table = np.empty((K, K))
    for label in range(K):
        right = inside if label in classes else outside
        table[label] = (1 - right) / (K - 1)
        table[label, label] = right
    return table


LAWS = {
    "specialist": (partial(specialist, classes=[0, 2], p_in=0.8, p_out=0.3), rows(0.8, 0.3, classes=[0, 2])),
    "specialist, p_out = 0": (partial(specialist, classes=[0], p_in=0.55, p_out=0.0), rows(0.55, 0.0, classes=[0])),
    "specialist of nothing": (partial(specialist, classes=[], p_in=1.0, p_out=1 / K), np.full((K, K), 1 / K)),
}
each_law = pytest.mark.parametrize(("law", "table"), LAWS.values(), ids=LAWS.keys())


@each_law
def test_each_answer_comes_as_often_as_the_law_says(law, table):
    rng = np.random.default_rng(7)
    for label in range(K):
        answers = law(np.full(N_PER_LABEL, label), n_classes=K, rng=rng)
        found = np.bincount(answers, minlength=K) / N_PER_LABEL
        sigma = np.sqrt(table[label] * (1 - table[label]) / N_PER_LABEL)
        assert np.all(np.abs(found - table[label]) <= 5 * sigma), (label, found, table[label])


@each_law
def test_items_are_drawn_independently(law, table):
    labels = np.zeros(N_PER_LABEL, dtype=np.int64)
    right = law(labels, n_classes=K, rng=np.random.default_rng(1)) == 0
    both = np.mean(right[:-1] & right[1:])
    assert abs(both - table[0, 0] ** 2) <= 5 / np.sqrt(N_PER_LABEL)


@each_law
def test_the_same_generator_gives_the_same_answers_and_the_labels_stay(law, table):
    labels = np.random.default_rng(0).integers(K, size=200)
    kept = labels.copy()
    first, second = (law(labels, n_classes=K, rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(labels, kept)
    assert first.dtype == np.int64


@each_law
def test_no_items_no_answers(law, table):
    answers = law([], n_classes=K, rng=np.random.default_rng(0))
    assert answers.shape == (0,)
    assert answers.dtype == np.int64


@each_law
def test_a_list_or_a_small_integer_type_is_taken(law, table):
    from_list = law([0, 1, 3, 3], n_classes=K, rng=np.random.default_rng(0))
    from_bytes = law(np.array([0, 1, 3, 3], dtype=np.uint8), n_classes=K, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(from_list, from_bytes)


@given(st.data(), st.integers(2, 7), st.integers(0, 2**32))
def test_answers_are_class_numbers(data, n_classes, seed):
    labels = data.draw(st.lists(st.integers(0, n_classes - 1), max_size=30))
    classes = data.draw(st.sets(st.integers(0, n_classes - 1)))
    p, q = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))
    law = partial(specialist, classes=classes, p_in=p, p_out=q)
    answers = law(np.array(labels, dtype=int), n_classes=n_classes, rng=np.random.default_rng(seed))
    assert answers.shape == (len(labels),)
    assert all(0 <= answer < n_classes for answer in answers)


@each_law
@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1, K], rf"must lie in 0\.\.{K - 1}, got {K} for item 2"),
        ([0, -1], rf"must lie in 0\.\.{K - 1}, got -1 for item 1"),
        ([[0, 1]], r"must have one axis \(n,\), one value per item, got shape \(1, 2\)"),
        (["a", "b"], "must be whole numbers, .* encode other values first"),
        ([0.0, 1.0], "must be whole numbers, got dtype float64"),
    ],
)
def test_labels_that_are_no_class_numbers_are_refused(law, table, labels, words):
    with pytest.raises(InputError, match=words):
        law(labels, n_classes=K, rng=np.random.default_rng(0))


@each_law
def test_a_seed_instead_of_a_generator_is_refused(law, table):
    with pytest.raises(InputError, match=r"rng must be a numpy.random.Generator, got int; pass np.random.default_rng"):
        law([0], n_classes=K, rng=3)


@each_law
@pytest.mark.parametrize(
    ("n_classes", "words"), [(0, "n_classes must be a whole number"), (2.5, "must be a whole number")]
)
def test_a_class_count_that_is_none_is_refused(law, table, n_classes, words):
    with pytest.raises(InputError, match=words):
        law([0], n_classes=n_classes, rng=np.random.default_rng(0))


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize(
    ("law", "name"),
    [
        (lambda p: partial(specialist, classes=[0], p_in=p, p_out=0.5), "p_in"),
        (lambda p: partial(specialist, classes=[0], p_in=0.5, p_out=p), "p_out"),
    ],
)
def test_a_probability_outside_0_to_1_is_refused(law, name, p):
    with pytest.raises(InputError, match=rf"{name} must be a probability in \[0, 1\], got {p}"):
        law(p)([0, 1], n_classes=2, rng=np.random.default_rng(0))


def test_a_field_outside_the_classes_is_refused():
    with pytest.raises(InputError, match=rf"classes must lie in 0\.\.{K - 1}, got {K} for item 0"):
        specialist([0], classes=[K], p_in=1, p_out=0, n_classes=K, rng=np.random.default_rng(0))


def test_a_law_with_wrong_answers_needs_two_classes():
    with pytest.raises(InputError, match="n_classes must be a whole number of at least 2, got 1"):
        specialist([0], classes=[0], p_in=1, p_out=1, n_classes=1, rng=np.random.default_rng(0))
