"""The heat map of skill: colours, numbers, and cells without answers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial
from matplotlib.collections import PatchCollection

from defero.core.errors import InputError
from defero.judge import skill_by_class
from defero.plotting import SkillDisplay, style


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def test_cells_are_the_metrics_shares():
    trial = made_trial(5, n_classes=3, silent=(4,))
    display = SkillDisplay.from_trial(trial)
    skill = skill_by_class(trial.expert_correct, trial.label_idx, 3, observed=trial.observed)
    drawn = display.ax_.collections[0].get_array()
    assert drawn.shape == (5, 3)
    assert np.array_equal(drawn.filled(np.nan), skill.accuracy, equal_nan=True)
    assert np.array_equal(np.ma.getmaskarray(drawn), skill.count == 0)
    numbers = {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in display.ax_.texts}
    assert numbers == {(j, k): f"{100 * skill.accuracy[j, k]:.0f}" for j in range(4) for k in range(3)}
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [f"dr_{j}" for j in range(5)]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["class 0", "class 1", "class 2"]


def test_cells_without_answers_are_hatched_and_explained():
    display = SkillDisplay.from_trial(made_trial(3, n_classes=2, silent=(1,)))
    (hatched,) = [one for one in display.ax_.collections if isinstance(one, PatchCollection)]
    corners = sorted(path.vertices.min(axis=0).tolist() for path in hatched.get_paths())
    assert corners == [[-0.5, 0.5], [0.5, 0.5]]
    assert hatched.get_hatch()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["no answers"]
    assert SkillDisplay.from_trial(made_trial(3, n_classes=2)).ax_.get_legend() is None


def test_many_cells_have_no_numbers():
    assert len(SkillDisplay.from_trial(made_trial(12, n_classes=10)).ax_.texts) == 120
    assert len(SkillDisplay.from_trial(made_trial(13, n_classes=10)).ax_.texts) == 0


def test_numbers_stand_out_from_their_cells():
    display = SkillDisplay.from_trial(made_trial(12, n_classes=10))
    mesh = display.ax_.collections[0]
    for text in display.ax_.texts:
        column, row = text.get_position()
        ground = _luminance(mesh.to_rgba(np.asarray(display.skill.accuracy[row, column]))[:3])
        ink = _luminance([int(text.get_color()[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) > 4


def _luminance(rgb):
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_all_right_no_answers_at_all_and_one_class():
    everything = SkillDisplay.from_predictions(np.ones((4, 2)), [0, 0, 1, 1], classes=["a", "b"])
    assert {text.get_text() for text in everything.ax_.texts} == {"100"}
    nothing = SkillDisplay.from_predictions(np.ones((2, 1)), [0, 1], classes=["a", "b"], observed=np.zeros((2, 1)))
    nothing.figure_.canvas.draw()
    one = SkillDisplay.from_predictions([[True]], [0], classes=["a"])
    one.figure_.canvas.draw()
    assert one.ax_.collections[0].get_cmap().name == style.HEAT


def test_one_axis_is_refused():
    with pytest.raises(InputError, match=r"correct must have two axes \(n, J\), .* got shape \(2,\)"):
        SkillDisplay.from_predictions([True, False], [0, 1], classes=["a", "b"])
