"""What a loop trains on: features, labels, and who was right."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from defero.core.answers import Answers
from defero.core.checks.arrays import FloatArray, IntArray
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training.verdicts import Verdicts


@dataclass(frozen=True)
class Examples:
    """n items as tensors: features (n, d), labels (n,), weight (n,), and the verdicts on J experts."""

    features: Tensor
    labels: Tensor
    weight: Tensor
    verdicts: Verdicts
    n_experts: int

    @classmethod
    def from_arrays(
        cls,
        features: FloatArray,
        labels: IntArray,
        weight: FloatArray,
        *,
        answers: Answers,
        dtype: torch.dtype,
        device: torch.device,
    ) -> "Examples":
        """Copy arrays to a device, and compare the answers with the labels."""

        def send(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], kind: torch.dtype) -> Tensor:
            return torch.tensor(np.ascontiguousarray(array), dtype=kind, device=device)

        verdicts = Verdicts.from_answers(answers, labels).to(device)
        return cls(send(features, dtype), send(labels, torch.long), send(weight, dtype), verdicts, answers.n_experts)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor | slice) -> "Examples":
        """Return these rows."""
        verdicts = self.verdicts.take(rows)
        return Examples(self.features[rows], self.labels[rows], self.weight[rows], verdicts, self.n_experts)

    def without_experts(self) -> "Examples":
        """Return the same items with J = 0."""
        return replace(self, verdicts=self.verdicts.without_experts())

    def pieces(self) -> Iterator["Examples"]:
        """Yield the rows in order, so many at a time that a network's logits for the experts stay few."""
        step = max(1, self.verdicts.at_once // max(1, self.n_experts))
        if len(self) <= step:
            yield self
            return
        for start in range(0, len(self), step):
            yield self.take(slice(start, start + step))


def weighted_loss(
    net: DenseNet, loss: DeferralLoss, examples: Examples, *, total_weight: Tensor | float | None = None
) -> Tensor:
    """Return the weighted mean of the surrogate over the examples, for as many experts as these have verdicts on.

    `total_weight` is what the weighted sum is divided by: of a piece of the data, the weight of all; of a batch, the
    mean weight of the data times its rows, so that a batch of light items counts less than others.
    """
    logits = net(examples.features)
    expert_logits, correct, observed = examples.verdicts.meet(logits.experts)
    values = loss(logits.classes, expert_logits, examples.labels, correct, observed=observed, model_logit=logits.model)
    return (values * examples.weight).sum() / (examples.weight.sum() if total_weight is None else total_weight)


def mean_loss(net: DenseNet, loss: DeferralLoss, examples: Examples) -> float:
    """Return the same as a number, piece by piece and without gradients."""
    total = examples.weight.sum()
    with torch.no_grad():
        return sum(weighted_loss(net, loss, piece, total_weight=total).item() for piece in examples.pieces())
