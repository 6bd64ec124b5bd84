"""The losses as modules, chosen by name."""

from typing import cast, get_args

from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses.asymmetric import asymmetric_loss
from defero.losses.decoupled import decoupled_loss
from defero.losses.moe import moe_loss
from defero.losses.ova import ova_loss
from defero.losses.softmax import softmax_loss
from defero.scorers.links import LossName

_PLAIN = {"softmax": softmax_loss, "ova": ova_loss, "decoupled": decoupled_loss, "asymmetric": asymmetric_loss}


class DeferralLoss(nn.Module):
    """A surrogate loss by its name; returns one value per item.

    Parameters
    ----------
    name : "softmax", "ova", "decoupled", "asymmetric" or "moe"

    Examples
    --------
    >>> import torch
    >>> loss = DeferralLoss("ova")
    >>> loss(torch.zeros(2, 3), torch.zeros(2, 1), torch.tensor([0, 2]), torch.ones(2, 1)).shape
    torch.Size([2])
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        if name not in get_args(LossName):
            raise InputError(f"name must be one of {', '.join(get_args(LossName))}, got {name!r}.")
        self.name = cast(LossName, name)

    def forward(
        self,
        class_logits: Tensor,
        expert_logits: Tensor,
        labels: Tensor,
        correct: Tensor,
        *,
        observed: Tensor | None = None,
        model_logit: Tensor | None = None,
    ) -> Tensor:
        """Return the values (n,); `model_logit` (n,) is needed by "moe" and by no other."""
        if self.name == "moe":
            if model_logit is None:
                raise InputError("model_logit is missing: the mixture of experts weighs the model as well.")
            return moe_loss(class_logits, expert_logits, labels, correct, model_logit=model_logit, observed=observed)
        return _PLAIN[self.name](class_logits, expert_logits, labels, correct, observed=observed)

    def extra_repr(self) -> str:
        """Show the name."""
        return repr(self.name)
