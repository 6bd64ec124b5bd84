"""Rules by hand: the interval on the claim's side, on the other, across; one seed; every setting; the seeds needed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from defero_verma2023.claims.bounds import ABOVE_ZERO, MOST_SEEDS, Bounds, within
from defero_verma2023.claims.cells import Block, at_its_most, mean_over_settings, over_seeds
from defero_verma2023.claims.rules import in_every_setting, in_some_setting, on_average
from defero_verma2023.claims.verdict import (
    AS_PUBLISHED,
    CONFIRMED,
    CONTRADICTED,
    INCONCLUSIVE,
    LARGER,
    SMALLER,
    Estimate,
    size_of,
)

SIDE, OTHER, ACROSS = (0.9, 1.0, 1.1), (-0.9, -1.0, -1.1), (-1.0, 0.5, 2.0)
"""Three seeds: intervals [0.75, 1.25], [-1.25, -0.75] and [-3.23, 4.23]."""


def grid(*rows):
    return Block(tuple(map(float, range(len(rows)))), tuple(range(len(rows[0]))), np.array(rows))


def estimate(values):
    return over_seeds(np.array(values), scale=1.0, n_settings=1)


@pytest.mark.parametrize(
    ("values", "bounds", "direction"),
    [
        (SIDE, ABOVE_ZERO, CONFIRMED),
        (OTHER, ABOVE_ZERO, CONTRADICTED),
        (ACROSS, ABOVE_ZERO, INCONCLUSIVE),
        (SIDE, within(2.0), CONFIRMED),
        (SIDE, within(1.0), INCONCLUSIVE),
        (SIDE, within(0.5), CONTRADICTED),
        (OTHER, within(0.5), CONTRADICTED),
        (SIDE, Bounds(high=2.0), CONFIRMED),
        (SIDE, Bounds(low=1.3), CONTRADICTED),
        ((0.0, 0.0, 0.0), ABOVE_ZERO, INCONCLUSIVE),
        ((1.0,), ABOVE_ZERO, INCONCLUSIVE),
    ],
)
def test_the_interval_against_the_bounds_is_the_direction(values, bounds, direction):
    ruling = on_average(bounds)(estimate(values), grid(values))
    assert ruling.direction == direction
    assert direction == INCONCLUSIVE or ruling.seeds_needed is None


@pytest.mark.parametrize(
    ("rows", "direction", "words"),
    [
        ((SIDE, SIDE), CONFIRMED, "holds in 2 of 2 settings."),
        ((SIDE, ACROSS), INCONCLUSIVE, "holds in 1 of 2 settings; 1 inconclusive."),
        ((SIDE, SIDE, OTHER), CONTRADICTED, "holds in 2 of 3 settings; 1 contradicted."),
        ((ACROSS, ACROSS), INCONCLUSIVE, "holds in 0 of 2 settings; 2 inconclusive."),
        # No setting's widened interval is below 0, that of their mean is.
        (
            ((-1.0, -0.1, -0.4), (-0.1, -1.0, -0.4), (-0.4, -0.4, -0.6)),
            CONTRADICTED,
            "0 of 3 settings; 3 inconclusive.",
        ),
        (((1.0,), (2.0,)), INCONCLUSIVE, "holds in 0 of 2 settings; 2 inconclusive."),
    ],
)
def test_a_claim_about_every_setting_is_decided_setting_by_setting(rows, direction, words):
    values = grid(*rows)
    ruling = in_every_setting(ABOVE_ZERO, scale=1.0)(mean_over_settings(values, scale=1.0), values)
    assert ruling.direction == direction
    assert ruling.words.endswith(words)


def test_a_setting_that_is_picked_out_needs_a_wider_interval():
    low = (-0.1, -0.3, -0.2)  # [-0.45, 0.05] of one setting, at 95 %
    lower = (-0.15, -0.25, -0.2)  # [-0.32, -0.08] at 95 %, [-0.65, 0.25] as one of twenty
    for row, n_others, direction in ((low, 0, INCONCLUSIVE), (lower, 0, CONTRADICTED), (lower, 19, INCONCLUSIVE)):
        values = grid(row, *[SIDE] * n_others)
        ruling = in_every_setting(ABOVE_ZERO, scale=1.0)(mean_over_settings(values, scale=1.0), values)
        assert ruling.direction == direction


@pytest.mark.parametrize(
    ("rows", "direction"),
    [
        ((SIDE, OTHER, OTHER), CONFIRMED),
        ((OTHER, OTHER), CONTRADICTED),
        ((ACROSS, OTHER), INCONCLUSIVE),
        (((1.0,), (2.0,)), INCONCLUSIVE),
    ],
)
def test_a_claim_about_some_setting_is_the_opposite_on_the_other_side(rows, direction):
    values = grid(*rows)
    assert in_some_setting(ABOVE_ZERO)(at_its_most(values, scale=100.0), values).direction == direction


def test_every_setting_needs_the_seeds_of_the_hardest_and_a_counterexample_those_of_the_easiest():
    easy, hard, wrong, worse = (0.0, 1.0, 2.0), (-0.5, 0.5, 1.5), (-1.3, -0.1, 1.0), (-1.5, -0.5, 0.5)

    def needed(*rows):
        values = grid(*rows)
        return in_every_setting(ABOVE_ZERO, scale=1.0)(mean_over_settings(values, scale=1.0), values).seeds_needed

    assert needed(SIDE, easy, hard) == ABOVE_ZERO.seeds_needed(estimate(hard))
    wide = at_its_most(grid(*[[-value for value in row] for row in (worse, wrong, SIDE, SIDE)]), scale=1.0)
    assert needed(SIDE, SIDE, wrong, worse) == ABOVE_ZERO.seeds_needed(wide)
    assert needed(SIDE, (-1.0, 0.0, 1.0)) is None


def slow_seeds(mean, deviation, bounds, level=0.95):
    """Try every number of seeds, with scipy's interval."""
    for n in range(2, MOST_SEEDS + 1):
        low, high = stats.t.interval(level, n - 1, loc=mean, scale=deviation / math.sqrt(n))
        if not any(low <= bound <= high for bound in bounds):
            return n
    return None


