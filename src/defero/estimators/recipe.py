"""Recipe: which network `DeferralClassifier` trains, and how. Needs no torch."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks.arrays import one_of, whole_number
from defero.core.errors import Argument, InputError
from defero.data.recipes.pictures import PictureFiles
from defero.learn.scorer import SkillScorer
from defero.scorers import Scorer
from defero.team.scoring import items_of_shape

_CHOICES = {
    "branches": ("auto", "one", "heads", "two"),
    "augmentation": ("crop-and-flip", "crop", "none"),
    "precision": (None, "float32", "float64", "bf16-mixed"),
    "resume": ("auto", "never"),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of the training of `DeferralClassifier`; None is the default of the network.

    Attributes
    ----------
    hidden, expert_hidden : tuple of int
        Widths of the hidden layers of "mlp", in the branches of the classes and of the experts.
    max_epochs : int, optional
        Largest number of epochs. "linear": at most 1,000 L-BFGS iterations by default. "mlp": 15 epochs, or more for
        at least 1,000 steps. Deep nets: 30 epochs.
    batch_size : int, optional
        Halve it if memory runs out. "mlp": by default a sixteenth of the rows, between 32 and 512. Deep nets: up to
        512, with at least 32 steps an epoch.
    learning_rate : float, optional
        "mlp": 0.01 by default. Deep nets: the largest of a one-cycle schedule, by default 0.1 per 512 items of a batch
        for wrn and resnet (SGD), and 0.001 for all others (AdamW).
    weight_decay : float, optional
        "linear": the mean loss has the penalty weight_decay / 2 * |w|^2, by default 1 / n (similar to scikit-learn's
        C = 1).
        "mlp": that of AdamW, 0.3 by default. Deep nets: 0.0005 with SGD and 0.01 with AdamW.
    patience : int
        Epochs without a better held-out loss (of a deep net at least a third of all) before training stops. The
        weights of the best epoch are used. Not for "linear".
    validation_fraction : float
        Share of the rows that is held out for early stopping.
    precision : "float32", "float64" or "bf16-mixed", optional
        "float64" for "linear" and "float32" for "mlp" by default. Deep nets: "bf16-mixed" on a GPU and "float32"
        elsewhere.
    branches : "auto", "one", "heads" or "two"
        What classes and experts of a deep net share: with "one" trunk and head; with "heads" the trunk, which the
        experts read without changing it, so that it learns as one classifier's does; with "two" nothing. "auto" is
        "heads" if the loss is "auto", and "one" otherwise.
    augmentation : "crop-and-flip", "crop" or "none"
        Augmentation of pictures of dtype uint8. Do not flip pictures in which left and right differ.
    resume : "auto" or "never"
        Whether a deep net resumes from a checkpoint.

    Examples
    --------
    >>> Recipe(max_epochs=5).batch_size is None
    True
    >>> Recipe(max_epochs=0)
    Traceback (most recent call last):
    defero.core.errors.InputError: max_epochs must be a whole number of at least 1, got 0.
    """

    hidden: tuple[int, ...] = (64, 64)
    expert_hidden: tuple[int, ...] = (32,)
    max_epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    patience: int = 10
    validation_fraction: float = 0.1
    precision: str | None = None
    branches: str = "auto"
    augmentation: str = "crop-and-flip"
    resume: str = "auto"

    def __post_init__(self) -> None:
        for name, options in _CHOICES.items():
            one_of(name, getattr(self, name), options)
        if not 0 <= self.validation_fraction < 1:
            raise InputError(f"must lie in [0, 1), got {self.validation_fraction}.", argument="validation_fraction")
        for name in ("max_epochs", "batch_size", "patience"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=1)
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"must be a number of at least 0, got {value!r}.", argument=name)
        for name in ("hidden", "expert_hidden"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class NetworkOptions:
    """Options of the training: the parameters of `DeferralClassifier` with these names."""

    recipe: Recipe
    device: str | None = None
    progress: bool = False
    checkpoints: str | Path | None = None


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
