"""Residual networks of 18, 34 and 50 layers (He et al., 2016)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.nets.convolutions import conv2d, draw_convolutions

# Depth -> blocks in each of the four groups, and whether they are bottlenecks.
_PLANS: dict[int, tuple[tuple[int, int, int, int], bool]] = {
    18: ((2, 2, 2, 2), False),
    34: ((3, 4, 6, 3), False),
    50: ((3, 4, 6, 3), True),
}
RESNET_DEPTHS = tuple(_PLANS)


class ResNet(nn.Module):
    """The trunk ResNet-depth without its classification layer.

    In a bottleneck the 3 x 3 convolution has the stride, as in the variant that most pretrained weights are of. The
    parts have the names that torchvision gives them: its weights, less `fc`, load with `load_state_dict`.

    Parameters
    ----------
    depth : 18, 34 or 50
    stem : "imagenet" or "small"
        A 7 x 7 convolution of stride 2 and a pool for pictures of about 224 x 224, or a 3 x 3 convolution of stride 1
        for pictures of about 32 x 32.
    in_channels : int
    generator : torch.Generator
        Draws the weights.

    Attributes
    ----------
    out_features : int
        f: 512, or 2,048 at depth 50.

    Examples
    --------
    >>> trunk = ResNet(18, stem="small", generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 512])
    """

    def __init__(
        self, depth: int = 18, *, stem: str = "imagenet", in_channels: int = 3, generator: torch.Generator
    ) -> None:
        super().__init__()
        if depth not in _PLANS:
            raise InputError(f"depth must be one of {', '.join(map(str, _PLANS))}, got {depth}.")
        if stem not in ("imagenet", "small"):
            raise InputError(f"stem must be 'imagenet' or 'small', got {stem!r}.")
        counts, bottleneck = _PLANS[depth]
        self.out_features = 2048 if bottleneck else 512
        self.conv1 = conv2d(in_channels, 64, 7, stride=2) if stem == "imagenet" else conv2d(in_channels, 64, 3)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if stem == "imagenet" else nn.Identity()
        self.layer1 = _group(64, 64, counts[0], stride=1, bottleneck=bottleneck)
        expansion = 4 if bottleneck else 1
        self.layer2 = _group(64 * expansion, 128, counts[1], stride=2, bottleneck=bottleneck)
        self.layer3 = _group(128 * expansion, 256, counts[2], stride=2, bottleneck=bottleneck)
        self.layer4 = _group(256 * expansion, 512, counts[3], stride=2, bottleneck=bottleneck)
        draw_convolutions(self, generator=generator)

    def forward(self, pictures: Float[Tensor, "n c h w"]) -> Float[Tensor, "n f"]:
        """Return the features of a batch of pictures."""
        seen = self.pool(self.bn1(self.conv1(pictures)).relu())
        seen = self.layer4(self.layer3(self.layer2(self.layer1(seen))))
        features: Tensor = seen.mean(dim=(2, 3))
        return features


def _group(n_in: int, middle: int, count: int, *, stride: int, bottleneck: bool) -> nn.Sequential:
    block = _Bottleneck if bottleneck else _Basic
    n_out = middle * block.expansion
    first = block(n_in, middle, stride=stride)
    return nn.Sequential(first, *(block(n_out, middle, stride=1) for _ in range(count - 1)))


def _shortcut(n_in: int, n_out: int, *, stride: int) -> nn.Sequential | None:
    if n_in == n_out and stride == 1:
        return None
    return nn.Sequential(conv2d(n_in, n_out, 1, stride=stride), nn.BatchNorm2d(n_out))


class _Basic(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, n_in: int, middle: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = conv2d(n_in, middle, 3, stride=stride)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = conv2d(middle, middle, 3)
        self.bn2 = nn.BatchNorm2d(middle)
        self.downsample = _shortcut(n_in, middle, stride=stride)

    def forward(self, seen: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        beside = seen if self.downsample is None else self.downsample(seen)
        inner = self.bn1(self.conv1(seen)).relu()
        return torch.add(beside, self.bn2(self.conv2(inner))).relu()


class _Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut; the last one is four times as wide."""

    expansion = 4

    def __init__(self, n_in: int, middle: int, *, stride: int) -> None:
        super().__init__()
        n_out = middle * self.expansion
        self.conv1 = conv2d(n_in, middle, 1)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = conv2d(middle, middle, 3, stride=stride)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = conv2d(middle, n_out, 1)
        self.bn3 = nn.BatchNorm2d(n_out)
        self.downsample = _shortcut(n_in, n_out, stride=stride)

    def forward(self, seen: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        beside = seen if self.downsample is None else self.downsample(seen)
        inner = self.bn1(self.conv1(seen)).relu()
        inner = self.bn2(self.conv2(inner)).relu()
        return torch.add(beside, self.bn3(self.conv3(inner))).relu()
