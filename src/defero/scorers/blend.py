"""A weighted mean of several models of the classes, in log-probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.core.scores import Scores, softmax
from defero.scorers import Packed, Scorer, unpack_scorer
from defero.scorers.trees import inside

KINDS = ("trees", "network")
"""What can be blended: a folder cannot nest blends in blends."""
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """P(y = k | x) proportional to the product of p_b(k)^w_b over the parts b.

    Attributes
    ----------
    parts : B scorers with J = 0
    weights : (B,)
        Not negative.
    """

    kind: ClassVar[str] = "blend"
    parts: tuple[Scorer, ...]
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.parts),) or not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise InputError(f"must be {len(self.parts)} numbers of at least 0.", argument="weights")
        odd = [part.kind for part in self.parts if part.kind not in KINDS]
        if odd or not self.parts:
            raise InputError(f"must be scorers of the kinds {', '.join(KINDS)}, got {odd}.", argument="parts")

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features; no experts."""
        class_proba = blended([part.score(features).class_proba for part in self.parts], self.weights)
        return Scores.from_probabilities(class_proba, np.empty((len(features), 0)))

    def pack(self) -> Packed:
        """Return what a model folder keeps."""
        packed = [part.pack() for part in self.parts]
        arrays = {f"part{b}.{name}": value for b, one in enumerate(packed) for name, value in one.arrays.items()}
        settings = [{"kind": part.kind, "settings": one.settings} for part, one in zip(self.parts, packed, strict=True)]
        return Packed({"parts": settings}, {**arrays, "weights": self.weights})

    @classmethod
    def unpack(cls, packed: Packed) -> "BlendScorer":
        """Build from what `pack` returned."""
        parts = []
        for b, part in enumerate(packed.settings["parts"]):
            if part["kind"] not in KINDS:
                raise InputError(f"must be of the kinds {', '.join(KINDS)}, got {part['kind']!r}.", argument="parts")
            parts.append(unpack_scorer(part["kind"], Packed(part["settings"], inside(f"part{b}.", packed.arrays))))
        return cls(tuple(parts), np.asarray(packed.arrays["weights"], dtype=np.float64))


def blended(class_probas: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Return the weighted geometric mean of B class probabilities (n, K), normalised.

    >>> blended([np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])], np.array([1.0, 1.0])).round(3).tolist()
    [[0.9, 0.1]]
    """
    logits = sum(w * np.log(np.maximum(proba, _TINY)) for w, proba in zip(weights, class_probas, strict=True))
    return softmax(np.asarray(logits))
