"""What every loss checks of its batch, and how a missing answer leaves a sum."""

import torch
from torch import Tensor

from defero.core.errors import InputError


def check_batch(
    class_logits: Tensor, expert_logits: Tensor, labels: Tensor, correct: Tensor, observed: Tensor | None
) -> Tensor:
    """Check the shapes of a batch and return `observed` as a boolean mask (n, J).

    >>> check_batch(torch.zeros(2, 3), torch.zeros(2, 1), torch.tensor([0, 2]), torch.ones(2, 1), None).tolist()
    [[True], [True]]
    """
    if class_logits.ndim != 2 or expert_logits.ndim != 2:
        raise InputError(
            "class_logits must be (n, K) and expert_logits (n, J), "
            f"got {tuple(class_logits.shape)} and {tuple(expert_logits.shape)}."
        )
    n_items, n_experts = len(class_logits), expert_logits.shape[1]
    if len(expert_logits) != n_items or labels.shape != (n_items,):
        raise InputError(
            f"class_logits, expert_logits and labels must have as many rows, got {n_items}, {len(expert_logits)} "
            f"and {tuple(labels.shape)}; labels are class numbers (n,)."
        )
    if labels.dtype != torch.long:
        raise InputError(f"labels must be class numbers of dtype torch.long, got {labels.dtype}.")
    for name, mask in (("correct", correct), ("observed", observed)):
        if mask is not None and mask.shape != (n_items, n_experts):
            raise InputError(
                f"{name} must be (n, J) = {(n_items, n_experts)} like expert_logits, got {tuple(mask.shape)}."
            )
    return torch.ones_like(expert_logits, dtype=torch.bool) if observed is None else observed.bool()


def removed(logits: Tensor, observed: Tensor) -> Tensor:
    """Take unobserved columns out of a log-sum-exp: their exp() is exactly 0 from here on, and so is their gradient.

    A finite number and not -inf stands in for them: a row without any observed expert would give inf - inf.
    """
    return logits.masked_fill(~observed, torch.finfo(logits.dtype).min / 2)


def observed_sum(values: Tensor, observed: Tensor) -> Tensor:
    """Add up the observed entries of each row, (n, J) -> (n,)."""
    return values.masked_fill(~observed, 0.0).sum(dim=1)
