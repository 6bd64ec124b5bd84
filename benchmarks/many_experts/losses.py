"""Losses that are compared here and not part of the library: registered from outside, as anybody's would be."""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, log_softmax

from defero.losses import LOSSES, Loss


def averaged(
    class_logits: Tensor, expert_logits: Tensor, labels: Tensor, correct: Tensor, *, observed: Tensor | None = None
) -> Tensor:
    """Cross entropy of the classes plus the mean, not the sum, of the experts' logistic losses: lambda = 1 / J."""
    each = binary_cross_entropy_with_logits(expert_logits, correct.to(expert_logits), reduction="none")
    seen = torch.ones_like(each) if observed is None else observed.to(each)
    mean = (each * seen).sum(dim=1) / seen.sum(dim=1).clamp_min(1)
    return cross_entropy(class_logits, labels, reduction="none") + mean


def picce(
    class_logits: Tensor, expert_logits: Tensor, labels: Tensor, correct: Tensor, *, observed: Tensor | None = None
) -> Tensor:
    """Cross entropy over classes and experts of the label and of one expert: the right one with the largest logit.

    Experts who did not answer are left out of the normaliser as well, as in `softmax_loss`: PiCCE's paper has no
    missing answers, and with its normaliser over all experts they would be asked too rarely.
    """
    log_q = _log_q(class_logits, expert_logits, observed)
    n_classes = class_logits.shape[1]
    right = correct.bool() if observed is None else correct.bool() & observed
    best = log_q[:, n_classes:].masked_fill(~right, -torch.inf).max(dim=1).values
    some = right.any(dim=1)
    on_label = -log_q.gather(1, labels[:, None])[:, 0]
    return on_label - torch.where(some, best.masked_fill(~some, 0.0), 0.0)


def realizable(
    class_logits: Tensor, expert_logits: Tensor, labels: Tensor, correct: Tensor, *, observed: Tensor | None = None
) -> Tensor:
    """-log of the share of the label and of all right experts together (Mozannar et al. 2023, Mao et al. 2024)."""
    log_q = _log_q(class_logits, expert_logits, observed)
    right = correct.bool() if observed is None else correct.bool() & observed
    on_label = torch.zeros_like(class_logits, dtype=torch.bool).scatter_(1, labels[:, None], value=True)
    good = torch.cat([on_label, right], dim=1)
    return -log_q.masked_fill(~good, -torch.inf).logsumexp(dim=1)


def _log_q(class_logits: Tensor, expert_logits: Tensor, observed: Tensor | None) -> Tensor:
    """Return the log-softmax over classes and the experts who answered, (n, K + J)."""
    if observed is not None:
        expert_logits = expert_logits.masked_fill(~observed, torch.finfo(expert_logits.dtype).min / 2)
    return log_softmax(torch.cat([class_logits, expert_logits], dim=1), dim=1)


def register() -> None:
    """Make the three known by their names."""
    for name, function, link in (
        ("averaged", averaged, "decoupled"),
        ("picce", picce, "softmax"),
        ("realizable", realizable, "softmax"),
    ):
        if name not in LOSSES:
            LOSSES.register(name, Loss(function, link=link))
