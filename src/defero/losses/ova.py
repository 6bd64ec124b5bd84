"""The paper's one-vs-all surrogate."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from defero.losses.batch import check_batch, observed_sum
from defero.losses.registry import Loss


def ova_loss(
    class_logits: Float[Tensor, "n k"],
    expert_logits: Float[Tensor, "n j"],
    labels: Int[Tensor, " n"],
    correct: Bool[Tensor, "n j"] | Float[Tensor, "n j"],
    *,
    observed: Bool[Tensor, "n j"] | None = None,
) -> Float[Tensor, " n"]:
    r"""One logistic loss per class and per expert (Eq. 9 of the paper; Eq. 5 for one expert).

    .. math:: \phi(g_y) + \sum_{k \ne y} \phi(-g_k)
        + \sum_j 1[m_j = y]\, \phi(g_{\perp j}) + 1[m_j \ne y]\, \phi(-g_{\perp j}),
        \qquad \phi(z) = \log(1 + e^{-z})

    Minimiser: sigmoid(g_k) = eta_k and sigmoid(g_j) = p_j (Eq. 13), each on its own. Away from the minimum the class
    sigmoids need not add up to 1.

    Parameters
    ----------
    class_logits, expert_logits : (n, K), (n, J)
    labels : (n,) class numbers
    correct : (n, J)
        Was expert j right on item i?
    observed : (n, J) bool, optional
        Did expert j answer item i? All of them by default.

    Returns
    -------
    (n,) values; the caller averages.

    Examples
    --------
    >>> loss = ova_loss(torch.zeros(1, 2), torch.zeros(1, 1), torch.tensor([0]), torch.tensor([[True]]))
    >>> round(loss.item(), 4)  # 3 log 2
    2.0794
    """
    mask = check_batch(class_logits, expert_logits, labels, correct, observed)
    is_label = torch.zeros_like(class_logits).scatter_(1, labels[:, None], 1.0)
    is_right = correct.to(expert_logits)
    # Classes and experts apart, not joined in one matrix: the classes' gradient then has the same layout in memory, and
    # so the same bits, however many experts there are.
    on_classes = binary_cross_entropy_with_logits(class_logits, is_label, reduction="none").sum(dim=1)
    on_experts = binary_cross_entropy_with_logits(expert_logits, is_right, reduction="none")
    return torch.add(on_classes, observed_sum(on_experts, mask))


OVA = Loss(ova_loss, link="ova", separable=True)
