"""The optimisers in the form that is fastest on a device, the rate of each step, averaged and best weights."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from defero.training.loop_settings import OPTIMISERS, LoopSettings


def make_optimiser(net: nn.Module, settings: LoopSettings) -> torch.optim.Optimizer:
    """Return the settings's optimiser for a net that is already on its device.

    On a GPU one fused kernel updates many parameters at once.

    >>> net = nn.Linear(2, 2)
    >>> [len(group["params"]) for group in make_optimiser(net, LoopSettings(optimiser="adamw")).param_groups]
    [1, 1]
    """
    learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimiser: torch.optim.Optimizer = OPTIMISERS.find(settings.optimiser)(learned, settings)
    return optimiser


def sgd(learned: list[nn.Parameter], settings: LoopSettings) -> torch.optim.Optimizer:
    """Return SGD with Nesterov's momentum."""
    return torch.optim.SGD(
        learned,
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=settings.momentum > 0,
        fused=_on_gpu(learned),
    )


def adamw(learned: list[nn.Parameter], settings: LoopSettings) -> torch.optim.Optimizer:
    """Return AdamW, without weight decay of biases and the scales of normalisations."""
    groups = [
        {"params": [p for p in learned if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in learned if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=_on_gpu(learned))


def _on_gpu(learned: list[nn.Parameter]) -> bool:
    return all(parameter.is_cuda for parameter in learned)


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give every group of parameters the same rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate


START = 25.0
"""One-cycle starts at the peak over this."""
END = 1e4
"""... and ends at its start over this."""


def learning_rate_at(step: int, *, total_steps: int, peak: float, kind: str, warm_up: float) -> float:
    """Return the rate of a step, counted from 0.

    "one-cycle" goes from peak / 25 up to the peak in the share `warm_up` of the steps and down to almost nothing, both
    along half a cosine (Smith & Topin 2019; the numbers are those of `torch.optim.lr_scheduler.OneCycleLR`).
    "cosine" rises in a straight line and falls to zero along half a cosine.

    Parameters
    ----------
    step, total_steps : int
    peak : float
    kind : "one-cycle", "cosine" or "constant"
    warm_up : float
        Share of the steps.

    Examples
    --------
    >>> [round(learning_rate_at(i, total_steps=11, peak=1.0, kind="one-cycle", warm_up=0.2), 3) for i in (0, 1, 10)]
    [0.04, 0.936, 0.0]
    >>> [learning_rate_at(i, total_steps=8, peak=1.0, kind="cosine", warm_up=0.25) for i in (0, 1, 2, 5)]
    [0.5, 1.0, 1.0, 0.5]
    """
    if kind == "constant":
        return peak
    if kind == "cosine":
        warm = round(warm_up * total_steps)
        if step < warm:
            return peak * (step + 1) / warm
        return _along_cosine(peak, 0.0, (step - warm) / max(1, total_steps - warm))
    top = warm_up * total_steps - 1
    if step <= top:
        return _along_cosine(peak / START, peak, step / top if top else 1.0)
    share = (step - max(top, 0.0)) / max(1.0, total_steps - 1 - max(top, 0.0))
    return _along_cosine(peak, peak / START / END, share)


def _along_cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * share))


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


@torch.no_grad()
def write_state(live: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Copy a state into tensors in place: compiled code and optimisers go on looking at the same memory."""
    for name, tensor in live.items():
        tensor.copy_(state[name])
