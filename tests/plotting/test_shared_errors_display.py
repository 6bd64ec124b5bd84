"""The heat map of shared errors: cells, frames, whom it shows, and what it says of little."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial, texts
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from defero.core.errors import InputError
from defero.metrics import shared_errors
from defero.plotting import SharedErrorsDisplay, style
from defero.plotting.shared_errors import MOST_EXPERTS, SHOWN


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def crowd(n_experts, *, copy=(), n=400, seed=0):
    """Return answers and labels; each (a, b) of `copy` gives the same answers."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    answers = np.where(rng.random((n, n_experts)) < 0.75, labels[:, None], rng.integers(3, size=(n, n_experts)))
    for a, b in copy:
        answers[:, b] = answers[:, a]
    return answers, labels


def patches(display):
    """Return {(row, column): strength} of the coloured cells, and the framed (row, column)."""
    cells, frames = {}, set()
    for patch in display.ax_.patches:
        assert isinstance(patch, Rectangle)
        column, row = (round(edge + 0.45) for edge in patch.get_xy())
        if patch.get_fill():
            cells[row, column] = patch.get_alpha()
            assert to_hex(patch.get_facecolor()) == style.TEAM
        else:
            frames.add((row, column))
    return cells, frames


def test_cells_are_as_strong_as_the_correlation_and_named_pairs_have_frames():
    answers, labels = crowd(5, copy=[(1, 4)])
    display = SharedErrorsDisplay.from_predictions(answers, labels, expert_names=list("abcde"))
    assert display.shown == (1, 4, 0, 2, 3)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list("beacd")
    correlation = shared_errors(answers, labels).correlation[np.ix_(display.shown, display.shown)]
    cells, frames = patches(display)
    assert frames == {(0, 1), (1, 0)}
    assert set(cells) == {(r, c) for r, c in np.argwhere(correlation > 0).tolist()}
    strongest = max(cells.values())
    assert all(cells[cell] == pytest.approx(strongest * correlation[cell] / np.nanmax(correlation)) for cell in cells)
    numbers = {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in display.ax_.texts}
    assert set(numbers) == {(r, c) for r in range(5) for c in range(5) if r != c}
    assert all(
        float(word.replace("\u2212", "-")) == pytest.approx(correlation[at], abs=0.0051) for at, word in numbers.items()
    )
    assert "\u22120.00" not in numbers.values()


def test_a_trial_is_the_same_as_its_arrays():
    trial = made_trial(4)
    drawn = SharedErrorsDisplay.from_trial(trial)
    arrays = SharedErrorsDisplay.from_predictions(trial.answer_idx, trial.label_idx, trial.scores.expert_proba)
    assert np.array_equal(drawn.errors.correlation, arrays.errors.correlation, equal_nan=True)
    assert drawn.errors.names == trial.expert_names


def test_too_few_shared_answers_are_hatched_and_explained():
    display = SharedErrorsDisplay.from_trial(made_trial(3, silent=(1,)))
    (hatched,) = [one for one in display.ax_.collections if isinstance(one, PatchCollection) and one.get_hatch()]
    assert len(hatched.get_paths()) == 4
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["0.5", "1: copies", "too few shared answers"]
    whole = SharedErrorsDisplay.from_predictions(*crowd(4, copy=[(0, 1)]))
    assert [text.get_text() for text in whole.ax_.get_legend().get_texts()][-1] == "same mistakes, beyond chance"


def test_of_many_experts_those_most_alike_are_drawn():
    assert len(SharedErrorsDisplay.from_predictions(*crowd(MOST_EXPERTS)).shown) == MOST_EXPERTS
    display = SharedErrorsDisplay.from_predictions(*crowd(MOST_EXPERTS + 1, copy=[(3, 29), (29, 30)]))
    assert len(display.shown) == SHOWN
    assert display.shown[:3] == (3, 29, 30)
    assert list(display.shown[3:]) == sorted(display.shown[3:])
    assert display.ax_.texts[:] == []
    words = [text for text, _ in texts(display.figure_)]
    assert words.count("expert_29") == 2


def test_one_expert_is_refused_and_nobody_too():
    with pytest.raises(InputError, match="at least two experts, got one"):
        SharedErrorsDisplay.from_predictions([[0], [1]], [0, 1])
    with pytest.raises(InputError, match="at least one expert, got none"):
        SharedErrorsDisplay.from_predictions(np.zeros((2, 0), dtype=int), [0, 1])
    assert plt.get_fignums() == []
