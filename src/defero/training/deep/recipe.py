"""How a deep network is trained: every number that the loop needs, checked once."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from defero.core.errors import InputError

Optimiser = Literal["sgd", "adamw", "muon"]
Schedule = Literal["one-cycle", "cosine", "constant"]
Precision = Literal["auto", "32", "bf16-mixed"]
Compile = Literal["auto", "off", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
CompilePart = Literal["whole", "trunk"]
Watch = Literal["loss", "system_accuracy"]
_CHOICES = {
    "optimiser": Optimiser,
    "schedule": Schedule,
    "precision": Precision,
    "compile": Compile,
    "compile_part": CompilePart,
    "watch": Watch,
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Numbers of one training.

    Attributes
    ----------
    epochs, batch_size : int
        With several processes the batch is dealt to them: it does not grow with their number.
    optimiser : "sgd", "adamw" or "muon"
        SGD has Nesterov's momentum, and its weight decay is on every parameter, as in the paper; AdamW's is on
        matrices and kernels alone, not on biases and the scales of normalisations. Muon turns the kernels of
        convolutions and leaves the rest to SGD: see `Muon`.
    learning_rate, momentum, weight_decay : float
        The rate is the largest of the schedule.
    schedule : "one-cycle", "cosine" or "constant"
        See `learning_rate_at`.
    warm_up : float
        Share of all steps in which the rate rises.
    clip_norm : float, optional
        Gradients longer than this are shortened to it.
    ema_decay : float, optional
        Keep a moving average of the weights and judge that; None keeps the last weights.
    precision : "auto", "32" or "bf16-mixed"
        "auto" is bf16-mixed on a GPU and 32 elsewhere.
    compile : "auto", "off" or a mode of `torch.compile`
        "auto" is "default" on a GPU and "off" elsewhere.
    compile_part : "whole" or "trunk"
        "trunk" leaves head and loss as they are: one compilation then serves trainings with other experts and losses
        in the same process.
    watch : "loss" or "system_accuracy"
        What the held-out part is watched for: the surrogate loss, or how often the team is right.
    patience : int, optional
        Epochs without a better value before training stops; None runs to the end. The best epoch is kept in any case.
    evaluate_every : int
        Epochs between two looks at the held-out part; the last epoch is always looked at.
    drop_last : bool
        Leave out the rows of an epoch that fill no batch.
    save_seconds : float
        Seconds between two checkpoints; one is also written at the end.

    Examples
    --------
    >>> Recipe(epochs=2, batch_size=64).optimiser
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
        for name, choice in _CHOICES.items():
            if getattr(self, name) not in get_args(choice):
                raise InputError(f"{name} must be one of {', '.join(get_args(choice))}, got {getattr(self, name)!r}.")
        for name in ("epochs", "batch_size", "evaluate_every", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name in ("learning_rate", "momentum", "weight_decay", "save_seconds"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must be a number of at least 0, got {getattr(self, name)!r}.")
        if not 0 <= self.warm_up < 1:
            raise InputError(f"warm_up must lie in [0, 1), a share of the steps, got {self.warm_up!r}.")
        if self.ema_decay is not None and not 0 <= self.ema_decay < 1:
            raise InputError(f"ema_decay must lie in [0, 1), got {self.ema_decay!r}; None keeps the last weights.")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise InputError(f"clip_norm must be positive, got {self.clip_norm!r}; None clips nothing.")

    def what_counts(self) -> dict[str, Any]:
        """Return what a checkpoint must agree on: all but how fast the same numbers are reached."""
        ignored = ("compile", "compile_part", "save_seconds")
        return {name: value for name, value in asdict(self).items() if name not in ignored}
