"""Deep nets: the option `net`, the arrays that they take, and their export to ONNX; is torch installed?"""

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError
from defero.data.recipes.pictures import PictureFiles
from defero.learn.scorer import SkillScorer
from defero.scorers import Scorer
from defero.team.scoring import items_of_shape


def has_torch() -> bool:
    """Return whether torch is installed, without loading it."""
    try:
        return find_spec("torch") is not None
    except ModuleNotFoundError:
        return False


def check_torch(net: str, loss: str) -> None:
    """Raise if torch is not installed."""
    if not has_torch():
        raise InputError(
            f"{Argument('net', net)} with {Argument('loss', loss)}: needs PyTorch, which is not installed: pip install "
            f"'defero[train]'. Without it, pass {Argument('net', 'auto')} and {Argument('loss', 'auto')}."
        )


SMALL_NETS = ("auto", "linear", "mlp")
_CHANNELS = (1, 2, 3, 4)


def is_deep(net: object) -> bool:
    """Return whether this is a deep net.

    >>> is_deep("mlp"), is_deep("wrn-28-4")
    (False, True)
    """
    return not (isinstance(net, str) and net in SMALL_NETS)


def check_net(net: object) -> None:
    """Raise unless this is a valid `net`."""
    if _is_module(net) or (isinstance(net, str) and net in SMALL_NETS):
        return
    if isinstance(net, str) and not has_torch():
        if "-" not in net and ":" not in net:
            one_of("net", net, SMALL_NETS)
        check_torch(net, "auto")
    from defero.nets.named import NET_NAMES, is_net_name, meant_net  # imported here: it loads torch

    if isinstance(net, str) and is_net_name(net):
        return
    hint = meant_net(net, SMALL_NETS) if isinstance(net, str) else "."
    raise InputError(
        f"must be 'auto', 'linear', 'mlp', the name of a deep net ({', '.join(NET_NAMES)}) or a "
        f"torch.nn.Module, got {net!r}{hint}",
        argument="net",
    )


def _is_module(net: object) -> bool:
    """Return whether this is a torch.nn.Module, without loading torch: whoever has one has loaded it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(net, torch.nn.Module)


def has_axes(X: Any) -> bool:
    """Return whether X holds pictures or other items with more than one axis."""
    return isinstance(X, PictureFiles) or getattr(X, "ndim", 2) > 2


def checked_items(X: Any) -> Any:
    """Return items as an array or as `PictureFiles`; pictures have their channels last.

    >>> checked_items(np.zeros((2, 8, 8, 3), np.uint8)).shape
    (2, 8, 8, 3)
    """
    if isinstance(X, PictureFiles):
        return X
    items = np.asarray(X)
    if items.dtype == np.uint8 and items.ndim != 4:
        raise InputError(
            f": pictures must have shape (n, height, width, channels), got {items.shape}; grey ones have one channel: "
            "X[..., None].",
            argument="X",
        )
    if items.ndim == 4 and items.shape[3] not in _CHANNELS and items.shape[1] in _CHANNELS:
        raise InputError(
            f": pictures must have shape (n, height, width, channels), got {items.shape}, which looks like channels "
            "first; pass np.moveaxis(X, 1, -1).",
            argument="X",
        )
    return items_of_shape(items, tuple(items.shape[1:]), source="X")


def as_onnx(scorer: Scorer) -> Scorer:
    """Return the scorer of a deep net as an ONNX scorer, which runs without torch; others raise."""
    if isinstance(scorer, SkillScorer):
        return replace(scorer, base=as_onnx(scorer.base))
    if scorer.kind == "onnx":
        return scorer
    export = getattr(scorer, "to_onnx", None)
    if export is None:
        raise InputError(f"export_onnx is for deep nets, got a model of kind {scorer.kind!r}; its save needs no torch.")
    exported: Scorer = export()
    return exported
