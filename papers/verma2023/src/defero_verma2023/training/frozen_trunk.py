"""What one classifier's trunk sees of pictures: a few numbers each, for models that are fitted in seconds."""

from dataclasses import dataclass

import numpy as np

from defero_verma2023.arrays import FloatArray, IntArray

FROZEN_METHODS = ("decoupled", "asymmetric", "two-stage")
"""What is learned on such numbers."""


@dataclass(frozen=True, eq=False)
class FrozenTrunk:
    """What one classifier, trained on the training part alone, sees and says of all n pictures.

    Attributes
    ----------
    features : (n, f)
        Main directions of its trunk's features.
    class_logits : (n, K)
    """

    features: FloatArray
    class_logits: FloatArray

    @property
    def inputs(self) -> FloatArray:
        """Return (n, K + f): what it believes, in logarithms, beside what it sees."""
        shifted = self.class_logits - self.class_logits.max(axis=1, keepdims=True)
        return np.concatenate([shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), self.features], axis=1)


def principal_directions(features: FloatArray, rows: IntArray, n_directions: int) -> FloatArray:
    """Return (n, m): places along the main directions of these rows, in units of their spread.

    >>> places = principal_directions(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), np.arange(3), 1)
    >>> np.abs(places[:, 0]).round(3).tolist()
    [1.225, 0.0, 1.225]
    """
    center = features[rows].mean(axis=0)
    spread, directions = np.linalg.eigh(np.cov(features[rows].T, bias=True))
    chosen = np.argsort(spread)[::-1][:n_directions]
    along = directions[:, chosen]
    # The sign of a direction is free: its largest part is positive.
    along = along * np.sign(along[np.abs(along).argmax(axis=0), np.arange(along.shape[1])])
    return (features - center) @ along / np.sqrt(np.maximum(spread[chosen], 1e-12))
