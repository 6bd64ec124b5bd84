"""Two systems on the same items: beside scipy, slow loops and simulations in which nothing is to be found."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, multinomial
from study_results import write_study

from defero.core.errors import InputError
from defero.judge import Comparison, compare, holm
from defero.judge.intervals import _lower_end

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def sides(items):
    return [first for first, _ in items], [second for _, second in items]


def of_counts(both, only_first, only_second, neither):
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    return sides(
        [k for k, times in zip(kinds, (both, only_first, only_second, neither), strict=True) for _ in range(times)]
    )


def test_a_case_by_hand():
    """3 against 1: P(at most 1 of 4) = 5 / 16, doubled."""
    found = compare(*of_counts(5, 3, 1, 1))
    assert found.p_value == pytest.approx(10 / 16)
    assert (found.n, found.first, found.second, found.only_first, found.only_second) == (10, 0.8, 0.6, 3, 1)
    assert found.difference == pytest.approx(0.2)
    assert found.low <= found.difference <= found.high
    assert found.level == 0.95


def interval(first, second, *, level=0.95):
    found = compare(first, second, level=level)
    return found.low, found.high


def ends_of(only_first, only_second, n, *, level):
    return _lower_end(only_first, only_second, n, level=level), -_lower_end(only_second, only_first, n, level=level)


@pytest.mark.parametrize(
    ("first", "second"),
    [(0, 0), (1, 0), (0, 7), (4, 4), (5, 4), (30, 10), (500, 520), (3, 900), (40_000, 40_700), (90_000, 1)],
)
def test_mcnemar_is_the_binomial_test(first, second):
    found = compare(*of_counts(3, first, second, 2)).p_value
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert found == pytest.approx(expected, rel=1e-7)


@given(pairs)
def test_swapping_the_two_turns_everything_around(items):
    first, second = sides(items)
    one, other = compare(first, second), compare(second, first)
    assert one.p_value == other.p_value
    assert (one.only_first, one.only_second) == (other.only_second, other.only_first)
    for ours, theirs in [(one.difference, other.difference), (one.low, other.high), (one.high, other.low)]:
        assert ours == -theirs or (math.isnan(ours) and math.isnan(theirs))


@given(pairs)
def test_the_counts_are_those_of_a_loop(items):
    found = compare(*sides(items))
    assert found.only_first == sum(first and not second for first, second in items)
    assert found.only_second == sum(second and not first for first, second in items)
    assert 0 < found.p_value <= 1
    if items:
        assert found.difference == pytest.approx(found.first - found.second)
        assert -1 <= found.low <= found.difference <= found.high <= 1
    assert found.clear == (found.p_value <= 0.05)


def slow_score(first, second, n, difference):
    """The score statistic with the constrained likelihood maximised by a search."""
    most = (1 - difference) / 2

    def negative(q):
        rest = max(1 - 2 * q - difference, 1e-300)
        counts = ((first, q + difference), (second, q), (n - first - second, rest))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in counts)

    least = max(0.0, -difference)
    q = minimize_scalar(negative, bounds=(least, most), method="bounded", options={"xatol": 1e-12}).x
    return (first - second - n * difference) / math.sqrt(n * (2 * q + difference * (1 - difference)))


@pytest.mark.parametrize(
    ("only_first", "only_second", "n"), [(6, 4, 10), (12, 2, 50), (0, 0, 30), (5, 0, 100), (1, 30, 60)]
)
def test_the_ends_are_where_the_score_test_rejects(only_first, only_second, n):
    found = interval(*of_counts(n - only_first - only_second, only_first, only_second, 0))
    halves = only_first + 0.5, only_second + 0.5, n + 1
    assert [slow_score(*halves, end) for end in found] == pytest.approx([1.959964, -1.959964], abs=2e-4)


def test_the_level_widens_the_interval():
    wide = [interval(*of_counts(50, 30, 20, 20), level=level) for level in (0.5, 0.9, 0.99)]
    assert wide[2][0] < wide[1][0] < wide[0][0] < wide[0][1] < wide[1][1] < wide[2][1]


def test_one_way_alone_still_has_the_difference_in_its_interval():
    low, high = interval([True] * 10, [False] * 10)
    assert 0.3 < low < 0.7
    assert high == 1
    assert interval([False], [True])[0] == -1


def coverage(n, first_alone, second_alone):
    """Return how often the interval holds the true difference, exactly: the sum over all pairs of counts."""
    held = 0.0
    for only_first in range(n + 1):
        for only_second in range(n + 1 - only_first):
            rest = n - only_first - only_second
            counts, chances = (
                (only_first, only_second, rest),
                (first_alone, second_alone, 1 - first_alone - second_alone),
            )
            weight = float(multinomial.pmf(counts, n, chances))
            if weight > 1e-9:
                low, high = ends_of(only_first, only_second, n, level=0.95)
                held += weight * (low <= first_alone - second_alone <= high)
    return held


@pytest.mark.parametrize(("n", "shares"), [(30, (0.3, 0.001)), (30, (0.1, 0.1)), (40, (0.2, 0.02)), (80, (0.07, 0.01))])
def test_coverage_where_the_plain_score_interval_falls_short(n, shares):
    """Tango's own interval covers 93.1, 95.2, 93.0 and 93.2 % here."""
    assert coverage(n, *shares) >= 0.948


