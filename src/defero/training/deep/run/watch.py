"""What a run watches: its loss, without making the device wait, and the best epoch so far."""

import math
from dataclasses import dataclass, field

import torch
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


class LossMeter:
    """A running sum of losses over items.

    Examples
    --------
    >>> meter = LossMeter(torch.device("cpu"))
    >>> meter.add(torch.tensor(6.0), 3)
    >>> meter.peek()
    2.0
    """

    def __init__(self, device: torch.device) -> None:
        self.sum = torch.zeros((), dtype=torch.float64, device=device)
        self.n_items = 0
        self._on_gpu = device.type == "cuda"
        if self._on_gpu:
            self._seen = torch.zeros((), dtype=torch.float64, pin_memory=True)
            self._copied: torch.cuda.Event | None = None
            self._n_seen = 0

    def add(self, loss_sum: Tensor, n_items: int) -> None:
        """Add a batch's sum."""
        self.sum += loss_sum
        self.n_items += n_items

    def peek(self) -> float | None:
        """Return the mean of a little while ago, as soon as it is known; on a CPU the present one."""
        if not self._on_gpu:
            return float(self.sum) / max(1, self.n_items)
        value = None
        if self._copied is not None:
            if not self._copied.query():
                return None
            value = float(self._seen) / max(1, self._n_seen)
        self._seen.copy_(self.sum, non_blocking=True)
        self._n_seen = self.n_items
        self._copied = torch.cuda.Event()
        self._copied.record()
        return value
