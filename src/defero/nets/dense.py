"""A linear model, or two small branches of dense layers, on a matrix of features."""

from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from defero.core.checks.arrays import FloatArray
from defero.scorers.network import NetworkScorer


class Logits(NamedTuple):
    """What a network says of a batch: (n, K), (n, J), and for a mixture of experts (n,)."""

    classes: Tensor
    experts: Tensor
    model: Tensor | None


class DenseNet(nn.Module):
    """ReLU layers and linear heads: "class" (K), "expert" (J), and "model" (1) for a mixture of experts.

    The classes and the experts have a branch of layers each: in one common branch, the noisy targets of many experts
    crowd out the classes. Skill mostly goes by class, so the experts' heads also read the class posterior, as a plain
    input: no gradient flows back through it. Without hidden layers it is a linear model of the features alone.

    Parameters
    ----------
    n_features, n_classes, n_experts : int
    class_hidden, expert_hidden : tuple of int
        Widths of the hidden layers of each branch; both empty for a linear model.
    model_column : bool
        Add the allocator's column for the model.
    generator : torch.Generator
        Draws the hidden layers' weights; the heads start at zero, which gives every class and expert the same score.

    Examples
    --------
    >>> net = DenseNet(4, n_classes=3, n_experts=2, generator=torch.Generator().manual_seed(0))
    >>> [part.shape for part in net(torch.zeros(5, 4))[:2]]
    [torch.Size([5, 3]), torch.Size([5, 2])]
    """

    def __init__(
        self,
        n_features: int,
        *,
        n_classes: int,
        n_experts: int,
        class_hidden: tuple[int, ...] = (),
        expert_hidden: tuple[int, ...] = (),
        model_column: bool = False,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        class_widths, expert_widths = (n_features, *class_hidden), (n_features, *expert_hidden)
        self.reads_classes = bool(class_hidden or expert_hidden)
        self.branches = nn.ModuleDict(
            {
                "class": _relu_layers(class_widths, generator),
                "expert": _relu_layers(expert_widths, generator),
            }
        )
        seen_by_experts = expert_widths[-1] + (n_classes if self.reads_classes else 0)
        self.heads = nn.ModuleDict(
            {
                "class": _Affine(class_widths[-1], n_classes, generator=None),
                "expert": _Affine(seen_by_experts, n_experts, generator=None),
            }
        )
        if model_column:
            self.heads["model"] = _Affine(seen_by_experts, 1, generator=None)

    def forward(self, features: Float[Tensor, "n d"]) -> Logits:
        """Return the logits of a batch."""
        classes = self.heads["class"](_through(self.branches["class"], features))
        hidden = _through(self.branches["expert"], features)
        if self.reads_classes:
            hidden = torch.cat([hidden, classes.detach().softmax(dim=1)], dim=1)
        model = self.heads["model"](hidden)[:, 0] if "model" in self.heads else None
        return Logits(classes, self.heads["expert"](hidden), model)

    def to_scorer(self, link: str, *, center: FloatArray, scale: FloatArray) -> NetworkScorer:
        """Hand the weights over to numpy."""
        branches = {name: tuple(map(_arrays, _layers(part))) for name, part in self.branches.items()}
        heads = {name: _arrays(head) for name, head in self.heads.items()}
        return NetworkScorer(link, center, scale, branches, heads, self.reads_classes)


def _layers(branch: nn.Module) -> nn.ModuleList:
    return cast(nn.ModuleList, branch)


def _through(branch: nn.Module, features: Tensor) -> Tensor:
    for layer in _layers(branch):
        features = layer(features).relu()
    return features


def _relu_layers(widths: tuple[int, ...], generator: torch.Generator) -> nn.ModuleList:
    return nn.ModuleList(_Affine(wide, narrow, generator=generator) for wide, narrow in pairwise(widths))


class _Affine(nn.Module):
    """A linear layer that draws its weights from a generator of ours, or starts at zero; no columns are fine too."""

    def __init__(self, wide: int, narrow: int, *, generator: torch.Generator | None) -> None:
        super().__init__()
        weight = torch.zeros(narrow, wide)
        if generator is not None:
            nn.init.kaiming_uniform_(weight, nonlinearity="relu", generator=generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(narrow))

    def forward(self, features: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        return linear(features, self.weight, self.bias)


def _arrays(layer: nn.Module) -> tuple[FloatArray, FloatArray]:
    affine = cast(_Affine, layer)
    weight, bias = affine.weight.detach().cpu(), affine.bias.detach().cpu()
    # C order, as a saved model has it: BLAS rounds the other order differently.
    return np.ascontiguousarray(weight.numpy().T, dtype=np.float64), bias.numpy().astype(np.float64)
