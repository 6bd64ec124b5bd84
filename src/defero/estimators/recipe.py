"""Recipe: how `DeferralClassifier` trains its network. Needs no torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from defero.core.errors import InputError
from defero.core.wording import join_names

Branches = Literal["one", "two"]
Augment = Literal["crop-and-flip", "crop", "none"]
Precision = Literal["float32", "float64", "bf16-mixed"]
Resume = Literal["auto", "never"]
_CHOICES = {"branches": Branches, "augmentation": Augment, "precision": Precision, "resume": Resume}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of the training; None means the default of the kind of network.

    Attributes
    ----------
    hidden, expert_hidden : tuple of int
        Widths of the hidden layers of "mlp", in the branch of the classes and in that of the experts.
    max_epochs : int, optional
        Passes over the data. "linear": at most 1,000 L-BFGS iterations by default. "mlp": by default 15, or as many as
        make 1,000 steps. Deep nets: 30.
    batch_size : int, optional
        "mlp": 512 by default, a sixteenth of the rows (but at least 32) where there are fewer than 8,192. Deep nets:
        up to 512, so that an epoch has 32 steps or more.
    learning_rate : float, optional
        "mlp": 0.01 by default. Deep nets: the largest of a one-cycle schedule, by default 0.1 per 512 items of a batch
        for wrn and resnet, which learn by SGD, and 0.001 for all others, which learn by AdamW.
    weight_decay : float, optional
        "linear": the ridge penalty weight_decay / 2 * |w|^2 beside the mean loss, 1 / n by default (of the order of
        scikit-learn's C = 1); with shrunk heads or net="auto", the best of 1 / n to 1,024 / n in five folds.
        "mlp": AdamW's, 0.3 by default. Deep nets: 0.0005 with SGD and 0.01 with AdamW.
    patience : int
        Training stops after so many epochs (of a deep net at least a third of all) without a better loss on the
        held-out fraction, and the best epoch is kept. Not for "linear".
    validation_fraction : float
        Share of the rows that is held out for that.
    precision : "float32", "float64" or "bf16-mixed", optional
        "float64" for "linear" and "float32" for "mlp" by default. Deep nets: "bf16-mixed" on a GPU and "float32"
        elsewhere, and nothing else.
    branches : "one" or "two"
        Of a deep net: two give the experts a trunk of their own, so that many of them do not crowd out the classes.
    augmentation : "crop-and-flip", "crop" or "none"
        What is done to pictures of dtype uint8 while a deep net learns. Do not flip what has a left and a right.
    resume : "auto" or "never"
        Whether a deep net goes on from a checkpoint.

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
    branches: str = "one"
    augmentation: str = "crop-and-flip"
    resume: str = "auto"

    def __post_init__(self) -> None:
        for name, choice in _CHOICES.items():
            value, known = getattr(self, name), get_args(choice)
            if value not in known and not (name == "precision" and value is None):
                raise InputError(f"must be one of {join_names(known)}, got {value!r}.", argument=name)
        if not 0 <= self.validation_fraction < 1:
            raise InputError(f"must lie in [0, 1), got {self.validation_fraction}.", argument="validation_fraction")
        for name in ("max_epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, float) or value < 1):
                raise InputError(f"must be a whole number of at least 1, got {value!r}.", argument=name)
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"must be a number of at least 0, got {value!r}.", argument=name)
        for name in ("hidden", "expert_hidden"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that `to_dict` described."""
        return cls(**values)
