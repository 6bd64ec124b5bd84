"""The optimisers, each in the form that is fastest on the device, and the learning rate at each step."""

import math

import torch
from torch import nn

from defero.training.deep.loop_settings import OPTIMISERS, LoopSettings


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
