"""The picture of the load: bars, accuracies, promises, in the order of the load."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial

from defero.judge import decision_calibration
from defero.plotting import ExpertLoadDisplay, style


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def test_rows_are_the_experts_by_load_with_the_metrics_numbers():
    trial = made_trial(5, silent=(3,))
    display = ExpertLoadDisplay.from_trial(trial, level=0.9)
    usage = decision_calibration(trial.decision, trial.scores.expert_proba, trial.expert_correct, level=0.9)
    order = sorted(range(5), key=lambda j: (-usage.count[j], j))
    assert display.order.tolist() == order
    left, right = display.axes_
    assert [bar.get_width() for bar in left.patches] == (usage.count / len(trial))[order].tolist()
    assert [label.get_text() for label in left.get_yticklabels()] == [f"dr_{j}" for j in order]
    counts = [text.get_text() for text in left.texts]
    assert counts == [str(usage.count[j]) for j in order[:-1]] + ["never asked"]
    asked = order[:-1]
    drawn, promised = right.get_lines()
    assert drawn.get_xydata().tolist() == [[usage.accuracy[j], row] for row, j in enumerate(asked)]
    assert promised.get_xydata() == pytest.approx(np.array([[usage.promised[j], row] for row, j in enumerate(asked)]))
    ends = np.array(right.collections[0].get_segments())
    assert np.array_equal(ends[:, :, 0], np.column_stack([usage.low[asked], usage.high[asked]]))
    assert left.get_xlabel() == f"share of all cases (the model: {style.percent(trial.decision.coverage)})"


def test_the_first_row_is_on_top():
    display = ExpertLoadDisplay.from_trial(made_trial(4))
    for panel in display.axes_:
        bottom, top = panel.get_ylim()
        assert bottom > 3
        assert top < 0


def test_without_probabilities_nothing_is_promised():
    display = ExpertLoadDisplay.from_predictions([0, -1], [["a"], ["b"]], ["a", "b"], expert_names=["ann"])
    assert np.isnan(display.usage.promised).all()
    (only,) = display.axes_[1].get_lines()
    assert "".join(only.get_label().split()) == "accuracy,with95%interval"


def test_all_right_and_nobody_asked_are_drawn():
    display = ExpertLoadDisplay.from_predictions([0, 0], [[1, 1], [1, 1]], [1, 1], expert_proba=np.ones((2, 2)))
    assert display.axes_[1].get_lines()[0].get_xydata().tolist() == [[1.0, 0.0]]
    nobody = ExpertLoadDisplay.from_trial(made_trial(3, defer="nobody"))
    assert [text.get_text() for text in nobody.axes_[0].texts] == ["never asked"] * 3
    assert "the model: 100.0\u00a0%" in nobody.axes_[0].get_xlabel()


def test_every_mark_is_inside_its_panel():
    for seed in range(3):
        display = ExpertLoadDisplay.from_trial(made_trial(6, n_items=40, seed=seed))
        right = display.axes_[1]
        low, high = right.get_xlim()
        for line in right.get_lines():
            assert ((line.get_xdata() >= low) & (line.get_xdata() <= high)).all()
        assert min(end[0, 0] for end in right.collections[0].get_segments()) >= low
        plt.close(display.figure_)
