"""Settings of the training loop for deep networks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from defero.core.checks.arrays import one_of, whole_number
from defero.core.errors import InputError
from defero.core.registry import Registry

OPTIMISERS: Registry[Callable[[Any, "LoopSettings"], Any]] = Registry("optimiser", group="defero.optimisers")
"""The optimisers by name: functions of the parameters to learn and the settings."""
OPTIMISERS.register_lazily("sgd", "defero.training.optimisers:sgd")
OPTIMISERS.register_lazily("adamw", "defero.training.optimisers:adamw")
_CHOICES = {
    "schedule": ("one-cycle", "cosine", "constant"),
    "precision": ("auto", "32", "bf16-mixed"),
    "compile": ("auto", "off", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    "compile_part": ("whole", "trunk"),
    "watch": ("loss", "system_accuracy"),
}


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """Settings of one training of a deep network.

    Attributes
    ----------
    epochs, batch_size : int
        Items per step, over all processes together.
    optimiser : "sgd", "adamw" or another name in `OPTIMISERS`
        SGD has Nesterov's momentum, and its weight decay is on every parameter, as in the paper; AdamW's is on
        matrices and kernels alone, not on biases and the scales of normalisations.
    learning_rate, momentum, weight_decay : float
        The learning rate is the largest of the schedule.
    schedule : "one-cycle", "cosine" or "constant"
        See `learning_rate_at`.
    warm_up : float
        Fraction of all steps in which the learning rate rises.
    clip_norm : float, optional
        Largest norm of the gradient; longer ones are clipped.
    ema_decay : float, optional
        Decay of a moving average of the weights, which is what is evaluated and returned; None uses the last weights.
    precision : "auto", "32" or "bf16-mixed"
        "auto" is bf16-mixed on a GPU and 32 elsewhere.
    compile : "auto", "off" or a mode of `torch.compile`
        "auto" is "default" on a GPU and "off" elsewhere.
    compile_part : "whole" or "trunk"
        "trunk" leaves head and loss as they are: one compilation then serves trainings with other experts and losses
        in the same process.
    watch : "loss" or "system_accuracy"
        What early stopping monitors on the held-out part: the surrogate loss, or the accuracy of the team.
    patience : int, optional
        Epochs without improvement before training stops; None trains for all epochs. The weights of the best epoch are
        returned in either case.
    evaluate_every : int
        Epochs between two evaluations on the held-out part; the last epoch is always evaluated.
    drop_last : bool
        Drop the last batch of an epoch if it is incomplete.
    save_seconds : float
        Seconds between two checkpoints. One is also written at the end.

    Examples
    --------
    >>> LoopSettings(epochs=2, batch_size=64).optimiser
    'sgd'
    """

    epochs: int = 30
    batch_size: int = 512
    optimiser: str = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: str = "one-cycle"
    warm_up: float = 0.2
    clip_norm: float | None = None
    ema_decay: float | None = 0.999
    precision: str = "auto"
    compile: str = "auto"
    compile_part: str = "whole"
    watch: str = "loss"
    patience: int | None = None
    evaluate_every: int = 1
    drop_last: bool = True
    save_seconds: float = 60.0

    def __post_init__(self) -> None:
        one_of("optimiser", self.optimiser, OPTIMISERS)
        for name, choice in _CHOICES.items():
            one_of(name, getattr(self, name), choice)
        for name in ("epochs", "batch_size", "evaluate_every", "patience"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=1)
        for name in ("learning_rate", "momentum", "weight_decay", "save_seconds"):
            if not getattr(self, name) >= 0:
                raise InputError(f"must be a number of at least 0, got {getattr(self, name)!r}.", argument=name)
        if not 0 <= self.warm_up < 1:
            raise InputError(f"must lie in [0, 1), got {self.warm_up!r}.", argument="warm_up")
        if self.ema_decay is not None and not 0 <= self.ema_decay < 1:
            raise InputError(
                f"must lie in [0, 1), got {self.ema_decay!r}; None keeps the last weights.", argument="ema_decay"
            )
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise InputError(f"must be positive, got {self.clip_norm!r}; None does not clip.", argument="clip_norm")
