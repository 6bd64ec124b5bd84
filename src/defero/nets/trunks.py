"""Trunks of our own: ResNet (He et al., 2016), wide ones (Zagoruyko and Komodakis, 2016), the paper's for texts."""

import math
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import skip_init

from defero.core.errors import InputError

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
            raise InputError(f"must be one of {', '.join(map(str, _PLANS))}, got {depth}.", argument="depth")
        if stem not in ("imagenet", "small"):
            raise InputError(f"must be 'imagenet' or 'small', got {stem!r}.", argument="stem")
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
        maps = self.pool(self.bn1(self.conv1(pictures)).relu())
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        features: Tensor = maps.mean(dim=(2, 3))
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

    def forward(self, maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        beside = maps if self.downsample is None else self.downsample(maps)
        inner = self.bn1(self.conv1(maps)).relu()
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

    def forward(self, maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        beside = maps if self.downsample is None else self.downsample(maps)
        inner = self.bn1(self.conv1(maps)).relu()
        inner = self.bn2(self.conv2(inner)).relu()
        return torch.add(beside, self.bn3(self.conv3(inner))).relu()


def is_wide_resnet(depth: int, width: int) -> bool:
    """Say whether there is a WRN-depth-width.

    >>> is_wide_resnet(28, 4), is_wide_resnet(30, 4)
    (True, False)
    """
    return depth >= 10 and (depth - 4) % 6 == 0 and width >= 1


class WideResNet(nn.Module):
    """The trunk WRN-depth-width: three groups of (depth - 4) / 6 blocks with 16, 32 and 64 times `width` channels.

    Each block normalises first (BN-ReLU-conv, twice); where the width changes, the shortcut is a 1 x 1 convolution of
    the normalised input. The last picture is averaged over its pixels, so any size goes in; the paper's 32 x 32 gives
    the 8 x 8 of its pool. Convolutions start from N(0, 2 / fan-out).

    Parameters
    ----------
    depth, width : int
        28 and 4 in the paper.
    in_channels : int
    dropout : float
        Between the two convolutions of a block; 0 in the paper.
    generator : torch.Generator
        Draws the weights.

    Attributes
    ----------
    out_features : int
        f = 64 x width.

    Examples
    --------
    >>> trunk = WideResNet(10, 1, generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        depth: int = 28,
        width: int = 4,
        *,
        in_channels: int = 3,
        dropout: float = 0.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if not is_wide_resnet(depth, width):
            raise InputError(
                ": a wide ResNet has a depth of 10, 16, 22, 28, ... and a width of at least 1, "
                f"got {depth} and {width}.",
                argument="depth",
            )
        self.out_features = 64 * width
        self.stem = conv2d(in_channels, 16, 3)
        widths, blocks = [16, 16 * width, 32 * width, 64 * width], []
        for group in range(3):
            for place in range((depth - 4) // 6):
                n_in = widths[group] if place == 0 else widths[group + 1]
                stride = 2 if place == 0 and group > 0 else 1
                blocks.append(_Block(n_in, widths[group + 1], stride=stride, dropout=dropout))
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(self.out_features)
        draw_convolutions(self, generator=generator)

    def forward(self, pictures: Float[Tensor, "n c h w"]) -> Float[Tensor, "n f"]:
        """Return the features of a batch of pictures."""
        maps: Tensor = self.norm(self.blocks(self.stem(pictures))).relu()
        return maps.mean(dim=(2, 3))


class _Block(nn.Module):
    """BN-ReLU-conv twice, beside a shortcut."""

    def __init__(self, n_in: int, n_out: int, *, stride: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(n_in)
        self.conv1 = conv2d(n_in, n_out, 3, stride=stride)
        self.norm2 = nn.BatchNorm2d(n_out)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = conv2d(n_out, n_out, 3)
        self.shortcut = conv2d(n_in, n_out, 1, stride=stride) if n_in != n_out or stride != 1 else None

    def forward(self, maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        normal = self.norm1(maps).relu()
        beside = maps if self.shortcut is None else self.shortcut(normal)
        inner = self.dropout(self.norm2(self.conv1(normal)).relu())
        return torch.add(beside, self.conv2(inner))


def conv2d(n_in: int, n_out: int, side: int, *, stride: int = 1) -> nn.Conv2d:
    """Return a square convolution that keeps the picture's size at stride 1; its weights are not drawn yet."""
    layer = skip_init(nn.Conv2d, n_in, n_out, side, stride=stride, padding=side // 2, bias=False, device="cpu")
    return cast(nn.Conv2d, layer)


def draw_convolutions(net: nn.Module, *, generator: torch.Generator) -> None:
    """Draw every convolution's weights from N(0, 2 / fan-out) in the order of the layers (He et al. 2015, Eq. 14).

    The fan-out is side^2 x output channels.

    >>> layer = conv2d(3, 16, 3)
    >>> draw_convolutions(layer, generator=torch.Generator().manual_seed(0))
    >>> round(layer.weight.std().item(), 2)  # sqrt(2 / (9 x 16)) = 0.118
    0.12
    """
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = math.prod(layer.kernel_size) * layer.out_channels
            with torch.no_grad():
                layer.weight.normal_(0.0, math.sqrt(2.0 / fan_out), generator=generator)


class TextCnn(nn.Module):
    """The trunk for vectors of texts: filters of several widths run over the coordinates, each keeps its maximum.

    The paper gives it one 100-dimensional vector per tweet, uses 300 filters of each width, and has a second branch
    of the same shape for the experts: pass another `TextCnn` as `DeferralNet`'s `expert_trunk`.

    Parameters
    ----------
    filters : int
        How many of each width.
    widths : tuple of int
    dropout : float
        Of the concatenated maxima; drawn from torch's own generator, in training alone.
    generator : torch.Generator
        Draws weights and biases from U(-1/sqrt(width), 1/sqrt(width)).

    Attributes
    ----------
    out_features : int
        f = filters x number of widths.

    Examples
    --------
    >>> trunk = TextCnn(generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 100)).shape
    torch.Size([2, 900])
    """

    def __init__(
        self,
        *,
        filters: int = 300,
        widths: tuple[int, ...] = (3, 4, 5),
        dropout: float = 0.5,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if filters < 1:
            raise InputError(f"must be at least 1, got {filters}.", argument="filters")
        if not widths or min(widths) < 1:
            raise InputError(f"must each be at least 1, got {', '.join(map(str, widths))}.", argument="widths")
        self.out_features, self.narrowest = filters * len(widths), max(widths)
        self.filters = nn.ModuleList(_filters(filters, width, generator) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n f"]:
        """Return the features of (n, d) vectors."""
        if vectors.shape[1] < self.narrowest:
            raise InputError(
                f"the vectors must have at least {self.narrowest} coordinates, as many as the widest filter, "
                f"got {vectors.shape[1]}."
            )
        row = vectors[:, None, :]
        maxima = [layer(row).amax(dim=2) for layer in self.filters]
        # ReLU and maximum change places: the same values, a hundredth of the work.
        features: Tensor = self.dropout(torch.cat(maxima, dim=1).relu())
        return features


def _filters(count: int, width: int, generator: torch.Generator) -> nn.Conv1d:
    layer = cast(nn.Conv1d, skip_init(nn.Conv1d, 1, count, width, device="cpu"))
    bound = width**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        if layer.bias is not None:
            layer.bias.uniform_(-bound, bound, generator=generator)
    return layer
