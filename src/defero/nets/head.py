"""The last layer: one matrix for classes, experts and the model's own column."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from defero.core.errors import InputError
from defero.nets.dense import Logits


class DeferralHead(nn.Module):
    """A linear layer with K + J columns, or K + J + 1 for a mixture of experts; the only place that knows their order.

    The columns are [classes | experts | model]. Logits leave in single precision at least: a loss of bf16 logits would
    round away what the experts differ in.

    Parameters
    ----------
    in_features : int
        How many numbers the trunk gives of an item.
    n_classes, n_experts : int
        K and J; one of them may be 0, in a net with a branch for each.
    model_column : bool
        Add the allocator's column for the model.
    generator : torch.Generator, optional
        Draws the weights from U(-1/sqrt(f), 1/sqrt(f)), torch's own law for linear layers; biases start at zero.
        Without one, all starts at zero, which gives every class and expert the same score.

    Examples
    --------
    >>> head = DeferralHead(8, n_classes=3, n_experts=2)
    >>> logits = head(torch.zeros(5, 8))
    >>> logits.classes.shape, logits.experts.shape, logits.model
    (torch.Size([5, 3]), torch.Size([5, 2]), None)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        n_experts: int,
        *,
        model_column: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if in_features < 1:
            raise InputError(f"in_features must be at least 1, got {in_features}; feature_width finds a trunk's.")
        if min(n_classes, n_experts) < 0 or n_classes + n_experts == 0:
            raise InputError(
                f"n_classes and n_experts must not be negative, nor both 0, got {n_classes} and {n_experts}."
            )
        self.in_features, self.n_classes, self.n_experts = in_features, n_classes, n_experts
        self.model_column = model_column
        n_columns = n_classes + n_experts + int(model_column)
        weight = torch.zeros(n_columns, in_features)
        if generator is not None:
            bound = in_features**-0.5
            weight.uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(n_columns))

    def forward(self, features: Float[Tensor, "n f"]) -> Logits:
        """Return the logits of (n, f) features."""
        joined = linear(features, self.weight, self.bias)
        if joined.dtype in (torch.bfloat16, torch.float16):
            joined = joined.float()
        experts_end = self.n_classes + self.n_experts
        model = joined[:, experts_end] if self.model_column else None
        return Logits(joined[:, : self.n_classes], joined[:, self.n_classes : experts_end], model)

    def extra_repr(self) -> str:
        """Show the sizes."""
        model = ", model_column=True" if self.model_column else ""
        return f"{self.in_features}, n_classes={self.n_classes}, n_experts={self.n_experts}{model}"
