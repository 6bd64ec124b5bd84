"""Boosted trees for the classes, and for whether experts with many answers are right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.codec import Count
from defero.core.errors import InputError
from defero.core.scores import Scores, softmax
from defero.scorers.forest import Forest


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """From the matrix (n, d) to the columns of trees: categories first, then numbers, then rotations of the numbers.

    Attributes
    ----------
    n_inputs : int
        d.
    categories : c pairs (start, stop)
        Blocks of 0/1 columns, one per category.
    numbers : (m,) int
        Columns of numbers.
    missing : (m,) int
        The column that marks the number as missing; -1 where there is none.
    center, scale : (m,)
        Mean and spread of the numbers, for the rotations.
    rotation : (m, r)
        Directions; splits along them are oblique. None (r = 0) for tables of many numbers.

    Examples
    --------
    >>> columns = TreeColumns.of(4, categories=[(0, 2)], numbers=[2], missing=[3])
    >>> columns.of_matrix(np.array([[0.0, 1.0, 30.0, 0.0], [0.0, 0.0, 50.0, 1.0]])).tolist()
    [[1.0, 30.0], [nan, nan]]
    """

    n_inputs: Count
    categories: tuple[tuple[int, int], ...]
    numbers: IntArray
    missing: IntArray
    center: FloatArray
    scale: FloatArray
    rotation: FloatArray

    def __post_init__(self) -> None:
        m = len(self.numbers)
        for name, shape in {"missing": (m,), "center": (m,), "scale": (m,)}.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"must have shape {shape}, got {getattr(self, name).shape}.", argument=name)
        if self.rotation.ndim != 2 or len(self.rotation) != m:
            raise InputError(f"must have {m} rows, got shape {self.rotation.shape}.", argument="rotation")
        if not all(np.isfinite(one).all() for one in (self.center, self.scale, self.rotation)):
            raise InputError("must be finite, as center and rotation.", argument="scale")
        if not (self.scale > 0).all():
            raise InputError("must be above 0.", argument="scale")
        places = [*self.numbers.tolist(), *self.missing[self.missing >= 0].tolist()]
        places += [place for start, stop in self.categories for place in (start, stop - 1)]
        if any(not 0 <= place < self.n_inputs for place in places):
            raise InputError(f"must name columns 0..{self.n_inputs - 1}.", argument="numbers")

    @classmethod
    def of(
        cls,
        n_inputs: int,
        *,
        categories: Sequence[tuple[int, int]] = (),
        numbers: Sequence[int] | None = None,
        missing: Sequence[int] | None = None,
    ) -> "TreeColumns":
        """Return columns without rotations; by default every input is a number."""
        places = np.arange(n_inputs) if numbers is None else np.array(numbers, dtype=np.int64)
        m = len(places)
        marks = np.full(m, -1) if missing is None else np.array(missing, dtype=np.int64)
        return cls(n_inputs, tuple(categories), places, marks, np.zeros(m), np.ones(m), np.zeros((m, 0)))

    @property
    def n_columns(self) -> int:
        """How many columns the trees look at."""
        return len(self.categories) + len(self.numbers) + self.rotation.shape[1]

    def of_matrix(self, matrix: FloatArray) -> FloatArray:
        """Return the columns of n rows."""
        columns = np.empty((len(matrix), self.n_columns))
        n_categories = len(self.categories)
        for place, (start, stop) in enumerate(self.categories):
            block = matrix[:, start:stop]
            columns[:, place] = np.where(block.any(axis=1), block.argmax(axis=1), np.nan)
        numbers = matrix[:, self.numbers]
        for place, mark in enumerate(self.missing):
            if mark >= 0:
                numbers[matrix[:, mark] != 0, place] = np.nan
        columns[:, n_categories : n_categories + len(self.numbers)] = numbers
        if self.rotation.shape[1]:
            columns[:, n_categories + len(self.numbers) :] = ((numbers - self.center) / self.scale) @ self.rotation
        return columns

    def rotated(self, matrix: FloatArray, rotation: FloatArray) -> "TreeColumns":
        """Return the columns with these directions (m, r) added, on the scale of these rows."""
        numbers = self.of_matrix(matrix)[:, len(self.categories) : len(self.categories) + len(self.numbers)]
        spread = np.nanstd(numbers, axis=0)
        center, scale = np.nanmean(numbers, axis=0), np.where(spread > 0, spread, 1.0)
        return replace(self, center=center, scale=scale, rotation=rotation)


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
    n_classes: Count
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
        left = np.where(expert_idx > gone, expert_idx - 1, expert_idx)
        return replace(self, forest=forest, expert_idx=left, with_trees=self.with_trees[stay])


def n_outputs(n_classes: int) -> int:
    """Return how many outputs boosted trees have for K classes."""
    return 1 if n_classes == 2 else n_classes


def class_logits(outputs: FloatArray) -> FloatArray:
    """Return logits (n, K) from the outputs of boosted trees; a single output is the log-odds of the second class."""
    return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs
