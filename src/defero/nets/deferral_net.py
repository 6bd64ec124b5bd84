"""A trunk and a head; or two trunks, one for the classes and one for the experts."""

from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.nets.dense import Logits
from defero.nets.feature_width import feature_width
from defero.nets.head import DeferralHead


class DeferralNet(nn.Module):
    """Any module that maps a batch to (n, f) features, with a head on top.

    With many experts their noisy targets can crowd out the classes in a trunk that both share. Given a second trunk
    and head, the experts have weights of their own: neither loss reaches the other's trunk.

    Parameters
    ----------
    trunk : nn.Module
        From a batch to (n, f).
    head : DeferralHead
        Of K classes and J experts; of K classes alone where the experts have their own.
    expert_trunk : nn.Module, optional
        From the same batch to (n, f').
    expert_head : DeferralHead, optional
        Of no class and J experts, with the model's column where there is one.

    Examples
    --------
    >>> trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    >>> net = DeferralNet(trunk, DeferralHead(8, n_classes=3, n_experts=2))
    >>> net(torch.zeros(5, 4)).experts.shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        trunk: nn.Module,
        head: DeferralHead,
        expert_trunk: nn.Module | None = None,
        expert_head: DeferralHead | None = None,
    ) -> None:
        super().__init__()
        _check_branches(trunk, head, expert_trunk, expert_head)
        self.trunk, self.head = trunk, head
        self.expert_trunk, self.expert_head = expert_trunk, expert_head

    @classmethod
    def build(
        cls,
        trunk: nn.Module,
        example: Any,
        *,
        n_classes: int,
        n_experts: int,
        expert_trunk: nn.Module | None = None,
        model_column: bool = False,
        generator: torch.Generator | None = None,
    ) -> "DeferralNet":
        """Put heads of the right widths on one or two trunks.

        Parameters
        ----------
        trunk : nn.Module
        example : what the trunk takes, usually a tensor of n items
            To find the trunk's width; nothing is learned from it.
        n_classes, n_experts : int
        expert_trunk : nn.Module, optional
            The experts' own trunk.
        model_column : bool
            For a mixture of experts.
        generator : torch.Generator, optional
            Draws the heads' weights; without one they start at zero.

        >>> net = DeferralNet.build(nn.Flatten(), torch.zeros(2, 3, 4), n_classes=3, n_experts=2)
        >>> net.head
        DeferralHead(12, n_classes=3, n_experts=2)
        """
        width = feature_width(trunk, example)
        if expert_trunk is None:
            head = DeferralHead(width, n_classes, n_experts, model_column=model_column, generator=generator)
            return cls(trunk, head)
        expert_width = feature_width(expert_trunk, example)
        head = DeferralHead(width, n_classes, 0, generator=generator)
        expert_head = DeferralHead(expert_width, 0, n_experts, model_column=model_column, generator=generator)
        return cls(trunk, head, expert_trunk, expert_head)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.head.n_classes

    @property
    def n_experts(self) -> int:
        """J."""
        return self.head.n_experts if self.expert_head is None else self.expert_head.n_experts

    def forward(self, batch: Any) -> Logits:
        """Return the logits of a batch."""
        return self.with_features(batch)[0]

    def with_features(self, batch: Any) -> tuple[Logits, Tensor]:
        """Return the logits of a batch, and the features that the experts' head reads, (n, f)."""
        features: Tensor = self.trunk(batch)
        logits: Logits = self.head(features)
        if self.expert_trunk is None or self.expert_head is None:
            return logits, features
        of_items: Tensor = self.expert_trunk(batch)
        of_experts: Logits = self.expert_head(of_items)
        return Logits(logits.classes, of_experts.experts, of_experts.model), of_items


def _check_branches(
    trunk: nn.Module, head: DeferralHead, expert_trunk: nn.Module | None, expert_head: DeferralHead | None
) -> None:
    if (expert_trunk is None) != (expert_head is None):
        raise InputError(
            "expert_trunk and expert_head go together: pass both or neither, or let DeferralNet.build do it."
        )
    if head.n_classes == 0:
        raise InputError("head must have at least one class, got none.")
    if expert_trunk is None or expert_head is None:
        return
    if head.n_experts or head.model_column:
        raise InputError(
            f"head must have the classes alone where the experts have their own, got {head.n_experts} experts"
            f"{' and the column of the model' if head.model_column else ''}; move them to expert_head."
        )
    if expert_head.n_classes:
        raise InputError(f"expert_head must have no class, got {expert_head.n_classes}; the classes belong to head.")
    shared = {id(weight) for weight in trunk.parameters()} & {id(weight) for weight in expert_trunk.parameters()}
    if shared or trunk is expert_trunk:
        raise InputError("trunk and expert_trunk share weights; make the second trunk anew, or leave it out.")
