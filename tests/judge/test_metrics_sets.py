import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core import ExpertSets, InputError
from defero.judge import missed_share, set_coverage, set_size

MASK = [[True, False, True], [False, False, False], [True, True, True], [False, True, False]]
RIGHT = [[True, True, True], [True, False, False], [False, False, False], [False, True, False]]


def test_by_hand():
    # Items with a right expert: the first (two of three held), the second (none of one), the fourth (all of one).
    assert set_size(MASK) == 1.5
    assert set_coverage(MASK, RIGHT) == pytest.approx(2 / 3)
    assert set_coverage(MASK, RIGHT, target="all-correct") == pytest.approx(1 / 3)
    assert missed_share(MASK, RIGHT) == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_only_observed_experts_count():
    observed = np.array([[True, False, False], [False, True, True], [True] * 3, [False, True, False]])
    assert set_coverage(MASK, RIGHT, observed) == 1
    assert set_coverage(MASK, RIGHT, observed, target="all-correct") == 1
    assert missed_share(MASK, RIGHT, observed) == 0


@given(st.data())
def test_they_equal_the_obvious_loop(data):
    shape = data.draw(st.tuples(st.integers(0, 12), st.integers(0, 4)))
    mask, correct, observed = (data.draw(arrays(np.bool_, shape)) for _ in range(3))
    one, every, missed = [], [], []
    for inside, right in zip(mask, correct & observed, strict=True):
        experts, panel = set(np.flatnonzero(right)), set(np.flatnonzero(inside))
        if experts:
            one.append(bool(experts & panel))
            every.append(experts <= panel)
            missed.append(len(experts - panel) / len(experts))
    found = [
        set_coverage(mask, correct, observed),
        set_coverage(mask, correct, observed, target="all-correct"),
        missed_share(mask, correct, observed),
    ]
    expected = [np.mean(x) if x else math.nan for x in (one, every, missed)]
    assert found == pytest.approx(expected, nan_ok=True)
    assert missed == [] or 1 - found[0] <= found[2] + 1e-12 <= 1 - found[1] + 2e-12


def test_expert_sets_will_do():
    sets = ExpertSets(np.array(MASK), ("a", "b", "c"))
    assert set_size(sets) == 1.5
    assert set_coverage(sets, RIGHT) == pytest.approx(2 / 3)
    assert missed_share(sets, RIGHT) == missed_share(MASK, RIGHT)


def test_nothing_to_judge_is_nan():
    assert math.isnan(set_size(np.empty((0, 3), bool)))
    assert math.isnan(set_coverage([[True]], [[False]]))
    assert math.isnan(missed_share([[True]], [[True]], [[False]]))


def test_what_is_wrong_is_said():
    with pytest.raises(InputError, match=r"mask must have two axes \(n, J\), .* got shape \(1,\)"):
        set_size([True])
    with pytest.raises(InputError, match=r"correct must have shape \(1, 2\) of the other arguments, got \(1, 1\)"):
        set_coverage([[True, False]], [[True]])
    with pytest.raises(InputError, match=r"observed must have shape \(1, 2\) of the other arguments, got \(2, 1\)"):
        missed_share([[True, False]], [[True, True]], [[True], [True]])
    with pytest.raises(InputError, match="correct must be True or False"):
        missed_share([[True, False]], [[2, 0]])
    with pytest.raises(InputError, match=r"target must be .*, got 'missed-share'; for shares use missed_share"):
        set_coverage([[True]], [[True]], target="missed-share")
