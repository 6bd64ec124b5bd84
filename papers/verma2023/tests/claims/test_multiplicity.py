"""Many claims at once: p values by scipy, directions and p values agree, and Holm's correction by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from defero_verma2023.claims.bounds import ABOVE_ZERO, within
from defero_verma2023.claims.cells import Block, mean_over_settings, over_seeds
from defero_verma2023.claims.multiplicity import after_holm_in_words, corrected
from defero_verma2023.claims.rules import in_every_setting, in_some_setting, on_average
from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, CONTRADICTED, INCONCLUSIVE, NOT_RUN, Verdict
from defero_verma2023.page.short import in_short

three = st.lists(st.floats(-3, 3), min_size=3, max_size=3, unique=True)


@given(three)
def test_the_p_value_is_that_of_student_s_test(values):
    p = ABOVE_ZERO.p_value(over_seeds(np.array(values), scale=1.0, n_settings=1))
    assert p == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, abs=1e-9)


def test_the_nearer_of_two_bounds_counts():
    values = (0.9, 1.0, 1.2)
    p = within(2.0).p_value(over_seeds(np.array(values), scale=1.0, n_settings=1))
    assert p == pytest.approx(stats.ttest_1samp(values, 2.0).pvalue)
    assert math.isnan(within(2.0).p_value(over_seeds(np.array([1.0]), scale=1.0, n_settings=1)))
    assert within(2.0).p_value(over_seeds(np.array([1.0, 1.0]), scale=1.0, n_settings=1)) == 0.0


@given(st.lists(three, min_size=1, max_size=4), st.sampled_from(["mean", "every", "some"]))
def test_a_direction_is_settled_where_p_is_below_a_twentieth(rows, kind):
    grid = Block(tuple(map(float, range(len(rows)))), (0, 1, 2), np.array(rows))
    rules = {
        "mean": on_average(ABOVE_ZERO),
        "every": in_every_setting(ABOVE_ZERO),
        "some": in_some_setting(ABOVE_ZERO),
    }
    ruling = rules[kind](mean_over_settings(grid, scale=100.0), grid)
    assert (ruling.direction == INCONCLUSIVE) == math.isnan(ruling.p_value)
    assert not ruling.p_value >= 0.05


def verdict(direction, p_value=math.nan):
    return Verdict("Sets grow", "Fig. 3a, top", "", None, None, None, direction, "", p_value=p_value)


def test_holm_counts_all_that_could_be_settled():
    several = [
        verdict(CONFIRMED, 0.001),  # times 4
        verdict(CONTRADICTED, 0.02),  # times 3
        verdict(CONFIRMED),  # one seed
        verdict(INCONCLUSIVE),
        verdict(CANNOT_DECIDE),
        verdict(NOT_RUN),
    ]
    rows = corrected(several)
    assert [one.adjusted_p for one in rows[:3]] == pytest.approx([0.004, 0.06, 1.0])
    assert all(math.isnan(one.adjusted_p) for one in rows[3:])
    assert [one.only_by_itself for one in rows] == [False, True, True, False, False, False]
    assert rows[0].direction_words == "**confirmed**"
    assert rows[1].direction_words == "**contradicted**, not after Holm"
    said = "With Holm's correction for 4 verdicts 1 of 2 confirmed and 0 of 1 contradicted remain."
    assert after_holm_in_words(rows) == said
    assert list(in_short(rows[1:2])) == ["Contradicted somewhere: sets grow (Fig. 3a: not after Holm's correction)."]
    assert corrected([]) == ()
    assert after_holm_in_words([]) == ""
