"""Convolutions without a bias that draw their weights from a generator of ours, and leave torch's own alone."""

import math
from typing import cast

import torch
from torch import nn
from torch.nn.utils import skip_init


def conv2d(
    n_in: int, n_out: int, side: int, *, stride: int = 1, groups: int = 1, padding: int | None = None
) -> nn.Conv2d:
    """Return a square convolution that keeps the picture's size at stride 1; its weights are not drawn yet."""
    around = side // 2 if padding is None else padding
    layer = skip_init(
        nn.Conv2d, n_in, n_out, side, stride=stride, padding=around, groups=groups, bias=False, device="cpu"
    )
    return cast(nn.Conv2d, layer)


def draw_convolutions(net: nn.Module, *, generator: torch.Generator) -> None:
    """Draw every convolution's weights from N(0, 2 / fan-out) in the order of the layers (He et al. 2015, Eq. 14).

    The fan-out is side^2 x output channels / groups: a depthwise filter feeds one channel.

    >>> layer = conv2d(3, 16, 3)
    >>> draw_convolutions(layer, generator=torch.Generator().manual_seed(0))
    >>> round(layer.weight.std().item(), 2)  # sqrt(2 / (9 x 16)) = 0.118
    0.12
    """
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = math.prod(layer.kernel_size) * layer.out_channels // layer.groups
            with torch.no_grad():
                layer.weight.normal_(0.0, math.sqrt(2.0 / fan_out), generator=generator)
