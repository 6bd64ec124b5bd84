from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.simulate import simulate_pool, specialist

K = 3
LAWS = [
    partial(specialist, classes=[], p_in=1.0, p_out=1 / K, n_classes=K),
    partial(specialist, classes=[0], p_in=1.0, p_out=1 / K, n_classes=K),
    partial(specialist, classes=[1], p_in=0.9, p_out=0.4, n_classes=K),
    partial(specialist, classes=[], p_in=1.0, p_out=1 / K, n_classes=K),
]
LABELS = np.random.default_rng(0).integers(K, size=300)


@given(st.integers(0, 2**32), st.integers(0, len(LAWS)))
def test_adding_an_expert_leaves_the_earlier_ones_alone(seed, n_first):
    few = simulate_pool(LABELS, LAWS[:n_first], rng=np.random.default_rng(seed))
    all_of_them = simulate_pool(LABELS, LAWS, rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(all_of_them[:, :n_first], few)


def test_a_column_is_its_law_on_its_own_stream():
    pool = simulate_pool(LABELS, LAWS, rng=np.random.default_rng(4))
    for j, child in enumerate(np.random.default_rng(4).spawn(len(LAWS))):
        np.testing.assert_array_equal(pool[:, j], LAWS[j](LABELS, rng=child))


def test_equal_laws_are_two_different_people():
    labels = np.zeros(100_000, dtype=int)
    pool = simulate_pool(labels, LAWS, rng=np.random.default_rng(0))
    assert abs(np.mean(pool[:, 0] == pool[:, 3]) - 1 / K) < 0.01


def test_called_again_it_draws_afresh():
    rng = np.random.default_rng(0)
    assert not np.array_equal(simulate_pool(LABELS, LAWS, rng=rng), simulate_pool(LABELS, LAWS, rng=rng))


def test_a_law_over_a_human_ignores_the_truth():
    human = 1 - LABELS % 2

    def law(labels, rng):
        return specialist(human, classes=[], p_in=1.0, p_out=1.0, n_classes=2, rng=rng)

    assert simulate_pool(LABELS % 2, [law], rng=np.random.default_rng(0))[:, 0].tolist() == human.tolist()


@pytest.mark.parametrize(("labels", "laws", "shape"), [(LABELS, [], (300, 0)), ([], LAWS, (0, 4))])
def test_nobody_or_nothing_keeps_the_shape(labels, laws, shape):
    pool = simulate_pool(labels, laws, rng=np.random.default_rng(0))
    assert pool.shape == shape
    assert pool.dtype == np.int64


@pytest.mark.parametrize(
    ("laws", "words"),
    [
        ([LAWS[0], lambda labels, rng: np.zeros(7, dtype=int)], r"laws\[1\] must return 300 class numbers.* \(7,\)"),
        ([lambda labels, rng: np.zeros(300)], r"laws\[0\] must return 300 class numbers.* of float64"),
    ],
)
def test_a_law_that_returns_something_else_is_named(laws, words):
    with pytest.raises(InputError, match=words):
        simulate_pool(LABELS, laws, rng=np.random.default_rng(0))


def test_labels_need_one_axis_and_a_generator_is_needed():
    with pytest.raises(InputError, match=r"labels must have one axis \(n,\)"):
        simulate_pool([[0]], LAWS, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"rng must be a numpy\.random\.Generator"):
        simulate_pool([0], LAWS, rng=0)
