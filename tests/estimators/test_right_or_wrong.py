"""Right or wrong in place of answers is refused."""

import numpy as np
import pytest

from defero.core.errors import InputError
from defero.estimators.training_data import coded_experts


def test_right_or_wrong_is_no_answer_unless_the_classes_are_true_and_false():
    right = np.array([[True, False], [False, True]])
    with pytest.raises(InputError, match="ExpertPool or CorrectnessTable") as caught:
        coded_experts(right, np.array([0, 1]), n_items=2)
    assert caught.value.argument == "experts"
    assert coded_experts(right, np.array([False, True]), n_items=2)[0].shape == (2, 2)
