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


@dataclass(frozen=True, eq=False)
class TreesPart:
    """sigmoid of a forest with one output per member.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
    """

    kind: ClassVar[str] = "trees"
    columns: TreeColumns
    forest: Forest

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
        return sigmoid(self.forest.predict(self.columns.of_matrix(features)))

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {
            **{f"forest.{name}": value for name, value in self.forest.arrays().items()},
            **{f"columns.{name}": value for name, value in self.columns.arrays().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "TreesPart":
        """Return the part that `arrays()` described."""
        return cls(TreeColumns.from_arrays(inside("columns.", arrays)), Forest.from_arrays(inside("forest.", arrays)))


@dataclass(frozen=True, eq=False)
class HeadsPart:
    """P(right) by logistic heads that are shrunk toward the average member.

    Attributes
    ----------
    lens : Lens
        The features that heads read.
    heads : Heads
    """

    kind: ClassVar[str] = "heads"
    lens: Lens
    heads: Heads

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
        return self.heads.proba(self.lens.transform(features, np.empty((len(features), 0))))

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {
            **{f"lens.{name}": value for name, value in self.lens.arrays().items()},
            **{f"heads.{name}": value for name, value in self.heads.arrays().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "HeadsPart":
        """Return the part that `arrays()` described."""
        lens = inside("lens.", arrays)
        settings = {"n_features": len(lens["center"]), "reads_classes": False, "n_hidden": 0}
        return cls(Lens.from_settings(settings, lens), Heads.from_arrays(inside("heads.", arrays)))
