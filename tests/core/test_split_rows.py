"""Parts of a table: disjoint, complete, stratified, and settled by the seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.core.splits import split_rows
from defero.core.table import ExpertTable

strata = st.lists(st.integers(0, 3), min_size=1, max_size=60).map(np.array)
shares = st.lists(st.integers(1, 20), min_size=1, max_size=5).map(lambda parts: tuple(p / sum(parts) for p in parts))


@given(strata, shares, st.integers(0, 2**32))
def test_parts_hold_every_row_once(classes, fractions, seed):
    parts = split_rows(classes, fractions, rng=np.random.default_rng(seed))
    assert len(parts) == len(fractions)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(classes)))
    assert all((np.diff(part) > 0).all() for part in parts)


@given(strata, shares, st.integers(0, 2**32))
def test_the_first_part_knows_every_class(classes, fractions, seed):
    first, *_ = split_rows(classes, fractions, rng=np.random.default_rng(seed))
    assert set(classes[first].tolist()) == set(classes.tolist())


@given(strata, shares, st.integers(0, 2**32))
def test_each_class_is_dealt_in_proportion(classes, fractions, seed):
    parts = split_rows(classes, fractions, rng=np.random.default_rng(seed))
    for stratum in set(classes.tolist()):
        total = int((classes == stratum).sum())
        for place, (part, fraction) in enumerate(zip(parts, fractions, strict=True)):
            count = int((classes[part] == stratum).sum())
            # Both ends of a part are rounded; the row that the first part is owed comes out of the others.
            assert abs(count - fraction * total) <= (1 if place == 0 else 2) + 1e-9


def test_every_row_is_as_likely_in_every_part():
    classes = np.array([0] * 9 + [1] * 3)
    counts = np.zeros(12)
    for seed in range(3_000):
        counts[split_rows(classes, (0.5, 0.5), rng=np.random.default_rng(seed))[1]] += 1
    assert np.abs(counts - 1_500).max() < 5 * np.sqrt(3_000 * 0.25)


def test_the_seed_settles_the_parts():
    table = ExpertTable([0, 1, 2] * 20, np.zeros((60, 1), dtype=int), features=np.arange(60)[:, None])
    once, again, other = (table.split(0.6, 0.2, 0.2, random_state=seed) for seed in (4, 4, 5))
    assert all(np.array_equal(a.features, b.features) for a, b in zip(once, again, strict=True))
    assert not np.array_equal(once[0].features, other[0].features)
    assert [len(part) for part in once] == [36, 12, 12]
    assert sorted(row for part in once for row in part.features[:, 0].tolist()) == list(range(60))
    assert all(part.classes.tolist() == [0, 1, 2] for part in once)


@pytest.mark.parametrize(
    ("fractions", "said"),
    [
        ((0.5, 0.4), "0.5, 0.4 .sum 0.9."),
        ((1.5, -0.5), "1.5, -0.5 .sum 1."),
        ((), "none .sum 0."),
        ((0.0, 1.0), "0, 1"),
    ],
)
def test_fractions_must_add_up(fractions, said):
    with pytest.raises(InputError, match=f"fractions must be positive and add up to 1, got {said}"):
        ExpertTable([0, 1], [[0], [1]]).split(*fractions)