@pytest.mark.slow
def test_the_interval_of_team_minus_model_covers():
    """2,000 studies for each size and each pair of chances; the result is committed."""
    rng, n_runs, found = np.random.default_rng(0), 2_000, {}
    started = time.process_time()
    for n in (30, 60, 100, 300):
        for shares in ((0.02, 0.02), (0.05, 0.01), (0.1, 0.02), (0.1, 0.05), (0.2, 0.1), (0.3, 0.001), (0.25, 0.25)):
            drawn = rng.multinomial(n, (*shares, 1 - sum(shares)), size=n_runs)
            ends = np.array([ends_of(int(one), int(two), n, level=0.95) for one, two, _ in drawn])
            difference = shares[0] - shares[1]
            found[f"n={n}, P(team alone)={shares[0]}, P(model alone)={shares[1]}"] = float(
                np.mean((ends[:, 0] <= difference) & (difference <= ends[:, 1]))
            )
    write_study("paired_interval", runs=n_runs, seed=0, cpu_seconds=time.process_time() - started, coverage=found)
    assert min(found.values()) >= 0.94


def test_nothing_to_compare():
    none = compare([], [])
    assert none.to_dict() == {
        "n": 0, "first": None, "second": None, "difference": None, "low": None, "high": None,
        "level": 0.95, "p_value": 1.0, "only_first": 0, "only_second": 0, "clear": False,
    }  # fmt: skip
    same = compare([True, False], [True, False])
    assert (same.difference, same.p_value, same.clear) == (0, 1, False)
    one = compare([True], [False])
    assert (one.difference, one.p_value, one.clear) == (1, 1, False)
    assert same.low < -0.5 < 0.5 < same.high
    assert one.low < 0 < one.high


def test_better_is_said_by_the_exact_test():
    """Five cases of one kind are p = 1/16 and six are 1/32, whatever the interval says."""
    five, six = (compare(*of_counts(90 - won, won, 0, 10)) for won in (5, 6))
    assert five.low > 0
    assert (five.p_value, five.clear) == (pytest.approx(1 / 16), False)
    assert (six.p_value, six.clear) == (pytest.approx(1 / 32), True)
    assert not compare(*of_counts(84, 6, 0, 10), level=0.99).clear
    one = compare([True], [False])
    assert isinstance(one, Comparison)


def slow_holm(p_values):
    adjusted, running, left = {}, 0.0, len(p_values)
    for place in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        running = max(running, min(1.0, left * p_values[place]))
        adjusted[place], left = running, left - 1
    return [adjusted[place] for place in range(len(p_values))]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_the_slow_loop(p_values):
    found = holm(p_values)
    assert found.tolist() == pytest.approx(slow_holm(p_values))
    assert (found >= np.array(p_values)).all()
    assert (found <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12).all()


def test_holm_errs_in_few_studies():
    rng = np.random.default_rng(2)
    assert np.mean([holm(rng.random(10)).min() < 0.05 for _ in range(4_000)]) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare([True], [True, False]), "second_correct must have 1 items like the other arguments, got 2"),
        (lambda: compare([0.5], [1]), "first_correct must be True or False"),
        (
            lambda: compare([1], [1], level=95),
            r"level must lie in \(0, 1\), got 95; for a 95% interval pass",
        ),
        (lambda: holm([0.5, 1.5]), r"p_values must lie in \[0, 1\], got 1.5 for item 1"),
    ],
)
def test_wrong_input_is_told(call, message):
    with pytest.raises(InputError, match=message):
        call()
