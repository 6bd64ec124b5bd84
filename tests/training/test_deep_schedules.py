"""Learning rates, optimisers and the weights' average, by hand and beside torch's own."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from defero.core.errors import InputError
from defero.training.loop_settings import LoopSettings
from defero.training.optimisers import WeightAverage, learning_rate_at, make_optimiser, set_learning_rate


@pytest.mark.parametrize(("total", "warm_up", "peak"), [(10, 0.3, 0.1), (97, 0.2, 0.4), (200, 0.25, 1.0)])
def test_one_cycle_is_that_of_torch(total, warm_up, peak):
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=peak)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, peak, total_steps=total, pct_start=warm_up)
    for step in range(total):
        ours = learning_rate_at(step, total_steps=total, peak=peak, kind="one-cycle", warm_up=warm_up)
        assert ours == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-9)
        optimiser.step()
        if step < total - 1:
            schedule.step()


def test_cosine_by_hand():
    rates = [learning_rate_at(i, total_steps=8, peak=2.0, kind="cosine", warm_up=0.25) for i in range(8)]
    falling = [1 + math.cos(math.pi * i / 6) for i in range(6)]
    assert rates == pytest.approx([1.0, 2.0, *falling])


def test_constant_is_constant():
    assert {learning_rate_at(i, total_steps=5, peak=0.3, kind="constant", warm_up=0.5) for i in range(5)} == {0.3}


@given(
    st.integers(1, 300),
    st.floats(0, 0.99),
    st.sampled_from(["one-cycle", "cosine", "constant"]),
)
def test_rates_lie_between_zero_and_the_peak(total, warm_up, kind):
    rates = [learning_rate_at(i, total_steps=total, peak=1.0, kind=kind, warm_up=warm_up) for i in range(total)]
    assert all(0 <= rate <= 1 + 1e-12 for rate in rates)


def test_adamw_decays_matrices_alone():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 2))
    groups = make_optimiser(net, LoopSettings(optimiser="adamw", weight_decay=0.1)).param_groups
    assert [(group["weight_decay"], len(group["params"])) for group in groups] == [(0.1, 2), (0.0, 4)]


def test_sgd_decays_everything_with_nesterov():
    net = nn.Linear(2, 2)
    (group,) = make_optimiser(net, LoopSettings(weight_decay=0.1)).param_groups
    assert (group["weight_decay"], group["nesterov"], len(group["params"])) == (0.1, True, 2)


def test_a_frozen_parameter_is_left_out():
    net = nn.Linear(2, 2)
    net.bias.requires_grad_(False)
    assert len(make_optimiser(net, LoopSettings()).param_groups[0]["params"]) == 1


def test_rate_reaches_every_group():
    optimiser = make_optimiser(nn.Linear(2, 2), LoopSettings(optimiser="adamw"))
    set_learning_rate(optimiser, 0.7)
    assert [group["lr"] for group in optimiser.param_groups] == [0.7, 0.7]


def test_average_by_hand():
    net = nn.BatchNorm1d(1)
    average = WeightAverage(net, decay=0.5)
    seen = [1.0]
    for step, value in enumerate([3.0, -1.0, 7.0]):
        nn.init.constant_(net.weight, value)
        net.num_batches_tracked += 1
        average.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        seen.append(decay * seen[-1] + (1 - decay) * value)
        assert average.state()["weight"].item() == pytest.approx(seen[-1])
    assert int(average.state()["num_batches_tracked"]) == 3


def test_average_is_lent_and_taken_back():
    net = nn.Linear(1, 1)
    nn.init.constant_(net.weight, 0.0)
    average = WeightAverage(net, decay=0.0)
    nn.init.constant_(net.weight, 4.0)
    weight = net.weight
    with average.applied():
        assert net.weight.item() == 0.0
        assert net.weight is weight
    assert net.weight.item() == 4.0


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"optimiser": "lion"}, "sgd, adamw"),
        ({"schedule": "steps"}, "one-cycle, cosine, constant"),
        ({"compile": "yes"}, "auto, off, default"),
        ({"epochs": 0}, "at least 1"),
        ({"patience": 0}, "at least 1"),
        ({"learning_rate": -1.0}, "at least 0"),
        ({"warm_up": 1.0}, "[0, 1)"),
        ({"ema_decay": 1.0}, "[0, 1)"),
        ({"clip_norm": 0.0}, "positive"),
    ],
)
def test_loop_settings_are_checked(options, fact):
    with pytest.raises(InputError) as error:
        LoopSettings(**options)
    (name, value), *_ = options.items()
    assert error.value.argument == name
    assert fact in str(error.value)
    assert repr(value) in str(error.value)
