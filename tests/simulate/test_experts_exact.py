"""What each law promises without any chance in it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.simulate import specialist
from defero.simulate.experts import other_class, right_with

K = 5
labels_and_seed = given(
    st.lists(st.integers(0, K - 1), max_size=60).map(lambda v: np.array(v, int)), st.integers(0, 99)
)


@labels_and_seed
def test_a_specialist_with_p_1_is_always_right_and_with_p_0_never(labels, seed):
    answers = specialist(labels, classes=[2, 4], p_in=1, p_out=0, n_classes=K, rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(answers == labels, np.isin(labels, [2, 4]))


@labels_and_seed
def test_raising_p_never_makes_a_right_answer_wrong(labels, seed):
    right = [
        specialist(labels, classes=[0, 1], p_in=p, p_out=p / 2, n_classes=K, rng=np.random.default_rng(seed)) == labels
        for p in np.linspace(0, 1, 6)
    ]
    for less, more in pairwise(right):
        assert np.all(less <= more)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_another_class_is_uniform_over_the_others(n_classes):
    n = 200_000
    answers = other_class(np.full(n, 1), n_classes=n_classes, rng=np.random.default_rng(0))
    found = np.bincount(answers, minlength=n_classes)
    expected = n / (n_classes - 1)
    assert found[1] == 0
    assert np.all(np.abs(np.delete(found, 1) - expected) <= 5 * np.sqrt(expected))


def test_each_item_has_its_own_probability():
    labels = np.array([0, 1, 2, 0])
    answers = right_with(labels, np.array([1.0, 0.0, 1.0, 0.0]), n_classes=3, rng=np.random.default_rng(0))
    assert (answers == labels).tolist() == [True, False, True, False]
