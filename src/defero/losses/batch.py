"""What every loss checks of its batch, and how a missing answer leaves a sum."""

import torch
from torch import Tensor

from defero.core.errors import InputError


def check_batch(
    class_logits: Tensor, expert_logits: Tensor, labels: Tensor, correct: Tensor, observed: Tensor | None
) -> Tensor | None:
    """Check the shapes of a batch and return `observed` as a boolean mask (n, J); None, for everybody, stays None.

    >>> observed = torch.tensor([[1], [0]])
    >>> check_batch(torch.zeros(2, 3), torch.zeros(2, 1), torch.tensor([0, 2]), torch.ones(2, 1), observed).tolist()
    [[True], [False]]
    """
    if class_logits.ndim != 2 or expert_logits.ndim != 2:
        raise InputError(
            "must be (n, K) and expert_logits (n, J), "
            f"got {tuple(class_logits.shape)} and {tuple(expert_logits.shape)}.",
            argument="class_logits",
        )
    n_items, n_experts = len(class_logits), expert_logits.shape[1]
    if len(expert_logits) != n_items or labels.shape != (n_items,):
        raise InputError(
            f"class_logits, expert_logits and labels must have as many rows, got {n_items}, {len(expert_logits)} "
            f"and {tuple(labels.shape)}; labels are class numbers (n,)."
        )
    if labels.dtype != torch.long:
        raise InputError(f"must be class numbers of dtype torch.long, got {labels.dtype}.", argument="labels")
    for name, mask in (("correct", correct), ("observed", observed)):
        if mask is not None and mask.shape != (n_items, n_experts):
            raise InputError(
                f"must be (n, J) = {(n_items, n_experts)} like expert_logits, got {tuple(mask.shape)}.", argument=name
            )
    return None if observed is None else observed.bool()


def removed(logits: Tensor, observed: Tensor | None) -> Tensor:
    """Take unobserved columns out of a log-sum-exp: their exp() is exactly 0 from here on, and so is their gradient.

    A finite number and not -inf stands in for them: a row without any observed expert would give inf - inf.
    """
    if observed is None:
        return logits
    return logits.masked_fill(~observed, torch.finfo(logits.dtype).min / 2)


def observed_sum(values: Tensor, observed: Tensor | None) -> Tensor:
    """Add up the observed entries of each row, (n, J) -> (n,)."""
    return (values if observed is None else values.masked_fill(~observed, 0.0)).sum(dim=1)
