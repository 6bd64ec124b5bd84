"""ResNets: published parameter counts, the stems, and the names of torchvision's weights."""

import pytest
import torch
from small_nets import seeded
from torch import nn

from defero.core.errors import InputError
from defero.nets import DeferralHead, ResNet


def counted(depth, **options):
    trunk = ResNet(depth, generator=seeded(), **options)
    head = DeferralHead(trunk.out_features, 1000, 0)
    return sum(weight.numel() for part in (trunk, head) for weight in part.parameters())


@pytest.mark.parametrize(("depth", "published"), [(18, 11_689_512), (34, 21_797_672), (50, 25_557_032)])
def test_parameters_with_1000_classes_are_the_published_ones(depth, published):
    assert counted(depth) == published


def test_the_small_stem_has_a_9_in_the_place_of_a_49():
    assert counted(18) - counted(18, stem="small") == (49 - 9) * 3 * 64


@pytest.mark.parametrize(
    ("stem", "side", "last"), [("imagenet", 224, 7), ("imagenet", 32, 1), ("small", 32, 4), ("small", 8, 1)]
)
def test_the_last_picture(stem, side, last):
    trunk, sizes = ResNet(18, stem=stem, generator=seeded()).eval(), []
    trunk.layer4.register_forward_hook(lambda part, given, made: sizes.append(tuple(made.shape)))
    with torch.no_grad():
        assert trunk(torch.zeros(1, 3, side, side)).shape == (1, 512)
    assert sizes == [(1, 512, last, last)]


def test_in_a_bottleneck_the_middle_convolution_has_the_stride():
    first = ResNet(50, generator=seeded()).layer2[0]
    assert [layer.stride[0] for layer in (first.conv1, first.conv2, first.conv3)] == [1, 2, 1]


def test_parts_are_named_as_in_torchvision():
    names = set(ResNet(50, generator=seeded()).state_dict())
    assert {"conv1.weight", "bn1.running_mean", "layer1.0.downsample.1.bias", "layer4.2.conv3.weight"} <= names
    assert "layer2.0.downsample.0.weight" in ResNet(18, generator=seeded()).state_dict()


def test_pictures_of_other_channels():
    assert ResNet(18, stem="small", in_channels=1, generator=seeded())(torch.zeros(2, 1, 8, 8)).shape == (2, 512)


def test_with_zeroed_blocks_only_the_shortcuts_speak():
    trunk = ResNet(18, stem="small", generator=seeded()).eval()
    for block in trunk.layer1:
        nn.init.zeros_(block.bn2.weight)
    seen = torch.rand(2, 64, 4, 4, generator=seeded(1))
    assert torch.equal(trunk.layer1(seen), seen)


def test_depths_and_stems_that_there_are_not():
    with pytest.raises(InputError, match="depth must be one of 18, 34, 50, got 101"):
        ResNet(101, generator=seeded())
    with pytest.raises(InputError, match="stem must be 'imagenet' or 'small', got 'tiny'"):
        ResNet(18, stem="tiny", generator=seeded())
