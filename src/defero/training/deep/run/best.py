"""Keep the best epoch, and know when to stop."""

import math
from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class BestSoFar:
    """The weights at the best value so far of what is watched.

    Attributes
    ----------
    watch : "loss" or "system_accuracy"
        A loss is better when smaller, an accuracy when larger. Equal values keep the earlier epoch.
    patience : int or None
    value, epoch : the best value and its epoch, from 1; nan and 0 at first
    state : the net's state then
    """

    watch: str
    patience: int | None
    value: float = math.nan
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)

    def take(self, value: float, state: dict[str, Tensor], *, epoch: int) -> bool:
        """Take note of an epoch; return whether to stop.

        >>> best = BestSoFar("loss", patience=2)
        >>> [best.take(value, {}, epoch=epoch) for epoch, value in enumerate([3.0, 1.0, 2.0, 1.0], start=1)]
        [False, False, False, True]
        >>> best.value, best.epoch
        (1.0, 2)
        """
        if self.epoch == 0 or (value < self.value if self.watch == "loss" else value > self.value):
            self.value, self.epoch = value, epoch
            self.state = {name: tensor.clone() for name, tensor in state.items()}
        return self.patience is not None and epoch - self.epoch >= self.patience
