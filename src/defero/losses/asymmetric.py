"""The asymmetric softmax: bounded expert estimates that keep the order of the logits."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from defero.losses.batch import check_batch, observed_sum
from defero.losses.registry import Loss


def asymmetric_loss(
    class_logits: Float[Tensor, "n k"],
    expert_logits: Float[Tensor, "n j"],
    labels: Int[Tensor, " n"],
    correct: Bool[Tensor, "n j"] | Float[Tensor, "n j"],
    *,
    observed: Bool[Tensor, "n j"] | None = None,
) -> Float[Tensor, " n"]:
    r"""Cross entropy over the classes, and experts measured against the classes but the best (Cao et al. 2023).

    .. math:: -\log \mathrm{softmax}(g_1, \ldots, g_K)_y + \sum_j \mathrm{BCE}(z_j, 1[m_j = y]),
        \qquad z_j = g_{\perp j} - \log \sum_{k \ne k^*} e^{g_k}, \quad k^* = \arg\max_k g_k

    The paper of Cao et al. has one expert; the sum over experts is ours and keeps them independent.
    Minimiser: softmax(g) = eta over the classes and sigmoid(z_j) = p_j. The estimate stays inside (0, 1), and the
    largest of all K + J probabilities belongs to the largest of all K + J logits.

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
    >>> loss = asymmetric_loss(torch.zeros(1, 2), torch.zeros(1, 1), torch.tensor([0]), torch.tensor([[True]]))
    >>> round(loss.item(), 4)  # 2 log 2
    1.3863
    """
    mask = check_batch(class_logits, expert_logits, labels, correct, observed)
    log_odds = expert_logits - log_rest(class_logits)[:, None]
    on_experts = binary_cross_entropy_with_logits(log_odds, correct.to(expert_logits), reduction="none")
    return cross_entropy(class_logits, labels, reduction="none") + observed_sum(on_experts, mask)


def log_rest(class_logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Return the log-sum-exp of all class logits but the largest; 0 where there is only one class.

    >>> log_rest(torch.tensor([[5.0, 1.0]])).item()
    1.0
    """
    if class_logits.shape[1] == 1:
        return torch.zeros_like(class_logits[:, 0])
    best = class_logits.argmax(dim=1, keepdim=True)
    # -inf is safe here: K >= 2 leaves at least one finite logit in each row.
    return class_logits.scatter(1, best, float("-inf")).logsumexp(dim=1)


ASYMMETRIC = Loss(asymmetric_loss, link="asymmetric")
