"""Trunks and heads put together: one branch or two, and what must not be shared."""

import pytest
import torch
from small_nets import seeded
from torch import nn

from defero.core.errors import InputError
from defero.losses import ova_loss
from defero.nets import DeferralHead, DeferralNet


def trunk(width=8):
    return nn.Sequential(nn.Linear(5, width), nn.ReLU())


def two_branches(*, model_column=False):
    return DeferralNet.build(
        trunk(8),
        torch.zeros(2, 5),
        n_classes=3,
        n_experts=4,
        expert_trunk=trunk(6),
        model_column=model_column,
        generator=seeded(),
    )


def test_one_branch_is_the_head_of_the_trunk():
    below, head, batch = trunk(), DeferralHead(8, 3, 4, generator=seeded()), torch.randn(7, 5)
    net = DeferralNet(below, head)
    for whole, part in zip(net(batch)[:2], head(below(batch))[:2], strict=True):
        assert torch.equal(whole, part)
    assert (net.n_classes, net.n_experts) == (3, 4)


@pytest.mark.parametrize("model_column", [False, True])
def test_two_branches_have_widths_of_their_own(model_column):
    net = two_branches(model_column=model_column)
    logits = net(torch.randn(7, 5))
    assert logits.classes.shape == (7, 3)
    assert logits.experts.shape == (7, 4)
    assert (logits.model is not None) == model_column
    assert (net.head.in_features, net.expert_head.in_features) == (8, 6)
    assert (net.n_classes, net.n_experts) == (3, 4)


def touched(part):
    return any(weight.grad is not None for weight in part.parameters())


def test_neither_loss_reaches_the_other_branch():
    net, batch = two_branches(), torch.randn(7, 5)
    net(batch).classes.square().sum().backward()
    assert touched(net.trunk)
    assert touched(net.head)
    assert not touched(net.expert_trunk)
    assert not touched(net.expert_head)
    net.zero_grad()
    net(batch).experts.square().sum().backward()
    assert touched(net.expert_trunk)
    assert not touched(net.trunk)


def test_a_head_of_their_own_reads_the_trunk_and_leaves_it_alone():
    net = DeferralNet.build(trunk(), torch.zeros(2, 5), n_classes=3, n_experts=4, detached=True)
    batch = torch.randn(7, 5)
    torch.nn.init.normal_(net.expert_head.weight)
    net(batch).experts.square().sum().backward()
    assert touched(net.expert_head)
    assert not touched(net.trunk)
    assert not touched(net.head)
    torch.testing.assert_close(net.with_features(batch)[1], net.trunk(batch))
    assert (net.n_classes, net.n_experts) == (3, 4)


def test_the_whole_loss_reaches_every_weight():
    net, batch = two_branches(), torch.randn(64, 5)
    logits = net(batch)
    ova_loss(logits.classes, logits.experts, torch.arange(64) % 3, torch.ones(64, 4)).mean().backward()
    assert all(weight.grad is not None for weight in net.parameters())


def test_permuting_experts_permutes_their_logits_alone():
    net, batch, order = DeferralNet(trunk(), DeferralHead(8, 3, 4, generator=seeded())), torch.randn(7, 5), [2, 0, 3, 1]
    before = net(batch)
    columns = [0, 1, 2, *(3 + j for j in order)]
    with torch.no_grad():
        net.head.weight.copy_(net.head.weight[columns].clone())
    after = net(batch)
    assert torch.allclose(after.classes, before.classes, atol=1e-6)
    assert torch.allclose(after.experts, before.experts[:, order], atol=1e-6)


def test_heads_and_trunks_that_do_not_go_together():
    one, head, classes, experts = trunk(), DeferralHead(8, 3, 4), DeferralHead(8, 3, 0), DeferralHead(8, 0, 4)
    with pytest.raises(InputError, match="expert_trunk needs expert_head"):
        DeferralNet(one, classes, trunk())
    with pytest.raises(InputError, match="at least one class"):
        DeferralNet(one, experts)
    with pytest.raises(InputError, match=r"classes alone .* got 4 experts; move them to expert_head"):
        DeferralNet(one, head, trunk(), experts)
    with pytest.raises(InputError, match="0 experts and the column of the model"):
        DeferralNet(one, DeferralHead(8, 3, 0, model_column=True), trunk(), experts)
    with pytest.raises(InputError, match="expert_head must have no class, got 3"):
        DeferralNet(one, classes, trunk(), head)
    with pytest.raises(InputError, match="share weights"):
        DeferralNet(one, classes, nn.Sequential(one[0], nn.Tanh()), experts)
