"""Rows are new unless they are the same beyond their features, or share these more often than chance would have it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from defero.router.fresh import fresh_rows

SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12)


def marks(rows):
    """Fingerprints with and without what tells cases apart."""
    return (
        np.array([10 * features + more for features, more in rows], dtype=np.uint64),
        np.array([features for features, _ in rows], dtype=np.uint64),
    )


def fresh(rows, seen, *, chance=0.0):
    (exact, features), (known, used) = marks(rows), marks(seen)
    return fresh_rows(exact, known, features=features, used=used, chance=lambda: chance)


def test_of_rows_that_look_alike_those_that_were_seen_are_found():
    """Four cases with the same features: the second and fourth were seen, the first and third are judged."""
    found = fresh([(1, 0), (1, 1), (1, 2), (1, 3)], [(1, 1), (1, 3)])
    assert found.rows.tolist() == [True, False, True, False]
    assert found.alike == 0


def test_a_row_with_another_label_is_the_same_case_where_features_tell_cases_apart():
    seen = [(number, 0) for number in range(50)]
    found = fresh([(number, 1) for number in range(40, 60)], seen)
    assert found.rows.tolist() == [False] * 10 + [True] * 10
    assert found.alike == 0


def test_new_cases_of_few_values_are_judged_and_counted():
    seen = [(number % 3, number % 2) for number in range(60)]
    found = fresh([(0, 7), (1, 7), (9, 7)], seen, chance=1 / 3)
    assert found.rows.all()
    assert found.alike == 2


def test_rows_that_repeat_forgive_no_more_than_chance_does():
    """No column says so, but half of the rows seen repeat another: so may a new one."""
    seen = [(number // 2, number) for number in range(40)]
    assert fresh([(3, 100)], seen).alike == 1
    apart = [(number, number) for number in range(40)]
    assert not fresh([(3, 100)], apart).rows.any()


@given(SMALL, SMALL)
def test_the_whole_table_again_leaves_exactly_what_was_not_seen(seen, rest):
    order = np.random.default_rng(len(seen)).permutation(len(seen) + len(rest))
    rows = [[*seen, *rest][place] for place in order]
    found = fresh(rows, seen, chance=1.0)
    assert sorted(row for row, new in zip(rows, found.rows, strict=True) if new) == sorted(rest)
    assert found.alike == 0


@given(SMALL, SMALL)
def test_nothing_seen_beyond_the_features_is_ever_judged(rows, seen):
    found = fresh(rows, seen, chance=1.0)
    for row in set(rows):
        judged = sum(bool(new) for one, new in zip(rows, found.rows, strict=True) if one == row)
        assert judged <= max(0, rows.count(row) - seen.count(row))


def test_no_rows_and_nothing_seen():
    assert fresh([], [(1, 1)]).rows.tolist() == []
    assert fresh([(1, 1)], []).rows.tolist() == [True]
