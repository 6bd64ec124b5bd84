"""Keep the best epoch, for the classes and for the experts each where their losses can be told apart."""

import math
from dataclasses import dataclass, field

from torch import Tensor

from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training.examples import Examples, mean_loss

SEPARABLE = ("ova", "decoupled")
"""Losses that are a sum of a part of the classes and a part of the experts. In the others the two share a scale."""


def held_out_losses(net: DenseNet, loss: DeferralLoss, examples: Examples) -> dict[str, float]:
    """Return what to watch: {"class", "expert"} for a separable loss, else {"all"}."""
    whole = mean_loss(net, loss, examples)
    if loss.name not in SEPARABLE:
        return {"all": whole}
    classes = mean_loss(net, loss, examples.without_experts())
    return {"class": classes, "expert": whole - classes}


@dataclass
class _Best:
    loss: float = math.inf
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)


class EarlyStopping:
    """Remember each part's weights at its best epoch.

    Many experts with noisy answers overfit long before the classes are learned. Watched together they would stop
    both too early, and the classifier would get worse with every expert added.

    Parameters
    ----------
    patience : int
        Epochs without a better value of any part before training stops.
    """

    def __init__(self, *, patience: int) -> None:
        self.patience = patience
        self.best: dict[str, _Best] = {}

    def watch(self, net: DenseNet, losses: dict[str, float], *, epoch: int) -> bool:
        """Take note of an epoch; return whether to stop."""
        for part, value in losses.items():
            best = self.best.setdefault(part, _Best())
            # A part whose patience ran out is settled, however long the other one goes on.
            if value < best.loss and epoch - best.epoch <= self.patience:
                state = {name: tensor.clone() for name, tensor in net.state_dict().items() if _belongs(name, part)}
                self.best[part] = _Best(value, epoch, state)
        return all(epoch - best.epoch >= self.patience for best in self.best.values())

    def restore(self, net: DenseNet) -> None:
        """Put each part back to its best epoch.

        The experts' heads then read the class posterior of another epoch than the one they were chosen at.
        """
        for best in self.best.values():
            net.load_state_dict(best.state, strict=False)


def _belongs(parameter: str, part: str) -> bool:
    """Tell whether a parameter, such as "heads.class.weight", belongs to a part."""
    return part == "all" or parameter.split(".")[1] == part
