"""Cross entropy for the classes and one logistic loss per expert, side by side."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from defero.losses.batch import check_batch, observed_sum
from defero.losses.registry import Loss


def decoupled_loss(
    class_logits: Float[Tensor, "n k"],
    expert_logits: Float[Tensor, "n j"],
    labels: Int[Tensor, " n"],
    correct: Bool[Tensor, "n j"] | Float[Tensor, "n j"],
    *,
    observed: Bool[Tensor, "n j"] | None = None,
    expert_weight: float = 1.0,
) -> Float[Tensor, " n"]:
    r"""Cross entropy over the classes plus a logistic loss for each expert (not in the paper).

    .. math:: -\log \mathrm{softmax}(g_1, \ldots, g_K)_y + \lambda \sum_j \mathrm{BCE}(g_{\perp j}, 1[m_j = y])

    Minimiser: softmax(g) = eta over the classes and sigmoid(g_j) = p_j, for every weight > 0, since both parts are
    strictly proper. Probabilities are to be compared, not logits.

    Parameters
    ----------
    class_logits, expert_logits : (n, K), (n, J)
    labels : (n,) class numbers
    correct : (n, J)
        Was expert j right on item i?
    observed : (n, J) bool, optional
        Did expert j answer item i? All of them by default.
    expert_weight : float
        lambda: a plain sum over the observed experts by default.

    Returns
    -------
    (n,) values; the caller averages.

    Examples
    --------
    >>> loss = decoupled_loss(torch.zeros(1, 2), torch.zeros(1, 1), torch.tensor([0]), torch.tensor([[True]]))
    >>> round(loss.item(), 4)  # 2 log 2
    1.3863
    """
    mask = check_batch(class_logits, expert_logits, labels, correct, observed)
    on_experts = binary_cross_entropy_with_logits(expert_logits, correct.to(expert_logits), reduction="none")
    on_label = cross_entropy(class_logits, labels, reduction="none")
    return torch.add(on_label, observed_sum(on_experts, mask), alpha=expert_weight)


DECOUPLED = Loss(decoupled_loss, link="decoupled", separable=True)
