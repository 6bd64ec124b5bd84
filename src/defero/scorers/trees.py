"""Boosted trees for the classes, and for whether experts with many answers are right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.scores import Scores, softmax
from defero.scorers import Packed
from defero.scorers.forest import Forest
from defero.scorers.tree_columns import TreeColumns


@dataclass(frozen=True, eq=False)
class TreesScorer:
    """P(y = k | x) by boosted trees.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
        Its outputs are the class logits: one for two classes, else K.
    n_classes : int
        K.
    temperature : float
        Divides the class logits.
    """

    kind: ClassVar[str] = "trees"
    columns: TreeColumns
    forest: Forest
    n_classes: int
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.n_classes < 2 or self.forest.n_outputs != n_outputs(self.n_classes):
            raise InputError(
                f"must have {n_outputs(self.n_classes)} outputs for {self.n_classes} classes, "
                f"got {self.forest.n_outputs}.",
                argument="forest",
            )
        if self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(f"must be positive, got {self.temperature}.", argument="temperature")

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features; no experts."""
        class_proba = softmax(class_logits(self.forest.predict(self.columns.of_matrix(features))) / self.temperature)
        return Scores.from_probabilities(class_proba, np.empty((len(features), 0)))

    def pack(self) -> Packed:
        """Return what a model folder keeps."""
        arrays = {f"forest.{name}": value for name, value in self.forest.arrays().items()}
        arrays |= {f"columns.{name}": value for name, value in self.columns.arrays().items()}
        return Packed({"n_classes": self.n_classes, "temperature": self.temperature}, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> "TreesScorer":
        """Build from what `pack` returned."""
        return cls(
            TreeColumns.from_arrays(inside("columns.", packed.arrays)),
            Forest.from_arrays(inside("forest.", packed.arrays)),
            int(packed.settings["n_classes"]),
            float(packed.settings["temperature"]),
        )


@dataclass(frozen=True, eq=False)
class ExpertTrees:
    """Boosted trees of single experts, and how they are combined with the experts' heads.

    The log-odds of being right are b0 + b1 * (trees) + b2 * (head) for an expert with trees, and a0 + a1 * (head) for
    the others; the weights are fitted on held-out answers.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
        One output per expert with trees.
    expert_idx : (o,) int
        Which head's expert each output is.
    with_trees : (o, 3)
        b0, b1, b2 of each expert with trees.
    without_trees : (2,)
        a0, a1.
    """

    columns: TreeColumns
    forest: Forest | None
    expert_idx: IntArray
    with_trees: FloatArray
    without_trees: FloatArray

    def __post_init__(self) -> None:
        n_trees = 0 if self.forest is None else self.forest.n_outputs
        for name, shape in {"expert_idx": (n_trees,), "with_trees": (n_trees, 3), "without_trees": (2,)}.items():
            value = getattr(self, name)
            if value.shape != shape or not np.isfinite(value).all():
                raise InputError(f"must be finite numbers of shape {shape}, got {value.shape}.", argument=name)
        if self.forest is not None and self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )
        if len(np.unique(self.expert_idx)) != n_trees or (n_trees and self.expert_idx.min() < 0):
            raise InputError("must name each expert once.", argument="expert_idx")

    def log_odds(self, features: FloatArray, head_log_odds: FloatArray) -> FloatArray:
        """Return the combined log-odds of J experts, (n, J), from those of their heads."""
        combined = self.without_trees[0] + self.without_trees[1] * head_log_odds
        if self.forest is None:
            return combined
        present = np.flatnonzero(self.expert_idx < head_log_odds.shape[1])
        expert_idx = self.expert_idx[present]
        opinion = self.forest.predict(self.columns.of_matrix(features))[:, present]
        b0, b1, b2 = self.with_trees[present].T
        combined[:, expert_idx] = b0 + b1 * opinion + b2 * head_log_odds[:, expert_idx]
        return combined

    def head_weights(self, n_experts: int) -> FloatArray:
        """Return the weight of each expert's head in the combined log-odds, (J,)."""
        weights = np.full(n_experts, self.without_trees[1])
        present = np.flatnonzero(self.expert_idx < n_experts)
        weights[self.expert_idx[present]] = self.with_trees[present, 2]
        return weights

    def without_head(self, gone: int) -> "ExpertTrees":
        """Return the trees after one head is removed; later heads move down by one."""
        stay = np.flatnonzero(self.expert_idx != gone)
        expert_idx = self.expert_idx[stay]
        forest = None if self.forest is None or not len(stay) else self.forest.take(stay)
        return ExpertTrees(
            self.columns,
            forest,
            np.where(expert_idx > gone, expert_idx - 1, expert_idx),
            self.with_trees[stay],
            self.without_trees,
        )

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        arrays: dict[str, Any] = {
            "expert_idx": self.expert_idx,
            "with_trees": self.with_trees,
            "without_trees": self.without_trees,
        }
        arrays |= {f"columns.{name}": value for name, value in self.columns.arrays().items()}
        if self.forest is not None:
            arrays |= {f"forest.{name}": value for name, value in self.forest.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> "ExpertTrees":
        """Return the trees that `arrays()` described."""
        try:
            weights = [np.asarray(arrays[name], dtype=np.float64) for name in ("with_trees", "without_trees")]
            expert_idx = np.asarray(arrays["expert_idx"], dtype=np.int64)
        except (KeyError, TypeError) as error:
            raise InputError(
                f"must be what arrays() returns, got something else: {error!r}.", argument="arrays"
            ) from error
        forest = inside("forest.", arrays)
        return cls(
            TreeColumns.from_arrays(inside("columns.", arrays)),
            Forest.from_arrays(forest) if forest else None,
            expert_idx,
            *weights,
        )


def n_outputs(n_classes: int) -> int:
    """Return how many outputs boosted trees have for K classes."""
    return 1 if n_classes == 2 else n_classes


def class_logits(outputs: FloatArray) -> FloatArray:
    """Return logits (n, K) from the outputs of boosted trees; a single output is the log-odds of the second class."""
    return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs


def inside(prefix: str, arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the arrays whose name starts with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
