"""Expected scores by boosted trees and by shrunk heads: what other rooms serve, as parts of a pool's model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.heads import Heads, Lens
from defero.scorers.forest import Forest
from defero.scorers.tree_columns import TreeColumns
from defero.scorers.trees import inside


@dataclass(frozen=True)
class TargetRange:
    """The range of what was learned from: [0, 1] for scores, more for marks that were corrected for a judge's errors.

    What is learned is the place in the range, a number in [0, 1]. For corrected marks these are the marks themselves.

    >>> corrected = TargetRange.of(np.array([-0.5, 1.25, np.nan]))
    >>> corrected.shares(np.array([-0.5, 1.25])).tolist(), corrected.values(np.array([0.0, 0.5])).tolist()
    ([0.0, 1.0], [-0.5, 0.375])
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise InputError(f"must be finite and rise, got {self.low} to {self.high}.", argument="target_range")

    @classmethod
    def of(cls, targets: FloatArray) -> "TargetRange":
        """Return the range of targets (n, J), NaN where there is none."""
        known = targets[np.isfinite(targets)]
        return cls(float(known.min(initial=0.0)), float(known.max(initial=1.0)))

    def shares(self, targets: FloatArray) -> FloatArray:
        """Return the places of targets in the range, in [0, 1]."""
        return (targets - self.low) / (self.high - self.low)

    def values(self, shares: FloatArray) -> FloatArray:
        """Return the targets at these places."""
        return self.low + (self.high - self.low) * shares

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "TargetRange":
        """Return the range that a part's `arrays()` described."""
        low, high = np.asarray(arrays["target_range"], dtype=np.float64).tolist()
        return cls(low, high)


@dataclass(frozen=True, eq=False)
class TreesPart:
    """sigmoid of a forest with one output per member.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
    target_range : TargetRange
    """

    kind: ClassVar[str] = "trees"
    columns: TreeColumns
    forest: Forest
    target_range: TargetRange = TargetRange()

    def __post_init__(self) -> None:
        if self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )

    @property
    def n_features(self) -> int:
        """D."""
        return self.columns.n_inputs

    @property
    def n_members(self) -> int:
        """J."""
        return self.forest.n_outputs

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        return self.target_range.values(sigmoid(self.forest.predict(self.columns.of_matrix(features))))

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {
            **{f"forest.{name}": value for name, value in self.forest.arrays().items()},
            **{f"columns.{name}": value for name, value in self.columns.arrays().items()},
            "target_range": np.array([self.target_range.low, self.target_range.high]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "TreesPart":
        """Return the part that `arrays()` described."""
        return cls(
            TreeColumns.from_arrays(inside("columns.", arrays)),
            Forest.from_arrays(inside("forest.", arrays)),
            TargetRange.from_arrays(arrays),
        )


@dataclass(frozen=True, eq=False)
class HeadsPart:
    """P(right) by logistic heads that are shrunk toward the average member.

    Attributes
    ----------
    lens : Lens
        The features that heads read.
    heads : Heads
    target_range : TargetRange
    """

    kind: ClassVar[str] = "heads"
    lens: Lens
    heads: Heads
    target_range: TargetRange = TargetRange()

    @property
    def n_features(self) -> int:
        """D."""
        return self.lens.n_features

    @property
    def n_members(self) -> int:
        """J."""
        return self.heads.n_experts

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        proba = self.heads.proba(self.lens.transform(features, np.empty((len(features), 0))))
        return self.target_range.values(proba)

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {
            **{f"lens.{name}": value for name, value in self.lens.arrays().items()},
            **{f"heads.{name}": value for name, value in self.heads.arrays().items()},
            "target_range": np.array([self.target_range.low, self.target_range.high]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "HeadsPart":
        """Return the part that `arrays()` described."""
        lens = inside("lens.", arrays)
        settings = {"n_features": len(lens["center"]), "reads_classes": False, "n_hidden": 0}
        heads = Heads.from_arrays(inside("heads.", arrays))
        return cls(Lens.from_settings(settings, lens), heads, TargetRange.from_arrays(arrays))
