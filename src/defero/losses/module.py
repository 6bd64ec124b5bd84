"""The losses as modules, chosen by name."""

from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses.check_loss import check_loss
from defero.losses.registry import LOSSES
from defero.scorers.network import LINKS


class DeferralLoss(nn.Module):
    """A surrogate loss by its name; returns one value per item.

    Parameters
    ----------
    name : str
        "softmax", "ova", "decoupled", "asymmetric", "moe", or a name that was registered in `LOSSES`.

    Attributes
    ----------
    link : str
        How the outputs of a network that was trained with it are read.
    model_column : bool
        Does the network need an output for the model, `model_logit`?
    shrinkable : bool
        Can shrunk heads take the place of its experts' part?

    Examples
    --------
    >>> import torch
    >>> loss = DeferralLoss("ova")
    >>> loss(torch.zeros(2, 3), torch.zeros(2, 1), torch.tensor([0, 2]), torch.ones(2, 1)).shape
    torch.Size([2])
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        loss = LOSSES.find(name)
        self.name = name
        self.function = loss.function
        self.link = loss.link
        self.model_column = LINKS.find(loss.link).model_column
        self.shrinkable = loss.shrinkable
        if not str(getattr(loss.function, "__module__", "")).startswith("defero.losses."):
            check_loss(self)

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
        """Return the values (n,); `model_logit` (n,) is needed by losses with a model column and by no other."""
        if not self.model_column:
            return self.function(class_logits, expert_logits, labels, correct, observed=observed)
        if model_logit is None:
            raise InputError("is missing: the mixture of experts weighs the model as well.", argument="model_logit")
        return self.function(class_logits, expert_logits, labels, correct, model_logit=model_logit, observed=observed)

    def extra_repr(self) -> str:
        """Show the name."""
        return repr(self.name)
