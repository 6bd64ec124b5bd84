"""The reliability picture shows what the bins say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial, overlaps

from defero.core.errors import InputError
from defero.judge import expected_calibration_error, reliability_bins
from defero.plotting import ReliabilityDisplay


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def bars(ax, label):
    return next(group for group in ax.containers if group.get_label() == label)


def test_what_is_drawn_is_what_the_metrics_say():
    trial = made_trial(4, silent=(2,))
    display = ReliabilityDisplay.from_trial(trial, n_bins=7, level=0.9)
    assert display.names == ("model", *trial.expert_names)
    proba, right, seen = trial.scores.expert_proba, trial.expert_correct, trial.observed
    for j, panel in enumerate(display.axes_):
        claimed = trial.scores.model_proba if j == 0 else proba[seen[:, j - 1], j - 1]
        truth = trial.model_correct if j == 0 else right[seen[:, j - 1], j - 1]
        bins = reliability_bins(claimed, truth, n_bins=7, level=0.9)
        used = np.flatnonzero(bins.count[0])
        if not used.size:
            assert panel.get_title() == "dr_2\nno answers"
            assert not panel.containers
            continue
        drawn = lines(panel)
        dots = np.concatenate([drawn["inside"].get_xydata(), drawn["outside"].get_xydata()])
        expected = np.column_stack([bins.confidence[0, used], bins.accuracy[0, used]])
        assert np.allclose(dots[np.argsort(dots[:, 0])], expected)
        boxes = np.array([[box.get_y(), box.get_y() + box.get_height()] for box in bars(panel, "interval")])
        assert np.allclose(boxes, np.column_stack([bins.low[0, used], bins.high[0, used]]))
        heights = np.array([box.get_height() for box in bars(panel, "count")])
        assert np.allclose(heights / heights.max(), bins.count[0, used] / bins.count[0].max())
        error = expected_calibration_error(claimed, truth)
        name = ("model", *trial.expert_names)[j]
        assert panel.get_title() == f"{name}\n{len(claimed):,} answers, off by {100 * error:.1f}\u00a0%"


def test_a_diamond_stands_where_the_interval_misses_the_confidence():
    confidence = np.repeat([0.25, 0.75], 200)
    correct = np.concatenate([np.arange(200) % 4 == 0, np.arange(200) % 4 == 0])  # right in 25 % of both
    panel = ReliabilityDisplay.from_predictions(confidence, correct, n_bins=2).axes_[0]
    assert lines(panel)["inside"].get_xydata().tolist() == [[0.25, 0.25]]
    assert lines(panel)["outside"].get_xydata().tolist() == [[0.75, 0.25]]


def test_arrays_give_the_same_as_a_trial():
    trial = made_trial(3)
    one = ReliabilityDisplay.from_trial(trial, include_model=False)
    other = ReliabilityDisplay.from_predictions(
        trial.scores.expert_proba, trial.expert_correct, observed=trial.observed, names=trial.expert_names
    )
    assert one.names == other.names
    assert np.array_equal(one.bins.accuracy, other.bins.accuracy, equal_nan=True)
    assert np.array_equal(one.error, other.error)


@pytest.mark.parametrize(("n_experts", "rows_columns"), [(1, (1, 2)), (10, (3, 4))])
def test_the_grid_holds_everybody(n_experts, rows_columns):
    display = ReliabilityDisplay.from_trial(made_trial(n_experts, n_items=60))
    places = [panel.get_window_extent().bounds[:2] for panel in display.axes_]
    assert len(places) == n_experts + 1
    assert (len({round(y) for _, y in places}), len({round(x) for x, _ in places})) == rows_columns


def test_all_right_and_fully_sure_is_on_the_diagonal():
    display = ReliabilityDisplay.from_predictions(np.ones((30, 2)), np.ones((30, 2)), names=["ann", "bob"])
    assert lines(display.axes_[0])["inside"].get_xydata().tolist() == [[1.0, 1.0]]
    assert display.axes_[1].get_title() == "bob\n30 answers, off by 0.0\u00a0%"


def test_nobody_at_all_gives_a_sentence():
    with pytest.raises(InputError, match="at least one forecaster, got none"):
        ReliabilityDisplay.from_trial(made_trial(0), include_model=False)


def test_wrong_names_are_refused():
    with pytest.raises(InputError, match="names must be 2 names"):
        ReliabilityDisplay.from_predictions(np.ones((3, 2)), np.ones((3, 2)), names=["ann"])


def test_a_small_room_gets_fewer_columns():
    figure, axes = plt.subplots(1, 2, figsize=(10, 6.5), layout="constrained")
    display = ReliabilityDisplay.from_trial(made_trial(3), ax=axes[0])
    assert len({round(panel.get_window_extent().x0) for panel in display.axes_}) == 2
    assert overlaps(figure) == []
