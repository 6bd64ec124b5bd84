"""Classes: P(y = k | x) of a table, by boosted trees and a logistic regression."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, set_numbers
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.scores import Scores, softmax
from defero.learn.forest import Forest
from defero.learn.kept import KeptClassifier


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
        set_numbers(self, missing=(m,), center=(m,), scale=(m,), rotation=(m, "r"))
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


FEW_NUMBERS = 4
"""Up to this many numbers, trees split along oblique directions too."""
_N_ROTATIONS = 4


def oblique(columns: TreeColumns, features: FloatArray) -> TreeColumns:
    """Return the columns; two to four numbers are also looked at along random directions."""
    m = len(columns.numbers)
    return columns.rotated(features, np.hstack(list(_rotations(m)))) if 1 < m <= FEW_NUMBERS else columns


def _rotations(m: int) -> Iterator[FloatArray]:
    """Yield rotations (m, m); the first of two numbers is by 45 degrees."""
    rng = np.random.default_rng(0)
    for number in range(_N_ROTATIONS):
        if m == 2:
            angle = np.pi / 4 if number == 0 else rng.uniform(0, np.pi / 2)
            yield np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        else:
            yield np.linalg.qr(rng.normal(size=(m, m)))[0]


@dataclass(frozen=True, eq=False)
class Trees:
    """Boosted trees, and what they look at.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
        Of the classes it has one output, the log-odds of the second of two, or one for each.
    """

    columns: TreeColumns
    forest: Forest

    def __post_init__(self) -> None:
        if self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )

    def outputs(self, features: FloatArray) -> FloatArray:
        """Return the outputs of the forest, (n, o)."""
        return self.forest.predict(self.columns.of_matrix(features))


def both_classes(outputs: FloatArray) -> FloatArray:
    """Return the logits of the classes (n, K) from the outputs of trees: one is the log-odds of the second class."""
    return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs


@dataclass(frozen=True, eq=False)
class Classes:
    """P(y = k | x) proportional to linear(k)^w_0 times trees(k)^w_1, without experts.

    Attributes
    ----------
    n_classes : int
        K.
    linear, trees : KeptClassifier, Trees, optional
        At least one of them.
    weights : (2,)
        Of the two in the log-probability; the temperature is in them.
    """

    kind: ClassVar[str] = "classes"
    n_classes: Count
    linear: KeptClassifier | None
    trees: Trees | None
    weights: Annotated[FloatArray, Within(0)]

    def __post_init__(self) -> None:
        if self.weights.shape != (2,) or (self.linear is None and self.trees is None):
            raise InputError("must be two numbers, of a linear model and trees.", argument="weights")
        outputs = 1 if self.n_classes == 2 else self.n_classes
        if self.linear is not None and self.linear.body.n_outputs != self.n_classes:
            raise InputError(f"must be of {self.n_classes} classes.", argument="linear")
        if self.trees is not None and self.trees.forest.n_outputs != outputs:
            raise InputError(f"must have {outputs} outputs.", argument="trees")

    @property
    def net(self) -> str:
        """What the classes are learned by."""
        return "+".join(name for name, part in (("trees", self.trees), ("linear", self.linear)) if part is not None)

    def proba(self, features: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K)."""
        logits = np.zeros((len(features), self.n_classes))
        if self.linear is not None:
            logits += self.weights[0] * log_softmax(self.linear.outputs(features))
        if self.trees is not None:
            logits += self.weights[1] * log_softmax(both_classes(self.trees.outputs(features)))
        return softmax(logits)

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features; no experts."""
        return Scores.from_probabilities(self.proba(features), np.empty((len(features), 0)))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return log P of logits (n, K)."""
    raised = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(raised - np.log(np.exp(raised).sum(axis=1, keepdims=True)))
