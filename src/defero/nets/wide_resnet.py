"""Wide residual networks for small pictures (Zagoruyko and Komodakis, 2016)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.nets.convolutions import conv2d, draw_convolutions


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
                f"a wide ResNet has a depth of 10, 16, 22, 28, ... and a width of at least 1, got {depth} and {width}."
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
        seen: Tensor = self.norm(self.blocks(self.stem(pictures))).relu()
        return seen.mean(dim=(2, 3))


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

    def forward(self, seen: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        normal = self.norm1(seen).relu()
        beside = seen if self.shortcut is None else self.shortcut(normal)
        inner = self.dropout(self.norm2(self.conv1(normal)).relu())
        return torch.add(beside, self.conv2(inner))
