"""The deferral curve's picture: lines, ends, and the mark where the team stands."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.judge import deferral_curve, wilson_interval
from defero.plotting import DeferralCurveDisplay


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def by_label(ax, start):
    return next(line for line in ax.get_lines() if str(line.get_label()).startswith(start))


def slow_curve(trial):
    """Defer one case more each time, only among those that somebody can take."""
    decision = trial.decision
    can = [i for i in range(len(trial)) if decision.best_expert[i] != -1]
    can.sort(key=lambda i: -(decision.best_value[i] - decision.model_value[i]))
    accuracies = []
    for most in range(len(can) + 1):
        sent = set(can[:most])
        right = sum(
            trial.answer_idx[i, decision.best_expert[i]] == trial.label_idx[i] if i in sent else trial.model_correct[i]
            for i in range(len(trial))
        )
        accuracies.append(right / len(trial))
    return np.arange(len(can) + 1) / len(trial), np.array(accuracies)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.2, 0.6, 1.1]))
def test_the_curve_of_a_trial_is_the_slow_one(seed, n_experts, answered):
    trial = made_trial(n_experts, n_items=23, seed=seed, answered=answered)
    if (trial.decision.best_expert == -1).all():
        return
    display = DeferralCurveDisplay.from_trial(trial)
    rate, accuracy = slow_curve(trial)
    assert np.allclose(display.curve.rate, rate)
    assert np.allclose(display.curve.accuracy, accuracy)
    assert np.all(display.curve.oracle >= display.curve.accuracy - 1e-12)
    assert np.allclose(display.curve.random[[0, -1]], accuracy[[0, -1]])
    # The team's own rule is one point of its curve.
    place = round(display.used.rate * len(trial))
    assert display.used.accuracy == pytest.approx(accuracy[place])
    plt.close(display.figure_)


def test_with_every_answer_recorded_it_is_the_metric_itself():
    trial = made_trial(3, answered=1.1)
    decision, rows = trial.decision, np.arange(400)
    curve = deferral_curve(
        trial.model_correct,
        trial.expert_correct[rows, decision.best_expert],
        decision.best_value - decision.model_value,
    )
    drawn = DeferralCurveDisplay.from_trial(trial)
    for name in ("rate", "accuracy", "random", "oracle"):
        assert np.array_equal(getattr(drawn.curve, name), getattr(curve, name))


def test_lines_ends_and_mark_are_where_the_numbers_are():
    trial = made_trial(3)
    display = DeferralCurveDisplay.from_trial(trial)
    ax, curve = display.ax_, display.curve
    for start, values in (("team", curve.accuracy), ("random", curve.random), ("best order", curve.oracle)):
        assert np.array_equal(by_label(ax, start).get_xdata(), curve.rate)
        assert np.array_equal(by_label(ax, start).get_ydata(), values)
    model, everything = by_label(ax, "model alone"), by_label(ax, "all deferred")
    assert model.get_xydata().tolist() == [[0.0, trial.model_correct.mean()]]
    assert everything.get_xydata().tolist() == [[curve.rate[-1], curve.accuracy[-1]]]
    assert model.get_label() == f"model alone: {100 * trial.model_correct.mean():.1f}\u00a0%"
    (mark,) = ax.containers
    share, right = trial.decision.deferred.mean(), trial.team_correct.mean()
    assert mark.lines[0].get_xydata() == pytest.approx(np.array([[share, right]]))
    low, high = wilson_interval(trial.team_correct.sum(), 400)
    assert mark.lines[2][0].get_segments()[0][:, 1].tolist() == pytest.approx([low, high])
    assert mark.get_label() == f"as used: {100 * share:.1f}\u00a0% deferred, {100 * right:.1f}\u00a0% right"
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == mark.get_label()


def test_arrays_without_a_choice_have_no_mark():
    display = DeferralCurveDisplay.from_predictions([True, False], [True, True], [0.1, 0.4])
    assert display.used is None
    assert not display.ax_.containers
    assert display.curve.accuracy.tolist() == [0.5, 1.0, 1.0]


def test_arrays_with_a_choice_mark_it():
    used = DeferralCurveDisplay.from_predictions([1, 0, 0], [0, 1, 0], [0.3, 0.2, 0.1], deferred=[1, 1, 0]).used
    assert (used.rate, used.accuracy) == (2 / 3, 1 / 3)


def test_all_right_is_a_flat_line():
    display = DeferralCurveDisplay.from_predictions(np.ones(5), np.ones(5), np.zeros(5), deferred=np.zeros(5))
    assert set(display.curve.accuracy) == {1.0}
    display.figure_.canvas.draw()
