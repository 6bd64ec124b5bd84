"""Parts in order of time, and parts as a column says."""

import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.core.splits import split_by_time
from defero.core.table import ExpertTable

shares = st.lists(st.integers(1, 20), min_size=1, max_size=5).map(lambda parts: tuple(p / sum(parts) for p in parts))
moments = st.lists(st.integers(-20, 20), min_size=1, max_size=60).map(np.array)


@given(moments, shares)
def test_all_of_a_part_is_earlier_than_all_of_the_next(times, fractions):
    try:
        parts = split_by_time(times, fractions)
    except InputError:
        assume(False)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(times)))
    assert all(len(part) and (np.diff(part) > 0).all() for part in parts)
    assert all(times[now].max() < times[then].min() for now, then in pairwise(parts))


@given(moments, shares)
def test_sizes_are_within_one_run_of_equal_times_of_the_wish(times, fractions):
    try:
        parts = split_by_time(times, fractions)
    except InputError:
        assume(False)
    longest = np.unique(times, return_counts=True)[1].max()
    assert all(abs(len(part) - f * len(times)) <= longest + 1e-9 for part, f in zip(parts, fractions, strict=True))


@given(st.permutations(range(40)), shares)
def test_different_times_are_cut_as_a_sorted_list_is(times, fractions):
    ends = [0, *(round(float(end) * 40 - 1e-7) for end in np.cumsum(fractions)[:-1]), 40]
    assume(all(low < high for low, high in pairwise(ends)))
    parts = split_by_time(np.array(times), fractions)
    assert [sorted(np.array(times)[p].tolist()) for p in parts] == [
        list(range(low, high)) for low, high in pairwise(ends)
    ]


def test_times_are_numbers_or_dates_of_any_kind():
    days = ["2020-03-01", "2019-12-31", "2020-01-01", "2020-03-01", "2021-01-01"]
    table = ExpertTable([0, 1, 0, 1, 0], [[0]] * 5, features=np.arange(5)[:, None])
    dates = np.array(days, dtype="datetime64[D]")
    stamps = pd.to_datetime(pd.Series(days)).dt.tz_localize("UTC")
    for times in (
        dates,
        [datetime.date.fromisoformat(day) for day in days],
        stamps,
        dates.astype(int),
        dates - dates[0],
    ):
        early, late = table.split(0.4, 0.6, times=times)
        assert early.features[:, 0].tolist() == [1, 2]
        assert late.features[:, 0].tolist() == [0, 3, 4]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, np.nan, 2.0, 3.0], "times must be given in every row, got nan in row 1; fill it in or drop the row"),
        (np.array(["2020-01-01", "NaT", "2020-01-02", "2020"], "M8[D]"), "times must be given .* none in row 1"),
        ([datetime.date(2020, 1, 1), None, None, None], "times must be given in every row, got none in row 1"),
        (
            ["3/1/2020", "4/1/2019", "a", "b"],
            "times must be numbers or dates, got the text 3/1/2020 in row 0; convert it",
        ),
        ([datetime.date(2020, 1, 1), 3, 4, 5], "times must be of one type .*, got a mixture"),
        ([1, 2, 3], "times must have 4 items like the other arguments, got 3"),
        ([[1, 2], [3, 4]], r"times must have one axis \(n,\)"),
        ([7, 7, 7, 8], r"stay together, which leaves none for part 1 of size 0.25 \(4 rows have 2 different times\)"),
        ([7, 7, 7, 7], r"stay together, which leaves none for part 1 .* or pass finer times"),
    ],
)
def test_what_is_wrong_with_times_is_said(times, message):
    with pytest.raises(InputError, match=message):
        ExpertTable([0, 1, 0, 1], [[0]] * 4).split(0.25, 0.75, times=times)


def test_groups_and_times_exclude_each_other():
    with pytest.raises(InputError, match=r"groups and times cannot be used together: .*; pass one of them"):
        ExpertTable([0, 1], [[0]] * 2).split(0.5, 0.5, groups=[1, 2], times=[1, 2])
