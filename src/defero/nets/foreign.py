"""Trunks of torchvision and timm, where these packages are installed; neither is needed."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from torch import nn

from defero.core.errors import InputError


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
