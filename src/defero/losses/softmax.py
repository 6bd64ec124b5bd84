"""The paper's softmax surrogate."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from defero.losses.batch import check_batch, observed_sum, removed
from defero.losses.registry import Loss


def softmax_loss(
    class_logits: Float[Tensor, "n k"],
    expert_logits: Float[Tensor, "n j"],
    labels: Int[Tensor, " n"],
    correct: Bool[Tensor, "n j"] | Float[Tensor, "n j"],
    *,
    observed: Bool[Tensor, "n j"] | None = None,
) -> Float[Tensor, " n"]:
    r"""Cross entropy over classes and experts together (Eq. 8 of the paper; Eq. 4 for one expert).

    .. math:: -\log q_y - \sum_j 1[m_j = y] \log q_{\perp j},
        \qquad q = \mathrm{softmax}(g_1, \ldots, g_K, g_{\perp 1}, \ldots, g_{\perp J})

    Minimiser: with S = 1 + sum_j p_j, the class part of q is eta_k / S and the expert part p_j / S. Hence eta is the
    softmax over the classes alone and p_j = exp(g_j - logsumexp_k g_k), which nothing keeps below 1.

    Experts who did not answer an item are left out of the normaliser as well as of the sum: g_k = log eta_k and
    g_j = log p_j then minimise the loss for every pattern of answers at once. Leaving them out of the sum only
    teaches P(asked and right) instead of P(right).

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
    Two classes, one expert, all logits 0: three equally likely outcomes, and the expert was right.

    >>> loss = softmax_loss(torch.zeros(1, 2), torch.zeros(1, 1), torch.tensor([0]), torch.tensor([[True]]))
    >>> round(loss.item(), 4)  # 2 log 3
    2.1972
    """
    mask = check_batch(class_logits, expert_logits, labels, correct, observed)
    log_z = torch.logaddexp(class_logits.logsumexp(dim=1), removed(expert_logits, mask).logsumexp(dim=1))
    on_label = log_z - class_logits.gather(1, labels[:, None])[:, 0]
    on_experts = correct.to(expert_logits) * (log_z[:, None] - expert_logits)
    return on_label + observed_sum(on_experts, mask)


SOFTMAX = Loss(softmax_loss, link="softmax")
