"""SGD with Nesterov's momentum, AdamW and Muon, in the form that is fastest on the device."""

import torch
from torch import nn

from defero.training.deep.recipe import Recipe
from defero.training.deep.steps.muon import Muon


def make_optimiser(net: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser for a net that is already on its device.

    On a GPU one fused kernel updates many parameters at once.

    >>> net = nn.Linear(2, 2)
    >>> [len(group["params"]) for group in make_optimiser(net, Recipe(optimiser="adamw")).param_groups]
    [1, 1]
    """
    learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
    fused = all(parameter.is_cuda for parameter in learned)
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(
            learned,
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=recipe.momentum > 0,
            fused=fused,
        )
    if recipe.optimiser == "muon":
        return Muon(learned, lr=recipe.learning_rate, momentum=recipe.momentum, weight_decay=recipe.weight_decay)
    groups = [
        {"params": [p for p in learned if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in learned if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=fused)


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give every group of parameters the same rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate
