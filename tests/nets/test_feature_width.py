"""A trunk's width: one look that leaves no trace."""

import copy

import pytest
import torch
from torch import nn

from defero.core.errors import InputError
from defero.nets import feature_width


def noisy_trunk():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5))


def test_the_width_is_found():
    assert feature_width(noisy_trunk(), torch.randn(1, 3, 8, 8)) == 4


def test_statistics_gradients_modes_and_chance_stay_as_they_were():
    trunk = noisy_trunk()
    trunk[1].eval()
    before, modes = copy.deepcopy(trunk.state_dict()), [part.training for part in trunk.modules()]
    chance = torch.get_rng_state()
    feature_width(trunk, torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)))
    assert all(torch.equal(value, before[name]) for name, value in trunk.state_dict().items())
    assert [part.training for part in trunk.modules()] == modes
    assert all(weight.grad is None for weight in trunk.parameters())
    assert torch.equal(torch.get_rng_state(), chance)


def test_batches_that_are_no_tensors():
    class OfWords(nn.Module):
        def forward(self, batch):
            return batch["words"].float()

    assert feature_width(OfWords(), {"words": torch.zeros(2, 7, dtype=torch.long)}) == 7


class Gives(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, batch):
        return self.value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.zeros(2, 3, 4), r"must map a batch to \(2, features\), got a tensor of shape \(2, 3, 4\)"),
        (torch.zeros(2), r"got a tensor of shape \(2,\); pool and flatten"),
        (torch.zeros(3, 4), r"must map a batch to \(2, features\), got a tensor of shape \(3, 4\)"),
        ((torch.zeros(2, 4),), "got a tuple"),
    ],
)
def test_what_is_no_matrix_of_features(value, message):
    with pytest.raises(InputError, match=message):
        feature_width(Gives(value), torch.zeros(2, 5))


def test_a_batch_that_the_trunk_cannot_take_and_the_mode_after_it():
    trunk = nn.Linear(4, 2)
    with pytest.raises(InputError, match=r"the trunk Linear cannot take a tensor of shape \(2, 5\)"):
        feature_width(trunk, torch.zeros(2, 5))
    assert trunk.training
