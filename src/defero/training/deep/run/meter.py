"""Add up a loss on the device, and look at it now and then without making the device wait."""

import torch
from torch import Tensor


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
