import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core import InputError
from defero.simulate import draw_human


def test_each_class_is_drawn_as_often_as_it_was_voted_for():
    n = 300_000
    for votes in ([1, 2, 0], [0, 6, 3], [0.25, 0.25, 0.5]):
        share = np.asarray(votes) / np.sum(votes)
        found = np.bincount(draw_human(np.tile(votes, (n, 1)), rng=np.random.default_rng(0)), minlength=3) / n
        assert np.all(np.abs(found - share) <= 5 * np.sqrt(share * (1 - share) / n))


@given(
    arrays(np.int64, st.tuples(st.integers(0, 20), st.integers(1, 5)), elements=st.integers(0, 3)), st.integers(0, 9)
)
def test_nobody_says_what_nobody_voted_for(votes, seed):
    votes[~votes.any(axis=1), -1] = 1
    human = draw_human(votes, rng=np.random.default_rng(seed))
    assert human.shape == (len(votes),)
    assert np.all(votes[np.arange(len(votes)), human] > 0)


@given(st.integers(0, 99), st.integers(1, 50))
def test_counts_and_their_fractions_draw_alike(seed, scale):
    votes = np.random.default_rng(seed).integers(1, 9, size=(40, 3))
    again = [draw_human(v, rng=np.random.default_rng(seed)) for v in (votes, votes * 2**scale)]
    np.testing.assert_array_equal(*again)


def test_a_class_beside_the_border_of_the_draw():
    class Fixed(np.random.Generator):
        def __init__(self, value):
            super().__init__(np.random.PCG64(0))
            self.value = value

        def random(self, size):
            return np.full(size, self.value)

    votes = [[0, 1, 1, 0], [0, 0.1, 0.2, 0]]
    assert draw_human(votes, rng=Fixed(0.0)).tolist() == [1, 1]
    assert draw_human(votes, rng=Fixed(np.nextafter(1, 0))).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ([[1, 0], [0, 0]], "at least one vote per item, got none for item 1; drop such items"),
        ([[1, -1]], "votes must not be negative, got -1 at row 0, column 1; pass counts"),
        ([1, 2], r"votes must have two axes"),
        ([[np.nan, 1]], "votes must be finite"),
    ],
)
def test_votes_that_are_none_are_refused(votes, words):
    with pytest.raises(InputError, match=words):
        draw_human(votes, rng=np.random.default_rng(0))


def test_a_seed_is_no_generator():
    with pytest.raises(InputError, match=r"rng must be a numpy\.random\.Generator"):
        draw_human([[1, 0]], rng=0)
