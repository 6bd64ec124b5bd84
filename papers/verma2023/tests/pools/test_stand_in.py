import numpy as np
import pytest

from defero import InputError
from defero_verma2023.pools.stand_in import STAND_IN_ACCURACY, stand_in_human


def test_the_stand_in_is_right_as_often_as_it_says():
    labels = np.random.default_rng(0).integers(2, size=1_000_000)
    stand_in = stand_in_human(labels, rng=np.random.default_rng(1))
    assert STAND_IN_ACCURACY == 0.765
    for y in (0, 1):
        assert abs(np.mean(stand_in[labels == y] == y) - 0.765) < 0.003
    three = stand_in_human(np.zeros(100_000, int), rng=np.random.default_rng(1), accuracy=0.4, n_classes=3)
    assert np.all(np.abs(np.bincount(three) / 1e5 - [0.4, 0.3, 0.3]) < 0.01)


def test_a_stand_in_needs_a_probability_two_classes_and_a_generator():
    with pytest.raises(InputError, match=r"accuracy must be a probability in \[0, 1\], got 76.5"):
        stand_in_human([0], rng=np.random.default_rng(0), accuracy=76.5)
    with pytest.raises(InputError, match=r"n_classes must be .*at least 2, got 1"):
        stand_in_human([0], rng=np.random.default_rng(0), n_classes=1)
    with pytest.raises(InputError, match=r"rng must be a numpy\.random\.Generator"):
        stand_in_human([0], rng=0)
