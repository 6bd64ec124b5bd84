"""Rows are new where nothing speaks for a row seen before: keys tell them apart, and in doubt they are not new."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.team.rows import KEYED, CaseMarks, fresh_rows, of_other_experts, seen_after

SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=12)
"""Features, what was said, and a key."""


def marks(rows, *, keyed):
    features, said, keys = (
        np.array(column, dtype=np.uint64) for column in (zip(*rows, strict=True) if rows else [[]] * 3)
    )
    return CaseMarks(features, 100 * features + said, 1000 * features + keys if keyed else None)


def fresh(rows, seen, *, keyed):
    return fresh_rows(marks(rows, keyed=keyed), marks(seen, keyed=keyed))


@pytest.mark.parametrize("keyed", [True, False])
def test_of_rows_that_look_alike_those_that_were_seen_are_found(keyed):
    """Four cases with the same features: the second and fourth were seen, the first and third are judged."""
    found = fresh([(1, 0, 0), (1, 1, 1), (1, 2, 2), (1, 3, 3)], [(1, 1, 1), (1, 3, 3)], keyed=keyed)
    assert found.rows.tolist() == [True, False, True, False]
    assert found.alike == 0


def test_another_label_or_another_answer_makes_no_new_case():
    seen = [(number, 0, number) for number in range(50)]
    again = [(number, 1, number) for number in range(40, 60)]
    for keyed in (True, False):
        found = fresh(again, seen, keyed=keyed)
        assert found.rows.tolist() == [False] * 10 + [True] * 10
        assert found.alike == 0


def test_another_key_makes_a_new_case_and_its_features_are_told():
    seen = [(number, 0, number) for number in range(50)]
    found = fresh([(number, 1, number + 100) for number in range(40, 60)], seen, keyed=True)
    assert found.rows.all()
    assert found.alike == 10


def test_cases_of_few_values_are_new_where_their_keys_are():
    seen = [(number % 3, number % 2, number) for number in range(60)]
    rows = [(0, 7, 100), (1, 7, 101), (9, 7, 102)]
    found = fresh(rows, seen, keyed=True)
    assert found.rows.all()
    assert found.alike == 2
    assert fresh(rows, seen, keyed=False).rows.tolist() == [False, False, True], "without keys nothing says so"


def test_stages_that_kept_no_answers_go_by_features():
    rows, seen = marks([(1, 5, 0), (1, 6, 1), (2, 5, 2)], keyed=False), marks([(1, 5, 0)], keyed=False)
    unsaid = CaseMarks(seen.features, seen.answered[:0])
    found = fresh_rows(rows, unsaid)
    assert found.rows.tolist() == [False, True, True]


@given(SMALL, SMALL, st.booleans())
def test_the_whole_table_again_leaves_exactly_what_was_not_seen(seen, rest, keyed):
    order = np.random.default_rng(len(seen)).permutation(len(seen) + len(rest))
    rows = [[*seen, *rest][place] for place in order]
    found = fresh(rows, seen, keyed=keyed)
    told = [row[::2] if keyed else row[:2] for row in rows]  # what tells them apart
    left = sorted(row for row, new in zip(told, found.rows, strict=True) if new)
    assert left == sorted(row[::2] if keyed else row[:2] for row in rest)
    assert found.alike == 0


@given(SMALL, SMALL, st.booleans())
def test_nothing_seen_by_name_is_ever_judged(rows, seen, keyed):
    found = fresh(rows, seen, keyed=keyed)
    told, known = ([row[::2] if keyed else row[:2] for row in some] for some in (rows, seen))
    for one in set(told):
        judged = sum(bool(new) for row, new in zip(told, found.rows, strict=True) if row == one)
        assert judged <= max(0, told.count(one) - known.count(one))


@given(SMALL, SMALL)
def test_without_keys_as_many_are_left_out_as_have_the_features_of_one_seen(rows, seen):
    found = fresh(rows, seen, keyed=False)
    features, known = ([row[0] for row in some] for some in (rows, seen))
    left_out = sum(min(features.count(one), known.count(one)) for one in set(features))
    assert int((~found.rows).sum()) == left_out


def test_no_rows_and_nothing_seen():
    assert fresh([], [(1, 1, 1)], keyed=True).rows.tolist() == []
    assert fresh([(1, 1, 1)], [], keyed=True).rows.tolist() == [True]


def test_keys_are_forgotten_as_soon_as_a_stage_uses_other_rows():
    """Else rows of that stage, whose keys nobody kept, would be taken for other cases."""
    labels, answers = np.array([0, 1]), np.array([[0], [1]])
    seen = seen_after({}, "fit", np.array([[1.0], [2.0]]), labels, answers, disjoint=False)
    kept = {**seen, KEYED: seen["fit"]}
    assert KEYED not in of_other_experts(kept)
    assert KEYED not in seen_after(kept, "calibrate", np.array([[3.0], [4.0]]), labels, answers, disjoint=False)
