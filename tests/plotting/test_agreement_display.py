"""Agreement against confidence: a slow twin, the recorded experts only, and what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn_trials import made_trial
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.judge import wilson_interval
from defero.plotting import AgreementDisplay


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


def slow_shares(trial, low, high, *, first):
    """Return (count, mean) of agreement and of right experts among the cases with low < confidence <= high."""
    agree, right = [], []
    for i in range(len(trial)):
        sure = trial.scores.model_proba[i]
        if not (low < sure <= high or (first and sure == low)):
            continue
        answers = [answer for answer in trial.answer_idx[i].tolist() if answer != -1]
        if answers:
            agree.append(sum(answer == trial.scores.class_idx[i] for answer in answers) / len(answers))
            right.append(sum(answer == trial.label_idx[i] for answer in answers) / len(answers))
    return agree, right


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 6), st.sampled_from([0.1, 0.6, 1.1]))
def test_it_is_the_slow_mean_over_recorded_experts(seed, n_experts, n_bins, answered):
    trial = made_trial(n_experts, n_items=25, seed=seed, answered=answered)
    display = AgreementDisplay.from_trial(trial, n_bins=n_bins)
    for b in range(n_bins):
        agree, right = slow_shares(trial, b / n_bins, (b + 1) / n_bins, first=b == 0)
        for share, values in ((display.agree, agree), (display.expert_right, right)):
            assert share.count[b] == len(values)
            if not values:
                assert np.isnan(share.accuracy[b])
                continue
            assert share.accuracy[b] == pytest.approx(np.mean(values))
            ends = wilson_interval(sum(values), len(values), level=1 - 0.05 / n_bins)
            assert (share.low[b], share.high[b]) == pytest.approx(ends)
    plt.close(display.figure_)


def test_lines_and_counts_are_the_shares():
    trial = made_trial(3)
    display = AgreementDisplay.from_trial(trial)
    shares = {
        "model right": "model_right",
        "experts right, on average": "expert_right",
        "model and experts agree": "agree",
    }
    for line in display.ax_.get_lines():
        if line.get_label() in shares:
            share = getattr(display, shares.pop(line.get_label()))
            some = share.count > 0
            assert np.array_equal(line.get_xydata(), np.column_stack([display.confidence, share.accuracy])[some])
    assert shares == {}
    (counts,) = display.ax_.containers
    heights = np.array([bar.get_height() for bar in counts])
    assert np.allclose(heights / heights.max(), display.model_right.count / display.model_right.count.max())
    assert display.model_right.count.sum() == 400
    total = np.nansum(display.model_right.count * display.model_right.accuracy)
    assert total == pytest.approx(trial.model_correct.sum())


def test_names_are_taken_like_numbers():
    kinds = np.array(["cat", "dog"])
    named = AgreementDisplay.from_predictions(
        [0.6, 0.9, 0.9], kinds[[0, 1, 1]], [["dog", "dog"], ["dog", "cat"], ["dog", None]], kinds[[1, 1, 1]]
    )
    assert named.agree.accuracy[[5, 8]].tolist() == [0.0, 0.75]
    assert named.agree.count[[5, 8]].tolist() == [1, 2]


def test_cases_without_any_answer_count_for_the_model_alone():
    display = AgreementDisplay.from_predictions([0.7, 0.7], [0, 0], [[-1], [-1]], [0, 1])
    assert display.model_right.accuracy[6] == 0.5
    assert display.agree.count.sum() == 0
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("predicted", "answers", "name"),
    [
        ([0, 1], [["a"], ["b"]], "model_labels"),
        (["a", "b"], [[-1], [1]], "answers"),
        (["a", "b"], [[0], [1]], "answers"),
    ],
)
def test_names_beside_numbers_are_refused(predicted, answers, name):
    with pytest.raises(InputError, match=f"{name} must have the form of labels, got .* beside 'a'"):
        AgreementDisplay.from_predictions([0.7, 0.7], predicted, answers, ["a", "b"])


def test_logits_are_refused():
    with pytest.raises(InputError, match="confidence must lie in \\[0, 1\\]"):
        AgreementDisplay.from_predictions([1.7], [0], [[0]], [0])
