"""Right or wrong in place of answers is refused."""

import numpy as np
import pandas as pd
import pytest

from defero import Team
from defero.core.errors import InputError
from defero.estimators.training_data import coded_experts

RIGHT = np.array([[True, False], [False, True]])


@pytest.mark.parametrize(
    "given", [RIGHT, RIGHT.tolist(), RIGHT.astype(object), pd.DataFrame(RIGHT, columns=["a", "b"])]
)
def test_right_or_wrong_is_no_answer_unless_the_classes_are_true_and_false(given):
    with pytest.raises(InputError, match="ExpertPool or CorrectnessTable") as caught:
        coded_experts(given, np.array([0, 1]), n_items=2)
    assert caught.value.argument == "experts"
    assert coded_experts(given, np.array([False, True]), n_items=2)[0].shape == (2, 2)
    assert coded_experts(given, np.array([False, True], dtype=object), n_items=2)[0].shape == (2, 2)


def test_neither_is_it_when_answers_are_combined():
    team = Team.from_probabilities([[0.5, 0.5], [0.9, 0.1]], [[0.8, 0.7], [0.8, 0.7]])
    with pytest.raises(InputError, match="got True and False"):
        team.next_step(answers=RIGHT)
