"""Nets by name: "wrn-28-4", "resnet-18", "text-cnn", and those of torchvision and timm where they are installed."""

import difflib
import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from torch import Tensor, nn

from defero.core.checks.arrays import one_of
from defero.core.errors import InputError
from defero.core.wording import did_you_mean
from defero.nets.deferral_net import DeferralNet
from defero.nets.trunks import RESNET_DEPTHS, ResNet, TextCnn, WideResNet, is_wide_resnet


def torchvision_trunk(model: str, *, pretrained: bool, generator: torch.Generator) -> nn.Module:
    """Return a model of torchvision by its name, its last linear layer left out.

    Parameters
    ----------
    model : str
        As in torchvision.models.list_models(), such as "resnet18".
    pretrained : bool
        Take torchvision's default weights, which it downloads.
    generator : torch.Generator
        Seeds the drawn weights.
    """
    models = _installed("torchvision.models", package="torchvision")
    with _drawing_from(generator):
        try:
            net: nn.Module = models.get_model(model, weights="DEFAULT" if pretrained else None)
        except ValueError as error:
            raise InputError(
                f": torchvision knows no model {model!r}; see torchvision.models.list_models().", argument="net"
            ) from error
    linear = [name for name, part in net.named_modules() if isinstance(part, nn.Linear)]
    if not linear:
        raise InputError(
            f": torchvision:{model} has no linear layer at its end; pass its trunk as a module instead.", argument="net"
        )
    # The classification layer is the last linear one of every torchvision model.
    parent, _, child = linear[-1].rpartition(".")
    setattr(net.get_submodule(parent), child, nn.Identity())
    return net


def timm_trunk(model: str, *, pretrained: bool, generator: torch.Generator) -> nn.Module:
    """Return a model of timm by its name, pooled and without its classification layer.

    Parameters
    ----------
    model : str
        As in timm.list_models(), such as "convnext_tiny".
    pretrained : bool
        Take timm's weights, which it downloads.
    generator : torch.Generator
        Seeds the drawn weights.
    """
    timm = _installed("timm", package="timm")
    if not timm.is_model(model):
        raise InputError(f": timm knows no model {model!r}; see timm.list_models().", argument="net")
    with _drawing_from(generator):
        net: nn.Module = timm.create_model(model, pretrained=pretrained, num_classes=0)
    return net


