import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core import InputError
from defero.decide.panels import conformal_quantile
from defero.decide.panels.thresholds import rows_needed

score = st.one_of(st.integers(0, 4).map(float), st.floats(-1e6, 1e6))  # the integers make ties
scores_1d = arrays(float, st.integers(2, 30), elements=score)
alphas = st.floats(0.02, 0.98)


@given(scores_1d, alphas)
def test_leave_one_out_coverage_is_exact(scores, alpha):
    kept = [s <= conformal_quantile(np.delete(scores, i), alpha=alpha) for i, s in enumerate(scores)]
    assert np.mean(kept) >= 1 - alpha - 1e-9


@given(st.integers(1, 60), alphas)
def test_without_ties_it_keeps_at_most_one_rank_more(n, alpha):
    kept = [s <= conformal_quantile(np.delete(np.arange(n + 1.0), s), alpha=alpha) for s in range(n + 1)]
    assert np.mean(kept) <= 1 - alpha + 1 / (n + 1) + 1e-9


def test_ranks_by_hand():
    assert conformal_quantile(np.arange(1.0, 100.0), alpha=0.1) == 90  # the 90th of 99, not the 91st
    assert conformal_quantile([3.0, 1.0, 2.0], alpha=0.5) == 2
    assert conformal_quantile(np.arange(1.0, 100.0), alpha=0.95) == 5  # 100 * (1 - 0.95) is above 5 in floats


@given(st.floats(0.001, 0.999))
def test_it_excludes_nothing_until_there_are_enough_rows(alpha):
    needed = rows_needed(alpha)
    assert conformal_quantile(np.zeros(needed), alpha=alpha) == 0
    assert conformal_quantile(np.zeros(needed - 1), alpha=alpha) == math.inf


@pytest.mark.parametrize(("alpha", "needed"), [(0.5, 1), (0.1, 9), (0.05, 19), (0.01, 99), (1 / 3, 2), (0.3, 3)])
def test_rows_needed_by_hand(alpha, needed):
    assert rows_needed(alpha) == needed


def test_it_does_not_write_into_its_argument():
    scores = np.array([3.0, 1.0, 2.0])
    conformal_quantile(scores, alpha=0.5)
    assert scores.tolist() == [3, 1, 2]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, math.nan])
def test_alpha_must_be_a_share(alpha):
    with pytest.raises(InputError, match=r"alpha must lie in \(0, 1\), got .*; for 90% coverage pass 0.1"):
        conformal_quantile([1.0], alpha=alpha)


def test_scores_must_be_numbers_in_one_row():
    with pytest.raises(InputError, match="scores must be numbers, got nan for item 1"):
        conformal_quantile([1.0, math.nan], alpha=0.1)
    with pytest.raises(InputError, match=r"scores must have one axis \(n,\), .* got shape \(1, 1\)"):
        conformal_quantile([[1.0]], alpha=0.1)
