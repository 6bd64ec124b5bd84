"""A loss of somebody else, tried on four items before it is trained with."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from defero.core.errors import InputError

if TYPE_CHECKING:
    from defero.losses.module import DeferralLoss

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
        _try(loss)


def _try(loss: "DeferralLoss") -> None:
    correct = torch.tensor([[True, False], [False, False], [True, True], [False, True]])
    observed = torch.tensor([[True, False], [False, True], [True, True], [False, False]])
    values = _values(loss, correct, observed)
    if not torch.allclose(values, _values(loss, correct ^ ~observed, observed), equal_nan=True):
        raise InputError(
            f"loss {loss.name!r} counts answers that were not given: its values change with `correct` where `observed` "
            "is False. Set their terms to 0, as with values.masked_fill(~observed, 0.0).",
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
