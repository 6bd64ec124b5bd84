"""The sizes of panels: counted before filling, on deferred cases alone."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial, texts

from defero.core.errors import InputError
from defero.core.results import ExpertSets
from defero.core.trial import Trial
from defero.judge import set_size
from defero.judge.panels import panel_record
from defero.plotting import SetSizeDisplay


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def bars(ax):
    return {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}


def test_the_bars_are_the_sizes_before_filling():
    trial = made_trial(4)
    display = SetSizeDisplay.from_trial(trial)
    chosen = trial.panel.deferred
    sizes = trial.panel.sets.raw_mask[chosen].sum(axis=1).tolist()
    assert display.count.tolist() == [sizes.count(size) for size in range(5)]
    drawn = bars(display.ax_)
    assert all(drawn.get(size, 0) == pytest.approx(sizes.count(size) / len(sizes)) for size in range(5))
    (line,) = display.ax_.get_lines()
    assert line.get_xdata()[0] == pytest.approx(np.mean(sizes))


def test_the_means_are_those_of_the_record():
    trial = made_trial(4)
    display, record = SetSizeDisplay.from_trial(trial), panel_record(trial)
    assert display.n_filled > 0
    assert display.mean == pytest.approx(record.raw_size)
    assert display.filled_mean == pytest.approx(record.filled_size)
    assert display.filled_mean == pytest.approx(set_size(trial.panel.sets.mask[trial.panel.deferred]))


def test_empty_panels_are_hatched_and_named():
    sets = ExpertSets(np.array([[True, False], [True, True]]), ("ann", "bob"), np.array([True, False]))
    display = SetSizeDisplay.from_predictions(sets)
    assert bars(display.ax_) == {0: 0.5, 1: 0.0, 2: 0.5}
    assert [bar.get_hatch() for bar in display.ax_.patches if round(bar.get_x() + 0.4) == 0] == ["////"]
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [fact in words[0] for fact in ("mean 1.00", "1.50")] == [True, True]
    assert "(1 case)" in words[1]


def test_only_empty_panels_are_drawn():
    display = SetSizeDisplay.from_predictions(np.zeros((3, 2), dtype=bool))
    assert bars(display.ax_) == {0: 1.0}
    display.figure_.canvas.draw()


def test_nothing_deferred_is_said_in_the_picture():
    display = SetSizeDisplay.from_trial(made_trial(3, defer="nobody"))
    assert np.isnan(display.mean)
    assert "no case was deferred" in [text for text, _ in texts(display.figure_)]


def test_a_trial_without_panels_gives_a_sentence():
    trial = made_trial(2)
    bare = Trial(trial.classes, trial.label_idx, trial.answer_idx, trial.scores, trial.decision, trial.scores)
    with pytest.raises(InputError, match="call conformalize"):
        SetSizeDisplay.from_trial(bare)


def test_numbers_in_place_of_sets_are_refused():
    with pytest.raises(InputError, match=r"sets must be .* got shape \(1, 2\) of float64"):
        SetSizeDisplay.from_predictions([[0.5, 0.2]])
