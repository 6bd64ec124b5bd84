"""Nets that end in logits of classes and experts: small dense ones, and a head on one or two trunks."""

from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
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
            raise InputError(
                f"must be at least 1, got {in_features}; feature_width finds a trunk's.", argument="in_features"
            )
        if min(n_classes, n_experts) < 0 or n_classes + n_experts == 0:
            raise InputError(
                f"and n_experts must not be negative, nor both 0, got {n_classes} and {n_experts}.",
                argument="n_classes",
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


class DeferralNet(nn.Module):
    """Any module that maps a batch to (n, f) features, with a head on top.

    With many experts their noisy targets can crowd out the classes in a trunk that both share. Given a head of their
    own, the experts read the trunk's features and send no gradient into it: the trunk learns as that of one classifier
    does. Given a second trunk as well, neither loss reaches the other's trunk.

    Parameters
    ----------
    trunk : nn.Module
        From a batch to (n, f).
    head : DeferralHead
        Of K classes and J experts; of K classes alone where the experts have their own.
    expert_trunk : nn.Module, optional
        From the same batch to (n, f'); goes with `expert_head`.
    expert_head : DeferralHead, optional
        Of no class and J experts, with the model's column where there is one. Without `expert_trunk` it reads the
        features of `trunk`, without gradient.

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
        detached: bool = False,
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
        detached : bool
            Give the experts a head of their own on the one trunk, without gradient into it.
        model_column : bool
            For a mixture of experts.
        generator : torch.Generator, optional
            Draws the heads' weights; without one they start at zero.

        >>> net = DeferralNet.build(nn.Flatten(), torch.zeros(2, 3, 4), n_classes=3, n_experts=2)
        >>> net.head
        DeferralHead(12, n_classes=3, n_experts=2)
        """
        width = feature_width(trunk, example)
        if expert_trunk is None and not detached:
            head = DeferralHead(width, n_classes, n_experts, model_column=model_column, generator=generator)
            return cls(trunk, head)
        expert_width = width if expert_trunk is None else feature_width(expert_trunk, example)
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
        if self.expert_head is None:
            return logits, features
        of_items: Tensor = features.detach() if self.expert_trunk is None else self.expert_trunk(batch)
        of_experts: Logits = self.expert_head(of_items)
        return Logits(logits.classes, of_experts.experts, of_experts.model), of_items


def _check_branches(
    trunk: nn.Module, head: DeferralHead, expert_trunk: nn.Module | None, expert_head: DeferralHead | None
) -> None:
    if expert_trunk is not None and expert_head is None:
        raise InputError("needs expert_head: pass both, or let DeferralNet.build do it.", argument="expert_trunk")
    if head.n_classes == 0:
        raise InputError("must have at least one class, got none.", argument="head")
    if expert_head is None:
        return
    if head.n_experts or head.model_column:
        raise InputError(
            f"must have the classes alone where the experts have their own, got {head.n_experts} experts"
            f"{' and the column of the model' if head.model_column else ''}; move them to expert_head.",
            argument="head",
        )
    if expert_head.n_classes:
        raise InputError(
            f"must have no class, got {expert_head.n_classes}; the classes belong to head.", argument="expert_head"
        )
    if expert_trunk is None:
        return
    shared = {id(weight) for weight in trunk.parameters()} & {id(weight) for weight in expert_trunk.parameters()}
    if shared or trunk is expert_trunk:
        raise InputError(
            ": the two trunks share weights; make the second one anew, or leave it out.", argument="expert_trunk"
        )


def feature_width(trunk: nn.Module, example: Any) -> int:
    """Return f of a trunk that maps a batch to (n, f).

    One forward pass in evaluation mode without gradients: batch statistics stay as they are, and every part of the
    trunk is in training mode afterwards that was before.

    Parameters
    ----------
    trunk : nn.Module
    example : what the trunk takes, usually a tensor of n items
        On the trunk's device.

    >>> feature_width(nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), torch.zeros(2, 3, 4))
    5
    """
    modes = {part: part.training for part in trunk.modules()}
    trunk.eval()
    try:
        with torch.no_grad():
            features = trunk(example)
    except RuntimeError as error:
        raise InputError(
            f": the trunk {type(trunk).__name__} cannot take {_described(example)}: {error}; "
            "pass a batch as the trunk was made for, on the trunk's device.",
            argument="example",
        ) from error
    finally:
        for part, mode in modes.items():
            part.training = mode
    rows = len(example) if isinstance(example, Tensor) else None
    if not isinstance(features, Tensor) or features.ndim != 2 or rows not in (None, len(features)):
        wanted = f"({'n' if rows is None else rows}, features)"
        raise InputError(
            f": the trunk {type(trunk).__name__} must map a batch to {wanted}, got {_described(features)}; "
            "pool and flatten at its end, and leave its classification layer out.",
            argument="trunk",
        )
    return features.shape[1]


def _described(value: object) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
