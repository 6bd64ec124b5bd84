"""What every net does: learn, start reproducibly, judge each item alone, in bf16 and channels last too."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_nets import N_CLASSES, N_EXPERTS, SHAPES, items, small_net

from defero.losses import DeferralLoss

NAMES = list(SHAPES)
OF_EACH_KIND = ["wrn-28-4", "resnet-18-small", "text-cnn"]


def targets(n):
    return torch.arange(n) % N_CLASSES, torch.stack([torch.arange(n) % 2 == 0, torch.ones(n) > 0], dim=1)


@pytest.mark.parametrize("name", NAMES)
def test_ten_steps_lower_the_loss_and_then_each_item_is_judged_alone(name):
    net, batch, surrogate = small_net(name), items(name), DeferralLoss("ova")
    labels, correct = targets(len(batch))
    torch.manual_seed(0)  # dropout draws from torch's own generator
    steps = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    values = []
    for _ in range(10):
        logits = net(batch)
        loss = surrogate(logits.classes, logits.experts, labels, correct).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
        values.append(loss.item())
    assert all(weight.grad is not None for weight in net.parameters())
    assert values[-1] < 0.9 * values[0]
    assert_company_does_not_matter(net.eval(), batch)


def assert_company_does_not_matter(net, batch):
    with torch.no_grad():
        together, alone, turned = net(batch), net(batch[2:3]), net(batch.flip(0))
    for whole, one, other in zip(together[:2], alone[:2], turned[:2], strict=True):
        assert torch.allclose(whole[2:3], one, rtol=1e-4, atol=1e-4)
        assert torch.allclose(whole, other.flip(0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_a_seed_decides_the_start_and_torchs_own_generator_is_left_alone(name):
    chance = torch.get_rng_state()
    one, two, other = (small_net(name, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not torch.equal(one["head.weight"], other["head.weight"])
    assert all(value.isfinite().all() for value in one.values())


@pytest.mark.parametrize("name", ["wrn-28-4", "resnet-18-small"])
def test_channels_last_changes_the_layout_and_nothing_else(name):
    net, batch = small_net(name).eval(), items(name, 2)
    with torch.no_grad():
        before = net(batch)
        after = net.to(memory_format=torch.channels_last)(batch.to(memory_format=torch.channels_last))
    assert torch.allclose(before.classes, after.classes, atol=1e-5)
    assert torch.allclose(before.experts, after.experts, atol=1e-5)


@pytest.mark.filterwarnings("ignore:TF32")  # torch warns of it whenever oneDNN is switched
@pytest.mark.parametrize("name", ["wrn-28-4", "text-cnn"])
def test_mixed_precision_gives_finite_logits_in_single_precision(name):
    net, batch = small_net(name, model_column=True), items(name, 4)
    # oneDNN's bf16 kernels trust what a virtual machine says of its processor, and die where it is not true.
    with torch.backends.mkldnn.flags(enabled=False), torch.autocast("cpu", dtype=torch.bfloat16):
        logits = net(batch)
        assert {part.dtype for part in logits} == {torch.float32}
        sum(part.square().sum() for part in logits).backward()
    assert all(weight.grad.isfinite().all() for weight in net.parameters())


def test_two_branches_double_the_trunk_and_nothing_else():
    one, two = small_net("text-cnn"), small_net("text-cnn", branches="two")
    sizes = [sum(weight.numel() for weight in net.trunk.parameters()) for net in (one, two)]
    whole = [sum(weight.numel() for weight in net.parameters()) for net in (one, two)]
    assert sizes[0] == sizes[1]
    assert whole[1] == whole[0] + sizes[0]
    assert two(items("text-cnn")).experts.shape == (6, N_EXPERTS)


# In a process of its own: shapes are checked at run time in the tests, which the compiler cannot look through.
COMPILED = """
import torch
from small_nets import items, small_net
for name in ("wrn-28-4", "resnet-18-small", "text-cnn"):
    branches = "two" if name == "text-cnn" else "one"
    net, batch = small_net(name, branches=branches, model_column=True).eval(), items(name, 3)
    with torch.no_grad():
        plain, compiled = net(batch), torch.compile(net, backend="eager", fullgraph=True)(batch)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(plain, compiled)), name
"""


@pytest.mark.slow
def test_the_compiler_sees_one_whole_graph():
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