@given(
    st.floats(-3, 3), st.floats(0.01, 3), st.sampled_from([(0.0, math.inf), (-1.0, 1.0)]), st.sampled_from([0.95, 0.99])
)
def test_seeds_needed_are_those_of_the_slow_search(mean, deviation, bounds, level):
    if min(abs(mean - bound) for bound in bounds) < 0.2:  # the slow search would take minutes
        return
    value = Estimate(mean, math.nan, math.nan, 3, 1, deviation, level)
    assert Bounds(*bounds).seeds_needed(value) == slow_seeds(mean, deviation, bounds, level)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=5, unique=True))
def test_more_seeds_are_needed_exactly_where_these_settle_nothing(values):
    value = estimate(values)
    needed = ABOVE_ZERO.seeds_needed(value)
    settled = ABOVE_ZERO.direction(value) != INCONCLUSIVE
    assert settled == (needed is not None and needed <= len(values))


def test_no_number_of_seeds_moves_a_mean_off_its_bound():
    assert ABOVE_ZERO.seeds_needed(Estimate(0.0, -1.0, 1.0, 3, 1, 0.5)) is None
    assert ABOVE_ZERO.seeds_needed(Estimate(1e-6, -1.0, 1.0, 3, 1, 0.5)) is None
    assert ABOVE_ZERO.seeds_needed(Estimate(1.0, math.nan, math.nan, 1, 1)) is None


@pytest.mark.parametrize(
    ("published", "size"),
    [(1.1, AS_PUBLISHED), (1.5, AS_PUBLISHED), (1.504, AS_PUBLISHED), (2.0, SMALLER), (0.5, LARGER)],
)
def test_size_is_the_published_number_against_the_interval(published, size):
    ours, theirs = Estimate(1.25, 1.0, 1.5, 3, 9), Estimate(published, math.nan, math.nan, 1, 9)
    assert size_of(ours, theirs) == size
    assert size_of(ours, None) == ""
    assert size_of(Estimate(1.25, math.nan, math.nan, 1, 9), theirs) == ""
