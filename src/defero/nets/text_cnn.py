"""The paper's network for texts: convolutions over the coordinates of one vector per text."""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import skip_init

from defero.core.errors import InputError


class TextCnn(nn.Module):
    """The trunk for vectors of texts: filters of several widths run over the coordinates, each keeps its maximum.

    The paper gives it one 100-dimensional vector per tweet, uses 300 filters of each width, and has a second branch
    of the same shape for the experts: pass another `TextCnn` as `DeferralNet`'s `expert_trunk`.

    Parameters
    ----------
    filters : int
        How many of each width.
    widths : tuple of int
    dropout : float
        Of the concatenated maxima; drawn from torch's own generator, in training alone.
    generator : torch.Generator
        Draws weights and biases from U(-1/sqrt(width), 1/sqrt(width)).

    Attributes
    ----------
    out_features : int
        f = filters x number of widths.

    Examples
    --------
    >>> trunk = TextCnn(generator=torch.Generator().manual_seed(0))
    >>> trunk(torch.zeros(2, 100)).shape
    torch.Size([2, 900])
    """

    def __init__(
        self,
        *,
        filters: int = 300,
        widths: tuple[int, ...] = (3, 4, 5),
        dropout: float = 0.5,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if filters < 1:
            raise InputError(f"must be at least 1, got {filters}.", argument="filters")
        if not widths or min(widths) < 1:
            raise InputError(f"must each be at least 1, got {', '.join(map(str, widths))}.", argument="widths")
        self.out_features, self.narrowest = filters * len(widths), max(widths)
        self.filters = nn.ModuleList(_filters(filters, width, generator) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n f"]:
        """Return the features of (n, d) vectors."""
        if vectors.shape[1] < self.narrowest:
            raise InputError(
                f"the vectors must have at least {self.narrowest} coordinates, as many as the widest filter, "
                f"got {vectors.shape[1]}."
            )
        row = vectors[:, None, :]
        maxima = [layer(row).amax(dim=2) for layer in self.filters]
        # ReLU and maximum change places: the same values, a hundredth of the work.
        features: Tensor = self.dropout(torch.cat(maxima, dim=1).relu())
        return features


def _filters(count: int, width: int, generator: torch.Generator) -> nn.Conv1d:
    layer = cast(nn.Conv1d, skip_init(nn.Conv1d, 1, count, width, device="cpu"))
    bound = width**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        if layer.bias is not None:
            layer.bias.uniform_(-bound, bound, generator=generator)
    return layer
