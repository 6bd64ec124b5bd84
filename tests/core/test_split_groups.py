"""Parts of whole groups: none in two parts, sizes within one largest group, classes shared out."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from defero.core.errors import InputError
from defero.core.splits import deal_groups, refuse_shared_groups, split_groups
from defero.core.table import ExpertTable

shares = st.lists(st.integers(1, 20), min_size=1, max_size=5).map(lambda parts: tuple(p / sum(parts) for p in parts))
rows = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3)), min_size=1, max_size=70).map(np.array)
seeds = st.integers(0, 2**32)


def numbered(values):
    return np.unique(values, return_inverse=True)[1]


def cut(groups, classes, fractions, seed=0):
    return split_groups(groups, classes, fractions, rng=np.random.default_rng(seed))


@given(rows, shares, seeds)
def test_parts_hold_every_row_once_and_no_group_twice(table, fractions, seed):
    groups, classes = table.T
    try:
        parts = cut(groups, classes, fractions, seed)
    except InputError:
        assume(False)
    assert len(parts) == len(fractions)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert all(len(part) and (np.diff(part) > 0).all() for part in parts)
    of_parts = [set(groups[part].tolist()) for part in parts]
    assert sum(map(len, of_parts)) == len(set(groups.tolist()))
    refuse_shared_groups(groups, parts)
    assert all(map(np.array_equal, parts, cut(groups, classes, fractions, seed)))


@given(rows, shares, seeds)
def test_sizes_are_within_one_largest_group_of_the_wish(table, fractions, seed):
    groups, classes = numbered(table[:, 0]), table[:, 1]
    part_of = deal_groups(groups, classes, fractions, rng=np.random.default_rng(seed))
    sizes = np.bincount(part_of[groups], minlength=len(fractions))
    assert np.abs(sizes - np.array(fractions) * len(groups)).max() <= np.bincount(groups).max() + 1e-6


@given(rows, shares, seeds)
def test_the_first_part_knows_every_class_where_it_has_room(table, fractions, seed):
    groups, classes = numbered(table[:, 0]), table[:, 1]
    sizes = np.bincount(groups)
    needed = sum(sizes[groups[classes == k]].min() for k in set(classes.tolist()))
    n_needed = len(set(classes.tolist()))
    assume(needed <= fractions[0] * len(groups) and len(sizes) - n_needed >= len(fractions) - 1)
    part_of = deal_groups(groups, classes, fractions, rng=np.random.default_rng(seed))
    assert set(classes[part_of[groups] == 0].tolist()) == set(classes.tolist())


def slow_twin(groups, classes, fractions, rng):
    """The same deal, everything counted anew at every step."""
    sizes, n = np.bincount(groups), len(groups)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    chances, part_of = rng.random(len(order)), np.full(len(sizes), -1)
    wish, known, chosen = np.array(fractions) * n, set(), []
    by_rarity = sorted(set(classes.tolist()), key=lambda k: (len(set(groups[classes == k].tolist())), k))
    for k in by_rarity:
        group = [g for g in order if k in classes[groups == g]][-1]
        if k not in known and sum(sizes[chosen]) < wish[0] - 1e-9 and len(sizes) - len(chosen) > len(fractions) - 1:
            chosen.append(group)
            known |= set(classes[groups == group].tolist())
    part_of[chosen] = 0
    for group, chance in zip(order, chances, strict=True):
        if part_of[group] >= 0:
            continue
        have = np.array([sizes[part_of == p].sum() for p in range(len(wish))])
        after = np.maximum(0, have[None] + np.eye(len(wish)) * sizes[group] - wish).sum(axis=1)
        free = np.flatnonzero((have < wish - 1e-9) & (after <= sizes.max() + 1e-9))
        empty = np.flatnonzero(have == 0)
        if not len(free):
            part_of[group] = np.argmax(wish - have)
            continue
        if (part_of < 0).sum() <= len(empty) and set(free) & set(empty):
            free = np.array(sorted(set(free) & set(empty)))
        want = np.zeros(len(wish))
        for k in set(classes[groups == group].tolist()):
            is_k = classes == k
            count = (is_k & (groups == group)).sum()
            for p in free:
                dealt = (is_k & (part_of[groups] >= 0)).sum() + count
                want[p] += count * (fractions[p] * dealt - (is_k & (part_of[groups] == p)).sum()) / is_k.sum()
        want = np.maximum(0, want[free])
        if chance * want.sum() == 0:
            part_of[group] = free[np.argmax((wish - have)[free])]
        else:
            part_of[group] = free[np.searchsorted(np.cumsum(want), chance * want.sum(), side="right")]
    return part_of


@given(rows, st.sampled_from([(1.0,), (0.5, 0.5), (0.25, 0.75), (0.5, 0.25, 0.125, 0.125)]), st.integers(0, 1_000))
def test_a_slow_twin_deals_the_same(table, fractions, seed):
    groups, classes = numbered(table[:, 0]), table[:, 1]
    quick = deal_groups(groups, classes, fractions, rng=np.random.default_rng(seed))
    assert quick.tolist() == slow_twin(groups, classes, fractions, np.random.default_rng(seed)).tolist()


def worst_share(classes, parts, fractions):
    totals = np.bincount(classes)
    return max(
        np.abs(np.bincount(classes[part], minlength=len(totals)) / totals - fraction).max()
        for part, fraction in zip(parts, fractions, strict=True)
    )


@pytest.mark.parametrize("classes_of", ["group", "row"])
def test_classes_are_shared_out_as_well_as_by_scikit_learn(classes_of):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(1_500), rng.choice([1, 2, 3, 4, 6], p=[0.74, 0.19, 0.04, 0.02, 0.01], size=1_500))
    drawn = rng.choice(5, p=[0.7, 0.15, 0.1, 0.04, 0.01], size=len(groups))
    classes = drawn[groups] if classes_of == "group" else drawn
    fractions = (0.2,) * 5
    theirs = [test for _, test in StratifiedGroupKFold(5, shuffle=True, random_state=0).split(classes, classes, groups)]
    limit = worst_share(classes, theirs, fractions) + 1 / np.bincount(classes).min()
    for seed in range(5):
        assert worst_share(classes, cut(groups, classes, fractions, seed), fractions) <= limit


def test_large_groups_are_shared_out_like_small_ones():
    groups = np.repeat(np.arange(300), [5] * 60 + [1] * 240)
    classes = np.arange(300)[groups] % 2
    fractions = (0.5, 0.3, 0.2)
    for seed in range(20):
        part_of = deal_groups(groups, classes, fractions, rng=np.random.default_rng(seed))
        large = np.bincount(part_of[:60], minlength=3)
        assert np.abs(large - 60 * np.array(fractions)).max() <= 4  # two classes, each within two groups


def test_lesions_of_real_patients_stay_together():
    data = os.environ.get("DEFERO_DATA")
    file = Path(data or "") / "ham10000" / "HAM10000_metadata.csv"
    if data is None or not file.exists():
        pytest.skip("DEFERO_DATA does not name a folder with ham10000")
    lesions = pd.read_csv(file)
    table = ExpertTable(lesions["dx"], np.empty((len(lesions), 0)), features=lesions[["lesion_id"]])
    fractions = (0.5, 0.15, 0.15, 0.2)
    parts = table.split(*fractions, random_state=0, groups=lesions["lesion_id"])
    seen = pd.concat([part.features["lesion_id"].drop_duplicates() for part in parts])
    assert not seen.duplicated().any()
    assert sum(map(len, parts)) == len(lesions)
    totals = np.bincount(table.label_idx)
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(len(part) - fraction * len(lesions)) <= 2
        assert np.abs(np.bincount(part.label_idx) / totals - fraction).max() < 0.01


def test_groups_have_any_type_and_the_seed_settles_the_parts():
    names = ["ann", "bob", "cem", "dot", "eve", "fay"] * 4
    table = ExpertTable([0, 1] * 12, [[0], [1]] * 12, features=np.arange(24)[:, None])
    kinds = (names, np.array(names), pd.Series(names, dtype="category"), pd.Series(names, dtype="string"))
    first, *others = ([p.features.tolist() for p in table.split(0.5, 0.5, random_state=3, groups=g)] for g in kinds)
    assert all(other == first for other in others)
    assert [len(part) for part in first] == [12, 12]
    assert any(
        [p.features.tolist() for p in table.split(0.5, 0.5, random_state=seed, groups=names)] != first
        for seed in range(4, 9)
    )


def test_as_many_groups_as_parts_fill_every_part():
    for seed in range(20):
        parts = cut(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 2, 2]), (0.5, 0.25, 0.25), seed)
        assert [len(part) for part in parts] == [2, 2, 2]


@pytest.mark.parametrize(
    ("groups", "fractions", "message"),
    [
        ([1, 1, 2], (0.4, 0.3, 0.3), "groups: 2 groups cannot fill 3 parts; ask for fewer parts"),
        ([1, 2], (0.5, 0.5), "groups must have 3 items like the other arguments, got 2"),
        ([1, None, 2], (0.5, 0.5), "groups must be given in every row, got none in row 1; fill it in or drop the row"),
        ([1, 2, np.nan], (0.5, 0.5), "groups must be given in every row, got nan in row 2"),
        ([1, 2, {}], (0.5, 0.5), "groups must be text or numbers, got a cell that is neither"),
        ([1, 2, 3], (0.5, 0.4), "fractions must be positive and add up to 1, got 0.5, 0.4"),
        ([1, 2, 3], (0.98, 0.01, 0.01), "3 groups, the largest of 1 rows, left none for part [23] of size 0.01; ask"),
    ],
)
def test_what_is_wrong_with_groups_is_said(groups, fractions, message):
    with pytest.raises(InputError, match=message):
        ExpertTable([0, 1, 0], [[0]] * 3).split(*fractions, random_state=0, groups=groups)


def test_a_group_in_two_given_parts_is_refused():
    parts = (np.array([0, 2]), np.array([1]))
    with pytest.raises(InputError, match="groups: ann is in parts 1 and 2; a group must be in one part only"):
        refuse_shared_groups(np.array(["ann", "ann", "bob"]), parts)