def _installed(module: str, *, package: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except (ImportError, RuntimeError) as error:  # a torchvision built for another torch raises the latter
        raise InputError(
            f"nets of {package} need {package}, built for this torch ({error}); pip install {package}."
        ) from error


@contextmanager
def _drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let code that draws from torch's own generator draw what ours says, and give torch its state back."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


_WIDE = re.compile(r"wrn-(\d+)-(\d+)")
_LIKE_WIDE = re.compile(r"w[a-z]*[^a-z\d]?(\d+)\D+(\d+)")
_RESNET = re.compile(r"resnet-(\d+)(-small)?")
_FOREIGN = {"torchvision": torchvision_trunk, "timm": timm_trunk}

_PLAIN = (
    *(f"resnet-{depth}" for depth in RESNET_DEPTHS),
    *(f"resnet-{depth}-small" for depth in RESNET_DEPTHS),
    "text-cnn",
)
BRANCHES = ("one", "heads", "two")
"""What classes and experts share: trunk and head, the trunk, nothing."""
NET_NAMES = ("wrn-<depth>-<width>", *_PLAIN, *(f"{package}:<model>" for package in _FOREIGN))


def is_net_name(name: str) -> bool:
    """Say whether `net_by_name` knows a net; what comes after a colon other packages know.

    >>> is_net_name("wrn-28-4"), is_net_name("wrn-27-4"), is_net_name("forest")
    (True, False, False)
    """
    package, colon, model = name.partition(":")
    if colon:
        return package in _FOREIGN and bool(model)
    if match := _WIDE.fullmatch(name):
        return is_wide_resnet(int(match[1]), int(match[2]))
    return name in _PLAIN


def fits_weights(name: str, *, n_arrays: int, n_numbers: int) -> bool:
    """Tell, before it is built, whether so many weights can be those of a net; a forged name may take hours to build.

    >>> [fits_weights(name, n_arrays=150, n_numbers=6_000_000) for name in ("wrn-28-4", "wrn-600004-1")]
    [True, False]
    """
    if not is_net_name(name):
        return False
    package, colon, model = name.partition(":")
    if colon:
        with torch.device("meta"):  # shapes without memory
            trunk = _FOREIGN[package](model, pretrained=False, generator=torch.Generator(device="cpu").manual_seed(0))
        return sum(weight.numel() for weight in trunk.state_dict().values()) <= n_numbers
    if match := _WIDE.fullmatch(name):
        depth, width = int(match[1]), int(match[2])
        # Each of its convolutions is an array; the last ones have 64 width channels and 3 x 3 pixels.
        return depth <= n_arrays and (64 * width) ** 2 * 9 <= n_numbers
    return True


def meant_net(name: str, others: tuple[str, ...] = ()) -> str:
    """Return the clause that offers the nearest name, of a net or of others, or nothing.

    >>> meant_net("resnet18"), meant_net("WRN28-10"), meant_net("wrn-30-4"), meant_net("forest")
    ("; did you mean 'resnet-18'?", "; did you mean 'wrn-28-10'?", "; did you mean 'wrn-28-4'?", '.')
    """
    package, colon, model = name.partition(":")
    if colon and model:
        near = difflib.get_close_matches(package.lower(), list(_FOREIGN), n=1)
        return f"; did you mean {f'{near[0]}:{model}'!r}?" if near else "."
    if match := _LIKE_WIDE.fullmatch(name.lower()):
        depth, width = max(10, 6 * round((int(match[1]) - 4) / 6) + 4), max(1, int(match[2]))
        return f"; did you mean 'wrn-{depth}-{width}'?"
    return did_you_mean(name, (*others, "wrn-28-4", *_PLAIN))


def net_by_name(
    name: str,
    example: Tensor,
    *,
    n_classes: int,
    n_experts: int,
    branches: str = "one",
    model_column: bool = False,
    pretrained: bool = False,
    generator: torch.Generator,
) -> DeferralNet:
    """Build a net with a deferral head.

    Parameters
    ----------
    name : str
        "wrn-28-4" or any "wrn-<depth>-<width>"; "resnet-18", "-34" or "-50", with "-small" behind it for pictures of
        about 32 x 32; "text-cnn"; "torchvision:resnet18", "timm:convnext_tiny" and the like.
    example : (n, channels, height, width) pictures, or (n, d) vectors for "text-cnn"
        Tells the number of channels, and the width of other packages' nets.
    n_classes, n_experts : int
    branches : "one", "heads" or "two"
        Heads: the experts have a head of their own that sends no gradient into the trunk. Two: they have a second trunk
        of the same shape and with weights of its own.
    model_column : bool
        For a mixture of experts.
    pretrained : bool
        Start from learned weights: torchvision and timm download theirs, the others have none.
    generator : torch.Generator
        Draws all other weights.

    Examples
    --------
    >>> rng = torch.Generator().manual_seed(0)
    >>> net = net_by_name("wrn-10-1", torch.zeros(2, 3, 32, 32), n_classes=10, n_experts=4, generator=rng)
    >>> net(torch.zeros(2, 3, 32, 32)).experts.shape
    torch.Size([2, 4])
    """
    one_of("branches", branches, BRANCHES)
    trunks = [
        trunk_by_name(name, example, pretrained=pretrained, generator=generator)
        for _ in range(2 if branches == "two" else 1)
    ]
    return DeferralNet.build(
        trunks[0],
        example,
        n_classes=n_classes,
        n_experts=n_experts,
        expert_trunk=trunks[1] if branches == "two" else None,
        detached=branches == "heads",
        model_column=model_column,
        generator=generator,
    )


def trunk_by_name(name: str, example: Tensor, *, pretrained: bool = False, generator: torch.Generator) -> nn.Module:
    """Build the trunk that a name stands for, without a head; see `net_by_name`.

    >>> trunk_by_name("text-cnn", torch.zeros(2, 100), generator=torch.Generator().manual_seed(0)).out_features
    900
    """
    if not is_net_name(name):
        raise InputError(f"must be one of {', '.join(NET_NAMES)}, got {name!r}{meant_net(name)}", argument="net")
    package, colon, model = name.partition(":")
    if colon:
        return _FOREIGN[package](model, pretrained=pretrained, generator=generator)
    if pretrained:
        raise InputError(
            f": there are no learned weights of {name}; leave it out, or take torchvision:... or timm:...",
            argument="pretrained",
        )
    if match := _WIDE.fullmatch(name):
        channels = _channels(name, example)
        return WideResNet(int(match[1]), int(match[2]), in_channels=channels, generator=generator)
    if match := _RESNET.fullmatch(name):
        stem = "small" if match[2] else "imagenet"
        return ResNet(int(match[1]), stem=stem, in_channels=_channels(name, example), generator=generator)
    if example.ndim != 2:
        raise InputError(
            f": text-cnn takes one vector per text, got items of shape {tuple(example.shape[1:])}.", argument="net"
        )
    return TextCnn(generator=generator)


def _channels(name: str, example: Tensor) -> int:
    if example.ndim != 4:
        raise InputError(
            f": {name} takes pictures with colours, got items of shape {tuple(example.shape[1:])}.", argument="net"
        )
    return example.shape[1]
