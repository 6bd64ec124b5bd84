import math

import numpy as np
import pytest

from defero.core import InputError
from defero.judge.calibration import check_forecasts


def brier(confidence, correct):
    return float(np.mean((confidence - correct) ** 2))


def test_a_column_holds_what_was_observed_of_it():
    forecasts = check_forecasts([[0.1, 0.2], [0.3, 0.4]], [[1, 0], [0, 1]], [[True, False], [True, True]])
    (first, first_right), (second, second_right) = forecasts.column(0), forecasts.column(1)
    assert (first.tolist(), first_right.tolist()) == ([0.1, 0.3], [True, False])
    assert (second.tolist(), second_right.tolist()) == ([0.4], [True])
    assert forecasts.n_experts == 2


def test_what_was_not_observed_may_hold_anything():
    confidence, correct = [[0.1, np.nan], [0.3, -7.0]], [[1.0, np.nan], [0.0, -1.0]]
    forecasts = check_forecasts(confidence, correct, [[1, 0], [1, 0]])
    assert forecasts.average(brier, None) == pytest.approx([0.45, np.nan], nan_ok=True)


def test_nothing_of_the_caller_is_changed_and_arrays_of_any_layout_are_taken():
    confidence, correct = np.asfortranarray(np.full((4, 3), 0.5)), np.ones((4, 3), dtype=np.int8)
    confidence.flags.writeable = correct.flags.writeable = False
    forecasts = check_forecasts(confidence, correct)
    assert forecasts.average(brier, "experts") == 0.25
    assert all(forecasts.column(j)[0].flags.c_contiguous for j in range(3))


def test_one_axis_gives_one_number_whatever_the_average():
    forecasts = check_forecasts([0.5, 1.0], [1, 1], [1, 0])
    assert [forecasts.average(brier, average) for average in ("experts", None)] == [0.25, 0.25]
    assert math.isnan(check_forecasts([], []).average(brier, None))


def test_an_expert_without_a_value_does_not_spoil_the_mean():
    forecasts = check_forecasts([[0.5, 0.5]], [[1, 0]])
    assert forecasts.average(lambda confidence, correct: math.nan if correct[0] else 3.0, "experts") == 3.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_forecasts([["a"]], [[1]]), r"confidence must be numbers in \[0, 1\]"),
        (lambda: check_forecasts(0.5, 1), r"confidence must have one axis \(n,\) or two \(n, J\), got shape \(\)"),
        (lambda: check_forecasts([0.5], [1, 0]), r"correct must have shape \(1,\) of the other arguments, got \(2,\)"),
        (
            lambda: check_forecasts([[0.5, 0.5]], [[1, 0]], [1, 0]),
            r"observed must have shape \(1, 2\) of the other arguments, got \(2,\)",
        ),
        (lambda: check_forecasts([[0.5, 2]], [[1, 0]]), "got 2 at row 0, column 1; pass probabilities, not logits"),
        (lambda: check_forecasts([0.5, -1], [1, 0], name="expert_proba"), "expert_proba must lie .* got -1 for item 1"),
        (lambda: check_forecasts([0.5], [1], [2]), "observed must be True or False .* got 2 for item 0"),
        (lambda: check_forecasts([[0.5, 0.5]], [[1, 3]]), "correct must be True or False .* at row 0, column 1"),
        (lambda: check_forecasts([0.5], [1]).average(brier, "mean"), "average must be one of experts, None"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
