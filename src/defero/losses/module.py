"""The losses as modules, chosen by name; one of somebody else is tried on four items before it is trained with."""

from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses.registry import LOSSES
from defero.scorers.network import LINKS

N, K, J = 4, 3, 2
"""Different numbers of items, classes and experts, so that a wrong shape shows."""


def check_loss(loss: "DeferralLoss") -> None:
    """Raise unless a loss returns one value per item with a gradient, and passes over answers that were not given.

    Raises
    ------
    InputError
        It names the loss, what was expected and what came.
    """
    with torch.device("cpu"), torch.enable_grad():
        correct = torch.tensor([[True, False], [False, False], [True, True], [False, True]])
        observed = torch.tensor([[True, False], [False, True], [True, True], [False, False]])
        values = _values(loss, correct, observed)
        if not torch.allclose(values, _values(loss, correct ^ ~observed, observed), equal_nan=True):
            raise InputError(
                f"loss {loss.name!r} counts answers that were not given: its values change with `correct` where "
                "`observed` is False. Set their terms to 0, as with values.masked_fill(~observed, 0.0).",
            )
        _values(loss, correct, None)


def _values(loss: "DeferralLoss", correct: Tensor, observed: Tensor | None) -> Tensor:
    """Return the values (n,) of a small batch, after a check of what they are."""
    generator = torch.Generator().manual_seed(0)
    class_logits, expert_logits, model_logit = (
        torch.randn(shape, generator=generator).requires_grad_() for shape in ((N, K), (N, J), (N,))
    )
    labels = torch.arange(N) % K
    try:
        values: Any = loss(class_logits, expert_logits, labels, correct, observed=observed, model_logit=model_logit)
    except Exception as error:
        raise InputError(
            f"loss {loss.name!r} failed on a small batch (class_logits {(N, K)}, expert_logits {(N, J)}, labels "
            f"{(N,)}, correct {(N, J)}{', observed' if observed is not None else ''}"
            f"{', model_logit' if loss.model_column else ''}): {type(error).__name__}: {error}"
        ) from error
    expected = f"loss {loss.name!r} must return one value per item, shape {(N,)} for {N} items"
    if not isinstance(values, Tensor):
        raise InputError(f"{expected}, as a tensor, got {type(values).__name__}.")
    if values.shape != (N,):
        raise InputError(
            f'{expected}, got shape {tuple(values.shape)}; use reduction="none" and sum over columns, not over items.'
        )
    if not values.is_floating_point():
        raise InputError(f"{expected}, as float numbers, got {values.dtype}.")
    if not values.requires_grad:
        raise InputError(f"{expected}, but they have no gradient; leave out detach(), item() and numpy().")
    return values.detach()


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
    separable : bool
        Is it a sum of a loss of the classes and of one for each expert?

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
        self.separable = loss.separable
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
