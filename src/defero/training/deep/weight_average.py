"""A moving average of the weights: what is judged and own_weights, where the settings asks for one."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The exponential moving average of a net's parameters and of its batch statistics.

    After update t (from 0) it is d a + (1 - d) w with d = min(decay, (1 + t) / (10 + t)): young averages forget fast.

    Parameters
    ----------
    net : nn.Module
        Already on its device; its tensors are read in place at every update.
    decay : float

    Examples
    --------
    >>> net = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(net.weight, 0.0)
    >>> average = WeightAverage(net, decay=0.999)
    >>> _ = nn.init.constant_(net.weight, 1.0)
    >>> average.update(0)  # d = 1 / 10
    >>> round(average.state()["weight"].item(), 3)
    0.9
    """

    def __init__(self, net: nn.Module, *, decay: float) -> None:
        self.decay = decay
        self._live = net.state_dict()  # shares the net's storage
        self._average = {name: tensor.clone() for name, tensor in self._live.items()}
        moving = [name for name, tensor in self._live.items() if tensor.is_floating_point()]
        self._pairs = [self._average[name] for name in moving], [self._live[name] for name in moving]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the net's present weights."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(*self._pairs, 1 - decay)

    def state(self) -> dict[str, Tensor]:
        """Return the average by the names of the net's own state; counters are the net's."""
        return {
            name: tensor if tensor.is_floating_point() else self._live[name] for name, tensor in self._average.items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over a stored average."""
        for name, tensor in self._average.items():
            tensor.copy_(state[name])

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Lend the average to the net for a while."""
        own_weights = {name: tensor.clone() for name, tensor in self._live.items()}
        write_state(self._live, self.state())
        try:
            yield
        finally:
            write_state(self._live, own_weights)


@torch.no_grad()
def write_state(live: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Copy a state into tensors in place: compiled code and optimisers go on looking at the same memory."""
    for name, tensor in live.items():
        tensor.copy_(state[name])
