"""What a loop trains on: features, labels, and who was right."""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.losses import DeferralLoss
from defero.nets import DenseNet


@dataclass(frozen=True)
class Examples:
    """n items as tensors: features (n, d), labels (n,), correct (n, J), observed (n, J), weight (n,)."""

    features: Tensor
    labels: Tensor
    correct: Tensor
    observed: Tensor
    weight: Tensor

    @classmethod
    def from_arrays(
        cls,
        features: FloatArray,
        labels: IntArray,
        correct: BoolArray,
        observed: BoolArray,
        weight: FloatArray,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> "Examples":
        """Copy arrays to a device."""

        def send(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], kind: torch.dtype) -> Tensor:
            return torch.tensor(np.ascontiguousarray(array), dtype=kind, device=device)

        flags = torch.bool
        return cls(
            send(features, dtype),
            send(labels, torch.long),
            send(correct, flags),
            send(observed, flags),
            send(weight, dtype),
        )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor) -> "Examples":
        """Return these rows."""
        return Examples(*(getattr(self, field.name)[rows] for field in fields(self)))

    def without_experts(self) -> "Examples":
        """Return the same items with J = 0."""
        return replace(self, correct=self.correct[:, :0], observed=self.observed[:, :0])


def weighted_loss(net: DenseNet, loss: DeferralLoss, examples: Examples, *, mean_weight: float | None = None) -> Tensor:
    """Return the weighted mean of the surrogate over the examples, for as many experts as these have.

    `mean_weight` is that of all the data a batch is drawn from, so that a batch of light items counts less than others.
    """
    logits = net(examples.features)
    values = loss(
        logits.classes,
        logits.experts[:, : examples.correct.shape[1]],
        examples.labels,
        examples.correct,
        observed=examples.observed,
        model_logit=logits.model,
    )
    total = examples.weight.sum() if mean_weight is None else mean_weight * len(examples)
    return (values * examples.weight).sum() / total
