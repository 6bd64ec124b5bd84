"""A trial is checked once: K and J cannot be swapped, and nobody is asked who said nothing."""

from dataclasses import replace

import numpy as np
import pytest

from defero.core import Decision, ExpertSets, InputError, Scores
from defero.core.trial import PanelTrial, Trial


def decision(expert, names=("ann", "bob")):
    n = len(expert)
    numbers = np.zeros(n, dtype=np.int64)
    return Decision(np.array(expert), names, np.zeros(n), np.zeros(n), numbers, np.zeros(n), numbers - 1)


def trial(**changes):
    scores = Scores.from_probabilities([[0.9, 0.05, 0.05]] * 4, [[0.5, 0.5]] * 4)
    values = {
        "classes": np.array(["a", "b", "c"]),
        "label_idx": np.array([0, 1, 2, 0]),
        "answer_idx": np.array([[0, 1], [1, -1], [-1, 2], [-1, -1]]),
        "scores": scores,
        "decision": decision([-1, 0, 1, -1]),
        "uncalibrated": scores,
    }
    return Trial(**{**values, **changes})


def test_what_was_said_and_what_was_right():
    found = trial()
    assert found.team_label_idx.tolist() == [0, 1, 2, 0]
    assert found.team_correct.tolist() == [True] * 4
    assert found.model_correct.tolist() == [True, False, False, True]
    assert found.expert_correct.tolist() == [[True, False], [True, False], [False, True], [False, False]]
    assert found.observed.sum() == 4


def test_it_cannot_change_afterwards():
    labels = np.array([0, 1, 2, 0])
    found = trial(label_idx=labels)
    labels[0] = 2
    assert found.label_idx[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        found.classes[0] = "z"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"classes": np.array(["a", "b"])}, r"classes must have shape \(3,\) like scores, got \(2,\)"),
        ({"decision": decision([-1] * 4, ("ann",))}, "decision must be among the 2 experts of scores, got 1 names"),
        ({"label_idx": np.array([0, 1, 7, 0])}, r"label_idx must lie in 0..2, got 7 for item 2"),
        (
            {"answer_idx": np.full((4, 2), 3)},
            "answer_idx must be class numbers 0..2, or -1 where missing, got 3",
        ),
        ({"answer_idx": np.zeros((2, 4), int)}, r"answer_idx must have shape \(4, 2\), got \(2, 4\)"),
        ({"label_idx": np.array([0])}, "label_idx must have 4 items like the other arguments, got 1"),
        ({"decision": decision([1, 1, 1, 1])}, "item 1 goes to an expert without a recorded answer; decide among"),
    ],
)
def test_what_does_not_fit_is_told(changes, words):
    with pytest.raises(InputError, match=words):
        trial(**changes)


def test_panels_are_of_these_items_and_experts():
    flags = np.ones(3, dtype=bool)
    sets = ExpertSets(np.ones((3, 2), dtype=bool), ("ann", "bob"))
    panel = PanelTrial(sets, flags, np.zeros(3, int), np.ones(2, bool), "a promise", "any-correct", 0.1)
    with pytest.raises(InputError, match=r"panel must have shape \(4, 2\), got \(3, 2\)"):
        replace(trial(), panel=panel)
