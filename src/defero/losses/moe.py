"""The mixture-of-experts baseline, kept to be compared with: it is not consistent."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from defero.losses.batch import check_batch, removed
from defero.losses.registry import Loss


def moe_loss(
    class_logits: Float[Tensor, "n k"],
    expert_logits: Float[Tensor, "n j"],
    labels: Int[Tensor, " n"],
    correct: Bool[Tensor, "n j"] | Float[Tensor, "n j"],
    *,
    model_logit: Float[Tensor, " n"],
    observed: Bool[Tensor, "n j"] | None = None,
) -> Float[Tensor, " n"]:
    r"""Negative log likelihood of a mixture of model and experts (Hemmer et al. 2022; section 3.3 of the paper).

    .. math:: -\log\Big(w_0\, h_y + \sum_j w_j\, 1[m_j = y]\Big), \qquad
        w = \mathrm{softmax}(a_0, a_1, \ldots, a_J), \quad h = \mathrm{softmax}(g_1, \ldots, g_K)

    Minimiser: not the probabilities of being right. For two equally likely classes and one expert who is right with
    probability p it is w_1 = max(0, 2p - 1), so the largest weight is the expert's only above p = 3/4, where the best
    decision asks them above 1/2.

    Parameters
    ----------
    class_logits : (n, K)
        The classifier's g.
    expert_logits : (n, J)
        The experts' columns a_1..a_J of the allocator.
    labels : (n,) class numbers
    correct : (n, J)
        Was expert j right on item i?
    model_logit : (n,)
        The model's column a_0 of the allocator.
    observed : (n, J) bool, optional
        Did expert j answer item i? Those who did not get no weight.

    Returns
    -------
    (n,) values; the caller averages.

    Examples
    --------
    >>> zero = torch.zeros(1, 1)
    >>> loss = moe_loss(torch.zeros(1, 2), zero, torch.tensor([0]), torch.tensor([[True]]), model_logit=zero[:, 0])
    >>> round(loss.item(), 4)  # -log(1/2 * 1/2 + 1/2)
    0.2877
    """
    mask = check_batch(class_logits, expert_logits, labels, correct, observed)
    right = correct.bool()
    log_z = torch.logaddexp(model_logit, removed(expert_logits, mask).logsumexp(dim=1))
    log_right = class_logits.log_softmax(dim=1).gather(1, labels[:, None])[:, 0]
    by_experts = removed(expert_logits, right if mask is None else mask & right).logsumexp(dim=1)
    return log_z - torch.logaddexp(model_logit + log_right, by_experts)


MOE = Loss(moe_loss, link="moe")
