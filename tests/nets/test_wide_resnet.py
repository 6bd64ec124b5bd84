"""Wide ResNets: parameters by hand and as published, the block as the paper has it."""

import pytest
import torch
from small_nets import seeded
from torch import nn
from torch.nn.functional import batch_norm, conv2d

from defero.core.errors import InputError
from defero.nets import DeferralHead, WideResNet
from defero.nets.trunks import _Block


def by_hand(depth, width, outputs):
    """Count the weights layer after layer."""
    blocks, total, n_in = (depth - 4) // 6, 3 * 16 * 9, 16
    for n_out in (16 * width, 32 * width, 64 * width):
        for _ in range(blocks):
            total += 2 * n_in + 9 * n_in * n_out + 2 * n_out + 9 * n_out * n_out
            total += n_in * n_out if n_in != n_out else 0
            n_in = n_out
    return total + 2 * n_in + n_in * outputs + outputs


def counted(depth, width, outputs):
    trunk = WideResNet(depth, width, generator=seeded())
    head = DeferralHead(trunk.out_features, outputs, 0)
    return sum(weight.numel() for part in (trunk, head) for weight in part.parameters())


@pytest.mark.parametrize(("depth", "width"), [(10, 1), (28, 4), (16, 2)])
def test_parameters_by_hand(depth, width):
    assert counted(depth, width, 30) == by_hand(depth, width, 30)


def test_the_net_of_the_paper_has_5_850_millions():
    assert counted(28, 4, 10) == by_hand(28, 4, 10) == 5_849_050


@pytest.mark.parametrize(("depth", "width", "millions"), [(40, 1, 0.6), (40, 2, 2.2), (40, 4, 8.9), (16, 8, 11.0)])
def test_parameters_as_zagoruyko_and_komodakis_print_them(depth, width, millions):
    assert round(counted(depth, width, 10) / 1e6, 1) == millions


def test_widths_and_blocks_of_28_4():
    trunk = WideResNet(generator=seeded())
    assert [block.conv2.out_channels for block in trunk.blocks] == [64] * 4 + [128] * 4 + [256] * 4
    assert [block.conv1.stride[0] for block in trunk.blocks] == [1] * 4 + [2, 1, 1, 1] * 2
    assert [block.shortcut is not None for block in trunk.blocks] == [True, False, False, False] * 3
    assert all(layer.bias is None for layer in trunk.modules() if isinstance(layer, nn.Conv2d))


def test_the_last_picture_of_32_by_32_is_8_by_8():
    trunk, sizes = WideResNet(10, 1, generator=seeded()), []
    trunk.norm.register_forward_hook(lambda part, given, made: sizes.append(tuple(made.shape)))
    assert trunk(torch.zeros(2, 3, 32, 32)).shape == (2, 64)
    assert sizes == [(2, 64, 8, 8)]


def test_the_projection_reads_the_normalised_input():
    block = _Block(4, 6, stride=2, dropout=0.0)
    for weight in block.parameters():
        nn.init.normal_(weight, generator=seeded())
    seen = torch.randn(3, 4, 8, 8, generator=seeded(1))
    normal = batch_norm(seen, None, None, block.norm1.weight, block.norm1.bias, training=True).relu()
    inner = conv2d(normal, block.conv1.weight, stride=2, padding=1)
    inner = batch_norm(inner, None, None, block.norm2.weight, block.norm2.bias, training=True).relu()
    slow = conv2d(normal, block.shortcut.weight, stride=2) + conv2d(inner, block.conv2.weight, padding=1)
    assert torch.allclose(block(seen), slow, atol=1e-5)


def test_a_block_of_one_width_adds_to_its_raw_input():
    block = _Block(4, 4, stride=1, dropout=0.0)
    nn.init.zeros_(block.conv2.weight)
    nn.init.normal_(block.conv1.weight, generator=seeded())
    seen = torch.randn(3, 4, 8, 8, generator=seeded(1))
    assert torch.equal(block(seen), seen)


def test_the_start_is_kaiming_normal_by_fan_out():
    trunk, twin, again = WideResNet(10, 1, generator=seeded(5)), nn.Conv2d(3, 16, 3, bias=False), seeded(5)
    nn.init.kaiming_normal_(twin.weight, mode="fan_out", nonlinearity="relu", generator=again)
    assert torch.equal(trunk.stem.weight, twin.weight)
    norms = [layer for layer in trunk.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert all((layer.weight == 1).all() and (layer.bias == 0).all() for layer in norms)


@pytest.mark.parametrize(("depth", "width"), [(4, 4), (27, 4), (28, 0)])
def test_depths_and_widths_that_there_are_not(depth, width):
    with pytest.raises(InputError, match=f"10, 16, 22, 28, .* got {depth} and {width}"):
        WideResNet(depth, width, generator=seeded())
